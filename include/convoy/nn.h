/* Convoy: layers, losses and optimizers, the part of the public interface that convoy.h includes at
 * its end. Its first paragraphs, on errors, threads and structs, hold here too. */
#ifndef CONVOY_NN_H
#define CONVOY_NN_H

#include "convoy/convoy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each call carries out a few programs and reductions (docs/programs_language.md) in a row, or has
 * them captured (graph.h); gradients come from convoy_gradients. What is between them is dropped.
 *
 *   - Definitions are PyTorch's. Numbers that are arguments are rounded to float32 after all that
 *     can be computed from them alone has been computed in float64.
 *   - The calls are asynchronous. If `run` is not NULL the call waits for its results;
 *     run->algorithm is that of its last operation.
 *   - They return OK; ERR_ARGUMENT, also for a `run` while a capture is open; ERR_SHAPE with the
 *     numbers; otherwise as convoy_forward does. On failure all outputs keep their values, and an
 *     open capture is as it was.
 *   - An output may be an input. No two outputs may be one tensor.
 *   - A tensor "of one number" is one of one element, whatever its extents. Written before a run of
 *     a graph, a learning rate follows a schedule.
 *   - Options may be NULL: what their INIT says. Set struct_size first. */

/* ------------------------------------------------------------------------------ normalisation */

typedef struct convoy_batch_norm_options {
  uint32_t struct_size;
  int32_t evaluate; /* 1: by the running statistics, which then have to be there */
  double epsilon;   /* > 0, or 0 */
  double momentum;  /* 0 to 1: the part that a batch has in the running statistics */
} convoy_batch_norm_options;

#define CONVOY_BATCH_NORM_INIT \
  { sizeof(convoy_batch_norm_options), 0, 1e-5, 0.1 }

/* y = (x - mean[c]) / sqrt(variance[c] + epsilon) gamma[c] + beta[c]
 *
 * x and y have 2 to 5 extents, [n][c]..., the others [c]. gamma NULL is 1, beta NULL is 0.
 * In training mean and variance are those of the batch, over all axes but c, the variance divided
 * by the number m of elements; and unless they are NULL
 *   running_mean = (1 - momentum) running_mean + momentum mean
 *   running_variance = (1 - momentum) running_variance + momentum variance m / (m - 1)
 * With m = 1 there is no variance: ERR_SHAPE. With m = 0 nothing is done. In evaluation the running
 * statistics take the place of the batch's, and stay as they are. */
CONVOY_API convoy_status convoy_batch_norm(convoy_context *context,
                                           const convoy_batch_norm_options *options,
                                           const convoy_tensor *x, const convoy_tensor *gamma,
                                           const convoy_tensor *beta, convoy_tensor *running_mean,
                                           convoy_tensor *running_variance, convoy_tensor *y,
                                           convoy_run *run);

/* y = (x - mean) / sqrt(variance + epsilon) gamma + beta, with mean and variance, divided by the
 * number of elements, of each part of x: of the last `axes` extents, of which gamma and beta have
 * an element each; NULL is 1 and 0. */
CONVOY_API convoy_status convoy_layer_norm(convoy_context *context, int32_t axes, double epsilon,
                                           const convoy_tensor *x, const convoy_tensor *gamma,
                                           const convoy_tensor *beta, convoy_tensor *y,
                                           convoy_run *run);

/* The same of each image's groups of channels: x and y have 2 to 5 extents, [n][c]..., gamma and
 * beta [c], and `groups` divides c. With as many groups as channels it is instance norm. */
CONVOY_API convoy_status convoy_group_norm(convoy_context *context, int64_t groups, double epsilon,
                                           const convoy_tensor *x, const convoy_tensor *gamma,
                                           const convoy_tensor *beta, convoy_tensor *y,
                                           convoy_run *run);

/* ------------------------------------------------------------------------------------ softmax */

/* Along extent `axis` of x, from 0 on, with m the maximum along it:
 *   softmax       y = exp(x - m) / sum of exp(x - m)
 *   log_softmax   y = x - m - log(sum of exp(x - m)) */
