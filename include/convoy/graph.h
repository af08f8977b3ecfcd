/* Convoy: graphs, the part of the public interface that convoy.h includes at its end. Its first
 * paragraphs, on errors, threads and structs, hold here too. */
#ifndef CONVOY_GRAPH_H
#define CONVOY_GRAPH_H

#include "convoy/convoy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph is a sequence of operations on tensors, captured once and then carried out by one call,
 * again and again: a training step.
 *
 *   convoy_capture_begin(context);
 *   convoy_forward(context, &conv, x, w, NULL, NULL, y, NULL);
 *   convoy_apply(context, loss, operands, &l, NULL);
 *   convoy_gradients(context, l, NULL, 1, &w, &dw);
 *   convoy_apply(context, sgd, weights, &w, NULL);
 *   convoy_capture_end(context, &graph);
 *   for each batch: convoy_tensor_write(x, ...); convoy_graph_run(graph, NULL);
 *
 * Between begin and end nothing is computed. An operation on tensors checks its operands, returns
 * its errors at once and, if it is legal, is noted. The tensors keep the arrays that they have,
 * while they stand for the values that a run will compute.
 *
 *   - A tensor that is read before an operation of the capture has written it is an input of the
 *     graph: each run reads the array that the tensor has when the run is called.
 *   - A tensor that an operation has written, and that is not freed before the end, is an output:
 *     each run that succeeds gives it a new array. Until the first run it keeps what it has. It may
 *     be an input too, as weights are.
 *   - A tensor that is written and then freed before the end is internal; an operation of which
 *     nothing reaches an output is not carried out.
 *   - convoy_tensor_write gives a tensor its values at once, and makes it an input from there on.
 *   - convoy_tensor_read, convoy_commit, operations on host memory, a `run` that is not NULL,
 *     convoy_graph_run and a second convoy_capture_begin are ERR_ARGUMENT meanwhile, and so are
 *     operations that another thread calls on the context. What is refused is not noted.
 *
 * A graph keeps its tensors from going away: they may be freed while it is in use. It is for the
 * extents that its tensors have; another batch size is another graph. */
typedef struct convoy_graph convoy_graph;

/* Begins a capture on the context. Returns OK; ERR_ARGUMENT if one is open. */
CONVOY_API convoy_status convoy_capture_begin(convoy_context *context);
/* Ends it and writes the graph to *out, to be freed with convoy_graph_free. With `out` NULL what
 * was captured is given up. Returns OK; ERR_ARGUMENT if no capture is open, or if another thread's
 * is; after ERR_MEMORY the capture has ended, too. */
CONVOY_API convoy_status convoy_capture_end(convoy_context *context, convoy_graph **out);

/* Ends a stage: what is captured from here on is another part of the graph, which is carried out by
 * a call of its own, convoy_graph_run_stage, as a backward pass whose gradient somebody else makes.
 * The stages are planned together: what an earlier one leaves for a later one stays on the device,
 * or is computed again. At most 64 stages. Returns OK; ERR_ARGUMENT outside a capture. */
CONVOY_API convoy_status convoy_capture_cut(convoy_context *context);

/* Notes the gradients of what was captured so far: out[i] becomes, for each element of of[i], the
 * derivative with respect to it of the sum over the elements of y times dy. dy has y's elements; it
 * may be NULL, which means 1, if y is a single number, a loss. Several uses of a tensor are added,
 * the last captured first. out[i] has the extents of of[i]; where y does not depend on it, it
 * becomes 0.
 * A tensor that convoy_tensor_copy gave what another has stands for the same as that one.
 * Returns OK; ERR_ARGUMENT outside a capture, for a y that nothing in the capture has written, and
 * for a tensor that has been written since y was computed from it; ERR_SHAPE; ERR_UNSUPPORTED
 * naming the operation that has no gradient. What is refused notes nothing. */
CONVOY_API convoy_status convoy_gradients(convoy_context *context, convoy_tensor *y,
                                          convoy_tensor *dy, int32_t count,
                                          convoy_tensor *const of[], convoy_tensor *const out[]);

