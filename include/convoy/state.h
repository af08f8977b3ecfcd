/* Convoy: the state of a training in a file, the part of the public interface that convoy.h
 * includes at its end. Its first paragraphs, on errors and threads, hold here too. */
#ifndef CONVOY_STATE_H
#define CONVOY_STATE_H

#include "convoy/convoy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A state is a list of what a training consists of, each under a name: parameters, what optimizers
 * keep, numbers of steps. It is written down once, and then saved and loaded as a whole:
 *
 *   convoy_state_new(context, &state);
 *   convoy_state_tensor(state, "conv1.weight", w);
 *   convoy_state_tensor(state, "momentum.conv1.weight", v);
 *   convoy_state_graph(state, "step", graph);
 *   convoy_state_numbers(state, "epoch", &epoch, 1);
 *   convoy_state_load(state, "training.safetensors", 0);
 *   ...
 *   convoy_state_save(state, "training.safetensors");
 *
 * Files have the layout of safetensors (docs/state.md), which tools around PyTorch read and write;
 * a name is that of a tensor there. */
typedef struct convoy_state convoy_state;

/* Makes an empty one, to be freed with convoy_state_free. Return OK. */
CONVOY_API convoy_status convoy_state_new(convoy_context *context, convoy_state **out);
/* It may be called after convoy_close. No call may use the state during this one or after it. NULL
 * is allowed. */
CONVOY_API void convoy_state_free(convoy_state *state);

/* Adds something under a name of its own: UTF-8, not empty, without control characters, and not
 * "__metadata__".
 *
 *   tensor    its values; the state keeps it from going away
 *   numbers   `count` whole numbers in the caller's memory, which has to stay there
 *   graph     the number of its runs (convoy_graph_runs), which may not be freed before the state
 *   seed      the context's seed, and how many operations with random numbers came since
 *
 * A graph's random numbers depend on the seed that it was captured with, so a file in which that
 * was another one is refused: load seeds before graphs are captured.
 * Return OK; ERR_ARGUMENT for a name that is none or there already, for a graph or a tensor of
 * another context; ERR_UNSUPPORTED for wrapped memory. */
CONVOY_API convoy_status convoy_state_tensor(convoy_state *state, const char *name,
                                             convoy_tensor *tensor);
CONVOY_API convoy_status convoy_state_numbers(convoy_state *state, const char *name,
                                              int64_t *numbers, int64_t count);
CONVOY_API convoy_status convoy_state_graph(convoy_state *state, const char *name,
                                            convoy_graph *graph);
CONVOY_API convoy_status convoy_state_seed(convoy_state *state, const char *name);

/* Replaces the file as a whole or not at all, and survives a power cut once the call has returned;
 * missing folders are made. A new file is as open to others as the umask says, an old one's mode,
 * owner and group stay as far as the process may give them. A symbolic link stays, and what it
 * leads to is replaced. Waits for the values, which are those that the tensors have when it is
 * called. While the file is written other threads may use the context.
 * Returns OK; ERR_IO, also for what is no regular file; otherwise as convoy_tensor_read does, also
 * for a capture that is open. */
CONVOY_API convoy_status convoy_state_save(convoy_state *state, const char *path);

#define CONVOY_STATE_EXTRA 1u   /* the file may have more than is asked for */
#define CONVOY_STATE_MISSING 2u /* what the file lacks keeps its values */

/* Gives all that is in the state the values that the file has under these names. Without flags both
 * have the same names. Types and extents must be the same: float32 is F32 in the file, int32 I32,
 * uint8 U8, and numbers are I64 with one extent, or none if there is one number.
 * Returns OK; ERR_NOT_FOUND if there is no such file; ERR_IO for a file that is damaged or none of
 * this layout; ERR_SHAPE for another type or extents, and for a name that is missing here or there;
 * ERR_ARGUMENT for an unknown flag, an open capture or a graph of another seed. On failure nothing
 * has changed. */
CONVOY_API convoy_status convoy_state_load(convoy_state *state, const char *path, uint32_t flags);

#ifdef __cplusplus
}
#endif
#endif