CONVOY_API convoy_status convoy_softmax(convoy_context *context, int32_t axis,
                                        const convoy_tensor *x, convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_log_softmax(convoy_context *context, int32_t axis,
                                            const convoy_tensor *x, convoy_tensor *y,
                                            convoy_run *run);

/* ------------------------------------------------------------------------------------- losses */

/* What becomes of the losses of the elements: one number, or a tensor of them. */
typedef enum convoy_reduction {
  CONVOY_REDUCE_MEAN = 0,
  CONVOY_REDUCE_SUM = 1,
  CONVOY_REDUCE_NONE = 2
} convoy_reduction;
#define CONVOY_REDUCTIONS 3

typedef struct convoy_cross_entropy_options {
  uint32_t struct_size;
  int32_t reduction; /* convoy_reduction */
  int32_t ignored;   /* a label whose element does not count */
  int32_t reserved;  /* 0 */
  double smoothing;  /* 0 to 1 */
} convoy_cross_entropy_options;

#define CONVOY_CROSS_ENTROPY_INIT \
  { sizeof(convoy_cross_entropy_options), CONVOY_REDUCE_MEAN, -100, 0, 0.0 }

/* Of logits [n][c], or [n][c]... for each position, and int32 (or uint8) labels of the same extents
 * without c, or with 1 there. With p = log_softmax of the logits along c, s = smoothing, C classes
 * and weight[c], NULL being 1:
 *   loss = -(1 - s) weight[label] p[label] - s / C sum over c of weight[c] p[c]
 * and 0 where the label is `ignored`. A label that is no class gives a NaN. The mean is the sum of
 * the losses divided by that of weight[label] over the labels that are not ignored. Without
 * reduction the loss has the labels' extents. Labels have to be below 2^24. */
CONVOY_API convoy_status convoy_cross_entropy(convoy_context *context,
                                              const convoy_cross_entropy_options *options,
                                              const convoy_tensor *logits,
                                              const convoy_tensor *labels,
                                              const convoy_tensor *weight, convoy_tensor *loss,
                                              convoy_run *run);

/* loss = -weight (positive target log(s) + (1 - target) log(1 - s)) with s = sigmoid(logits),
 * computed so that it is finite for all finite logits and off by at most
 * 1e-6 |weight| (1 + |positive|) (1 + |logits|) before it is reduced. `target` has the extents of
 * the logits; weight and positive, NULL being 1, have along each axis the same extent or 1, as for
 * convoy_apply. */
CONVOY_API convoy_status convoy_bce_with_logits(convoy_context *context, convoy_reduction reduction,
                                                const convoy_tensor *logits,
                                                const convoy_tensor *target,
                                                const convoy_tensor *weight,
                                                const convoy_tensor *positive, convoy_tensor *loss,
                                                convoy_run *run);

/* With d = x - target, of equal extents:
 *   mse         loss = d d
 *   smooth_l1   loss = |d| < beta ? d d / (2 beta) : |d| - beta / 2, with beta 0 it is |d| */
CONVOY_API convoy_status convoy_mse(convoy_context *context, convoy_reduction reduction,
                                    const convoy_tensor *x, const convoy_tensor *target,
                                    convoy_tensor *loss, convoy_run *run);
CONVOY_API convoy_status convoy_smooth_l1(convoy_context *context, convoy_reduction reduction,
                                          double beta, const convoy_tensor *x,
                                          const convoy_tensor *target, convoy_tensor *loss,
                                          convoy_run *run);

/* ------------------------------------------------------------------------------------ dropout */

/* Each element of y is 0 with probability p, 0 to 1, and otherwise x / (1 - p). Which ones is a
 * matter of random numbers (convoy_seed): the same on every device, and in the gradient; new ones
 * in each call and in each run of a graph. In evaluation there is nothing to call. */
CONVOY_API convoy_status convoy_dropout(convoy_context *context, double p, const convoy_tensor *x,
                                        convoy_tensor *y, convoy_run *run);

/* --------------------------------------------------------------------------------- optimizers */

/* They go over `count` parameters w[i] with their gradients g[i] and whatever state they need, all
 * of the extents of w[i], in one call. `rate` is of one number, and so is `step`, how many steps
 * came before, which the call increases by one: a new training has a step of 0 and a state of
 * zeros. */

typedef struct convoy_sgd_options {
  uint32_t struct_size;
  int32_t nesterov; /* 1: needs a momentum and no dampening */
  double momentum;  /* 0: there is no state, and v may be NULL */
  double dampening; /* other than 0: `step` may not be NULL */
  double decay;     /* of weights */
} convoy_sgd_options;

#define CONVOY_SGD_INIT \
  { sizeof(convoy_sgd_options), 0, 0.0, 0.0, 0.0 }

/* d = g + decay w
 *   without momentum   w = w - rate d
 *   with               v = momentum v + (1 - dampening) d, in the first step v = d
 *                      w = w - rate v
 *   Nesterov's         w = w - rate (d + momentum v) */
CONVOY_API convoy_status convoy_sgd(convoy_context *context, const convoy_sgd_options *options,
                                    int32_t count, convoy_tensor *const w[],
                                    convoy_tensor *const g[], convoy_tensor *const v[],
                                    const convoy_tensor *rate, convoy_tensor *step,
                                    convoy_run *run);

typedef struct convoy_adam_options {
  uint32_t struct_size;
  int32_t reserved; /* 0 */
  double beta1;     /* 0 to less than 1, as beta2 */
  double beta2;
  double epsilon; /* >= 0 */
  double decay;   /* of weights */
} convoy_adam_options;

#define CONVOY_ADAM_INIT \
  { sizeof(convoy_adam_options), 0, 0.9, 0.999, 1e-8, 0.0 }

/* With t = step + 1
 *   m = beta1 m + (1 - beta1) d,   v = beta2 v + (1 - beta2) d d
 *   w = w' - rate / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
 *   adam    d = g + decay w,   w' = w
 *   adamw   d = g,             w' = w (1 - rate decay) */
CONVOY_API convoy_status convoy_adam(convoy_context *context, const convoy_adam_options *options,
                                     int32_t count, convoy_tensor *const w[],
                                     convoy_tensor *const g[], convoy_tensor *const m[],
                                     convoy_tensor *const v[], const convoy_tensor *rate,
                                     convoy_tensor *step, convoy_run *run);
CONVOY_API convoy_status convoy_adamw(convoy_context *context, const convoy_adam_options *options,
                                      int32_t count, convoy_tensor *const w[],
                                      convoy_tensor *const g[], convoy_tensor *const m[],
                                      convoy_tensor *const v[], const convoy_tensor *rate,
                                      convoy_tensor *step, convoy_run *run);

/* average[i] = average[i] + share (w[i] - average[i]), the exponential moving average with a decay
 * of 1 - share; `share` is of one number. */
CONVOY_API convoy_status convoy_moving_average(convoy_context *context, const convoy_tensor *share,
                                               int32_t count, convoy_tensor *const w[],
                                               convoy_tensor *const average[], convoy_run *run);

/* norm, of one number, = sqrt(sum over all elements of all g[i] of g g), added up in an order that
 * depends on the extents alone. */
CONVOY_API convoy_status convoy_gradient_norm(convoy_context *context, int32_t count,
                                              convoy_tensor *const g[], convoy_tensor *norm,
                                              convoy_run *run);
/* The same, and then g[i] = g[i] min(1, most / (norm + 1e-6)). `norm` may be NULL; most >= 0. */
CONVOY_API convoy_status convoy_clip_gradients(convoy_context *context, double most, int32_t count,
                                               convoy_tensor *const g[], convoy_tensor *norm,
                                               convoy_run *run);

#ifdef __cplusplus
}
#endif
#endif