/* Carries out the graph. The call is asynchronous, as those of operations are; at most 3 runs of a
 * graph are under way, and one more waits for the first of them. Results are the same as those of
 * the operations called one by one, bit for bit, with all that is promised of them: what a device
 * gets wrong or loses is found and computed anew (docs/failover.md). If `run` is not NULL the call
 * waits for the results; run->algorithm is that of the last operation.
 * Returns OK; ERR_ARGUMENT, also after convoy_close; otherwise as convoy_forward does. On failure
 * all outputs keep their values. */
CONVOY_API convoy_status convoy_graph_run(convoy_graph *graph, convoy_run *run);

/* Carries out stage `stage` of a graph that convoy_capture_cut has divided, from 0 on. They follow
 * one another: stage 0 begins a run, and gives up one that has not come to its end. Each stage
 * reads the arrays that its tensors have when it is called, and gives what it writes new ones; a
 * tensor that several stages write gets what the last of them makes, by that. What an earlier stage
 * has read or copied of a tensor is to gradients, and in the copies, what it was then, whoever has
 * written the tensor since; but wrapped memory that no stage has written is read where it is.
 * convoy_graph_run carries out all of them. Returns as convoy_graph_run does; ERR_ARGUMENT for a
 * stage whose turn it is not. */
CONVOY_API convoy_status convoy_graph_run_stage(convoy_graph *graph, int32_t stage,
                                                convoy_run *run);

/* How many runs of the graph have succeeded, the number of the next one. Random numbers of a run
 * depend on it, on convoy_seed as it was at the capture, and on the operation's place in the
 * capture. Set it to go on with a training where a checkpoint was taken. Return OK. */
CONVOY_API convoy_status convoy_graph_runs(const convoy_graph *graph, uint64_t *runs);
CONVOY_API convoy_status convoy_graph_set_runs(convoy_graph *graph, uint64_t runs);

/* Writes the graph for people: a line for each tensor that is read, for each operation in the order
 * in which they are carried out, and the most memory that results of it take at a time. Returns OK;
 * ERR_ARGUMENT if `size` bytes, terminator included, are too few. */
CONVOY_API convoy_status convoy_graph_text(const convoy_graph *graph, char *text, size_t size);

/* What a run consists of, as planned for the device of the context. */
typedef struct convoy_graph_plan {
  uint32_t struct_size;
  int32_t captured;   /* operations that were noted */
  int32_t operations; /* that a run carries out; each is one launch, or the few of its algorithm.
                         What is done by where arrays lie is not among them. */
  int32_t reserved;   /* 0 */
  double flops; /* what they compute; an instruction of a program counts as its time, an add as 2 */
  double bytes; /* that they move at least: every array once, by each that uses it */
  int64_t read_bytes;     /* of the tensors that a run reads */
  int64_t written_bytes;  /* of the arrays that it gives tensors */
  int64_t internal_bytes; /* of memory for what is made on the way, without workspaces */
} convoy_graph_plan;

/* Plans the graph, if no run has yet, and fills *out; set out->struct_size first. Nothing is
 * carried out. All stages count together, as one plan. Returns OK; ERR_ARGUMENT, also after
 * convoy_close; ERR_UNSUPPORTED if a device would carry it out operation by operation for the size
 * of a result. */
CONVOY_API convoy_status convoy_plan_graph(const convoy_graph *graph, convoy_graph_plan *out);
/* Writes the same plan for people: these sums, and those of each kind of operation; a line for each
 * operation, also for those that are done by where arrays lie, for each tensor that is read, for
 * each block of memory, and for each result, with its place and the operations from which and to
 * which it lies there. Returns as convoy_plan_graph;
 * ERR_ARGUMENT also if `size` bytes, terminator included, are too few. */
CONVOY_API convoy_status convoy_plan_text(const convoy_graph *graph, char *text, size_t size);

/* Frees the graph; a run that was enqueued is still carried out. It may be called after
 * convoy_close. No call may use the graph during this one or after it. NULL is allowed. */
CONVOY_API void convoy_graph_free(convoy_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
