/* Convoy: operations on a framework's own memory, the part of the public interface that convoy.h
 * includes at its end. Its first paragraphs, on errors, threads and structs, hold here too. */
#ifndef CONVOY_FRAMEWORK_H
#define CONVOY_FRAMEWORK_H

#include "convoy/convoy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A framework such as PyTorch, CuPy or JAX has its arrays on the card already, and commands on them
 * in a stream. Here Convoy computes on these arrays, in that stream, without a copy.
 *
 * The context must be of a device cuda:N or hip:N in this process, in CUDA's primary context:
 * opened with isolation none, or with isolation caller, which this is for. Then the thread that
 * calls puts the kernels into the stream itself, which takes microseconds, and finds its own
 * current device again. Other contexts answer ERR_UNSUPPORTED.
 *
 * Operations have been put into the stream when their call returns, and nothing waits for them. But
 * the first of its kind, and each with verify "all" or while nan_watch looks, is proved in memory
 * of our own before its result is copied, and the first run of each problem is waited for, since
 * programs are compiled and kernels timed then. Later results are not sampled, and nothing is kept
 * from which they could be computed anew: a device that fails is the call's error, and the driver's
 * crash is the process's. */

/* A tensor over `bytes` at the device address `memory`, a multiple of 64, dense. It must live until
 * the handle is freed and the stream has got there. A result in a tensor of Convoy's that was
 * computed from wrapped memory is read back at once. What the device does not do the CPU computes.
 * convoy_tensor_write and convoy_tensor_read work in place, the latter waits for the stream;
 * convoy_commit, and outside of a capture convoy_tensor_copy, are ERR_UNSUPPORTED.
 *
 * A graph may read and write wrapped memory: each run reads what is there when the stream gets to
 * it, and writes results in place. The first run goes operation by operation, is proved and waited
 * for; later ones are put into the stream and not sampled. Their results have no history: where the
 * device fails that is the call's error, and what a run has left in tensors of Convoy's own is lost
 * with it. Memory that a run writes may not overlap what the graph reads or writes under another
 * tensor (ERR_ARGUMENT). A run is recorded where the stream is, once the graph has been proved and
 * the context has an allocator; else it is ERR_UNSUPPORTED, and nothing was put into the stream.
 *
 * Returns OK; ERR_UNSUPPORTED for another device; ERR_ARGUMENT; ERR_SHAPE if `bytes` is not what
 * the extents need; ERR_DEVICE. */
CONVOY_API convoy_status convoy_tensor_wrap(convoy_context *context, convoy_dtype dtype,
                                            int32_t dims, const int64_t *shape, void *memory,
                                            int64_t bytes, convoy_tensor **out);

/* Tensors of wrapped memory of one context are over memory[i] from now on, of the same size as that
 * before; all of them or none. So a graph that was captured once runs on other arrays. Returns OK;
 * ERR_ARGUMENT, also for a tensor that is not wrapped and while a capture is open; ERR_DEVICE. */
CONVOY_API convoy_status convoy_tensors_rewrap(int32_t count, convoy_tensor *const tensors[],
                                               void *const memory[]);

/* From now on the context's commands go into this stream, a CUstream or hipStream_t; NULL is the
 * driver's default stream. It is the context's and not a tensor's. Where the context has memory of
 * its own in use, they come behind all that it has in the stream before; else what waits for what
 * is the framework's affair, as ever. The stream must outlive the context or the next call. Returns
 * OK; ERR_UNSUPPORTED as above, and for a stream that is being recorded while the context has
 * memory of its own in use; ERR_DEVICE. */
CONVOY_API convoy_status convoy_set_stream(convoy_context *context, void *stream);

/* Gives memory on the context's device, at least `bytes` of it, at a multiple of 64; NULL: there is
 * none. `stream` is where it will be used. And takes it back, when its last use has been put into
 * that stream: who gets it next uses it there, or waits for that. Both are called on a thread that
 * is in a call of this context, with its lock held, and must not call Convoy with it. */
typedef void *convoy_allocate_fn(void *user, size_t bytes, void *stream);
typedef void convoy_release_fn(void *user, void *memory, size_t bytes, void *stream);

/* From now on the context's memory on the device is the framework's, scratch memory included, so
 * that it counts where the framework counts, and so that operations can be recorded. NULL for both:
 * Convoy's own again. The context must have isolation caller, and nothing of the allocator before
 * in use, which tensors of Convoy's own have. Returns OK; ERR_UNSUPPORTED as above; ERR_ARGUMENT.
 */
CONVOY_API convoy_status convoy_set_allocator(convoy_context *context, convoy_allocate_fn *allocate,
                                              convoy_release_fn *release, void *user);

/* One direction of a convolution with all its shapes, beta 0, made ready for convoy_enqueue. It
 * belongs to no context and never changes: any number of threads may use it. */
typedef struct convoy_problem convoy_problem;

/* Makes one, to be freed with convoy_problem_free; with_bias counts for CONVOY_FORWARD only.
 * Returns OK; ERR_ARGUMENT and ERR_SHAPE as convoy_output_shape. */
CONVOY_API convoy_status convoy_problem_new(const convoy_conv *conv, convoy_direction direction,
                                            const int64_t *x_shape, const int64_t *w_shape,
                                            int32_t with_bias, convoy_problem **out);
/* No call may use it during this one or after it. NULL is allowed. */
CONVOY_API void convoy_problem_free(convoy_problem *problem);

/* Carries out a problem on the framework's memory, in its stream. `arrays` are the operands in the
 * order of convoy_forward and the others, then the result: x w [bias] y, dy w dx, x dy dw, dy db;
 * each the address of a dense float32 array, a multiple of 64. The result may lie over an operand.
 * Nothing is computed elsewhere: what the device does not do, or is not used for after faults, is
 * ERR_UNSUPPORTED, for the framework to compute; so is a result that did not stand its proof
 * ERR_WRONG.
 *
 * A stream may be recorded, as CUDA graphs are. What goes into it then is not looked at when it is
 * replayed. It must have come before, outside of a recording, in this context, which must have an
 * allocator; else it is ERR_UNSUPPORTED, and nothing was put into the stream.
 *
 * `scratch`, NULL or `scratch_bytes` at a multiple of 64, is used before the allocator is asked; it
 * must live until the stream has got there. run->workspace_bytes says how many would have been
 * enough. `run` may be NULL, and is filled without waiting.
 * Returns OK; ERR_UNSUPPORTED; ERR_ARGUMENT; ERR_WRONG; ERR_DEVICE, after which the result is
 * undefined; ERR_MEMORY. */
CONVOY_API convoy_status convoy_enqueue(convoy_context *context, const convoy_problem *problem,
                                        void *stream, void *const arrays[], void *scratch,
                                        int64_t scratch_bytes, convoy_run *run);

#ifdef __cplusplus
}
#endif

#endif
