/* Capture: while it is open, operations on the context's tensors are noted as nodes of a graph
 * instead of carried out. A tensor stands for a value then, and keeps what it has. */
#ifndef CVY_CAPTURE_H
#define CVY_CAPTURE_H

#include "core/graph/graph.h"

/* A tensor has come to stand for a value, or, while it does, has been copied. */
typedef struct cvy_stand {
  convoy_tensor *tensor;
  int32_t value;
  int32_t from; /* the first node that could read the value by this tensor */
  bool
      shared; /* others read it for the tensor: what it was copied to, a composition's operations */
} cvy_stand;

struct cvy_capture {
  convoy_graph *graph;
  pthread_t thread;       /* whose operations are noted */
  convoy_tensor **tensor; /* that have stood for values, with a reference each */
  int32_t tensors, room;
  cvy_stand *stand; /* in the order of the capture */
  int32_t stands, stand_room;
};

convoy_status cvy_capture_begin(convoy_context *context);
/* `out` NULL abandons it. Either way the capture has ended, unless it is refused: none was open, or
 * it is another thread's. */
convoy_status cvy_capture_end(convoy_context *context, convoy_graph **out);
/* What is noted from here on is the next stage. */
convoy_status cvy_capture_cut(convoy_context *context);
/* The context closes. */
void cvy_capture_abandon(convoy_context *context);

/* Notes an operation, whose operands have been checked. A refused one notes nothing. */
convoy_status cvy_capture_note(convoy_context *context, const cvy_problem *problem,
                               const convoy_tensor *const in[], convoy_tensor *const out[],
                               const convoy_run *run);
/* ERR_ARGUMENT unless this thread's capture is open, for what belongs into one. */
convoy_status cvy_capture_check(const convoy_context *context, const char *what);
/* ERR_ARGUMENT while a capture is open, for what cannot be captured. */
convoy_status cvy_capture_refuses(const convoy_context *context, const char *what);
/* The tensor was given values by convoy_tensor_write: from here on these are what it stands for. */
void cvy_capture_written(convoy_tensor *tensor);
/* The user's handle is gone: what it stands for is no output. */
void cvy_capture_freed(convoy_tensor *tensor);

/* The value that the tensor stands for, added to the graph if it is not in it yet. What nothing has
 * written is another value in each stage, of one origin. */
convoy_status cvy_capture_value(cvy_capture *capture, convoy_tensor *tensor, int32_t *value);
/* From here on it stands for this one. There must be room: cvy_capture_reserve. */
void cvy_capture_set(cvy_capture *capture, convoy_tensor *tensor, int32_t value);
convoy_status cvy_capture_reserve(cvy_capture *capture, int32_t tensors);
/* `to` stands for what `from` does, which goes on to do so. ERR_MEMORY. */
convoy_status cvy_capture_copy(cvy_capture *capture, convoy_tensor *from, convoy_tensor *to);
/* The tensor, which is written, stands for what another one does; that one is not used any more. */
void cvy_capture_hand_over(cvy_capture *capture, const convoy_tensor *from, convoy_tensor *to);
/* Takes back what was noted last, so that so many nodes and values are left. What has been written
 * meanwhile must be no tensor's. */
void cvy_capture_shorten(cvy_capture *capture, int32_t nodes, int32_t values);
/* Gradients do not go through what the tensor stands for, which is a result. */
void cvy_capture_detach(cvy_capture *capture, const convoy_tensor *tensor);

#endif
