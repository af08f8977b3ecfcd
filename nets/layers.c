#include "layers.h"

#include <math.h>
#include <string.h>

struct net_filter net_square(int64_t outputs, int64_t extent, int64_t stride, int64_t groups) {
  return (struct net_filter){
      outputs, {extent, extent}, {stride, stride}, {extent / 2, extent / 2}, groups, false};
}

/* ------------------------------------------------------------------------------- with parameters
 */

static convoy_conv geometry_of(const struct net_filter *filter) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  conv.groups = filter->groups;
  for (int axis = 0; axis < 2; axis++) {
    conv.stride[axis] = filter->stride[axis];
    conv.pad_begin[axis] = conv.pad_end[axis] = filter->pad[axis];
  }
  return conv;
}

/* Weights begin with He's deviation, for the elements that each of them is summed to. */
struct net_value net_conv(struct net_capture *c, const char *name, struct net_value x,
                          const struct net_filter *filter) {
  convoy_conv conv = geometry_of(filter);
  const int64_t w_shape[] = {filter->outputs, x.shape[1] / filter->groups, filter->extent[0],
                             filter->extent[1]};
  int64_t y_shape[CONVOY_MAX_DIMS] = {1, 1, 1, 1};
  double fan_out = (double)(filter->outputs / filter->groups * w_shape[2] * w_shape[3]);
  double fan_in = (double)(w_shape[1] * w_shape[2] * w_shape[3]);
  convoy_tensor *w =
      net_parameter(c, name, "weight", 4, w_shape, NET_NORMAL, sqrt(2.0 / fmax(fan_out, 1.0)));
  convoy_tensor *bias = filter->bias ? net_parameter(c, name, "bias", 1, w_shape, NET_UNIFORM,
                                                     1.0 / sqrt(fmax(fan_in, 1.0)))
                                     : NULL;
  if (!c->status) c->status = convoy_output_shape(&conv, x.shape, w_shape, y_shape);
  struct net_value y = net_temporary(c, 4, y_shape);
  if (!c->status)
    c->status = convoy_forward(c->net->context, &conv, x.tensor, w, bias, NULL, y.tensor, NULL);
  return y;
}

struct net_value net_batch_norm(struct net_capture *c, const char *name, struct net_value x,
                                double epsilon, double momentum) {
  convoy_batch_norm_options options = CONVOY_BATCH_NORM_INIT;
  const int64_t *channels = &x.shape[1];
  convoy_tensor *gamma = net_parameter(c, name, "weight", 1, channels, NET_ONES, 0.0);
  convoy_tensor *beta = net_parameter(c, name, "bias", 1, channels, NET_ZEROS, 0.0);
  convoy_tensor *mean = net_parameter(c, name, "running_mean", 1, channels, NET_ZEROS, 0.0);
  convoy_tensor *variance = net_parameter(c, name, "running_var", 1, channels, NET_ONES, 0.0);
  struct net_value y = net_temporary(c, x.dims, x.shape);
  options.evaluate = !c->training;
  options.epsilon = epsilon;
  options.momentum = momentum;
  if (!c->status)
    c->status = convoy_batch_norm(c->net->context, &options, x.tensor, gamma, beta, mean, variance,
                                  y.tensor, NULL);
  return y;
}

struct net_value net_linear(struct net_capture *c, const char *name, struct net_value x,
                            int64_t outputs) {
  const int64_t w_shape[] = {outputs, x.shape[1]}, y_shape[] = {x.shape[0], outputs};
  double size = 1.0 / sqrt(fmax((double)x.shape[1], 1.0));
  convoy_tensor *w = net_parameter(c, name, "weight", 2, w_shape, NET_UNIFORM, size);
  convoy_tensor *bias = net_parameter(c, name, "bias", 1, w_shape, NET_UNIFORM, size);
  struct net_value y = net_temporary(c, 2, y_shape);
  if (!c->status)
    c->status =
        convoy_matmul(c->net->context, CONVOY_MATMUL_TRANSPOSE_B, x.tensor, w, y.tensor, NULL);
  if (!c->status) c->status = convoy_add(c->net->context, y.tensor, bias, y.tensor, NULL);
  return y;
}

/* ---------------------------------------------------------------------------------- without any */

static struct net_value show(struct net_capture *c, struct net_value y) {
  if (c->net->look && !c->status) c->net->look(c->net->user, c, y);
  return y;
}

struct net_value net_activate(struct net_capture *c, const char *program, struct net_value x) {
  struct net_value y = net_temporary(c, x.dims, x.shape);
  net_apply(c, program, (const struct net_value[]){x, y});
  return show(c, y);
}

struct net_value net_combine(struct net_capture *c, const char *program, struct net_value a,
                             struct net_value b) {
  struct net_value y = net_temporary(c, a.dims, a.shape);
  net_apply(c, program, (const struct net_value[]){a, b, y});
  return show(c, y);
}

typedef convoy_status pool_function(convoy_context *context, const convoy_window *window,
                                    const convoy_tensor *x, convoy_tensor *y, convoy_run *run);

static struct net_value pool(struct net_capture *c, pool_function *function, struct net_value x,
                             const convoy_window *window) {
  int64_t y_shape[CONVOY_MAX_DIMS] = {1, 1, 1, 1};
  if (!c->status) c->status = convoy_pool_shape(window, x.shape, y_shape);
  struct net_value y = net_temporary(c, 4, y_shape);
  if (!c->status) c->status = function(c->net->context, window, x.tensor, y.tensor, NULL);
  return y;
}

struct net_value net_max_pool(struct net_capture *c, struct net_value x, int64_t extent,
                              int64_t stride, int64_t pad) {
  convoy_window window = CONVOY_WINDOW_INIT(2);
  for (int axis = 0; axis < 2; axis++) {
    window.extent[axis] = extent;
    window.stride[axis] = stride;
    window.pad_begin[axis] = window.pad_end[axis] = pad;
  }
  return pool(c, convoy_max_pool, x, &window);
}

struct net_value net_average_pool(struct net_capture *c, struct net_value x, int64_t extent_h,
                                  int64_t extent_w) {
  convoy_window window = CONVOY_WINDOW_INIT(2);
  window.extent[0] = window.stride[0] = extent_h;
  window.extent[1] = window.stride[1] = extent_w;
  return pool(c, convoy_average_pool, x, &window);
}

struct net_value net_upsample(struct net_capture *c, struct net_value x, int64_t factor) {
  const convoy_resampling how = CONVOY_RESAMPLING_INIT(2);
  const int64_t shape[] = {x.shape[0], x.shape[1], factor * x.shape[2], factor * x.shape[3]};
  struct net_value y = net_temporary(c, 4, shape);
  if (!c->status) c->status = convoy_resample(c->net->context, &how, x.tensor, y.tensor, NULL);
  return y;
}

struct net_value net_channels(struct net_capture *c, struct net_value x, int64_t first,
                              int64_t count) {
  const int64_t begin[] = {0, first, 0, 0}, step[] = {1, 1, 1, 1};
  const int64_t shape[] = {x.shape[0], count, x.shape[2], x.shape[3]};
  struct net_value y = net_temporary(c, 4, shape);
  if (!c->status) c->status = convoy_slice(c->net->context, begin, step, x.tensor, y.tensor, NULL);
  return y;
}

struct net_value net_concatenate(struct net_capture *c, int count, const struct net_value *maps) {
  enum { MOST = 12 };
  const convoy_tensor *inputs[MOST];
  int64_t shape[] = {maps[0].shape[0], 0, maps[0].shape[2], maps[0].shape[3]};
  if (!c->status && count > MOST) c->status = CONVOY_ERR_ARGUMENT;
  for (int i = 0; i < count && i < MOST; i++) {
    inputs[i] = maps[i].tensor;
    shape[1] += maps[i].shape[1];
  }
  struct net_value y = net_temporary(c, 4, shape);
  if (!c->status) c->status = convoy_concatenate(c->net->context, 1, count, inputs, y.tensor, NULL);
  return y;
}

struct net_value net_map_mean(struct net_capture *c, struct net_value x) {
  struct net_value y = net_temporary(c, 2, x.shape);
  net_apply(c, "map_mean", (const struct net_value[]){x, y});
  return y;
}

struct net_value net_dropout(struct net_capture *c, struct net_value x) {
  if (!c->training || c->net->dropout == 0.0) return x;
  struct net_value y = net_temporary(c, x.dims, x.shape);
  if (!c->status)
    c->status = convoy_dropout(c->net->context, c->net->dropout, x.tensor, y.tensor, NULL);
  return y;
}

struct net_value net_cross_entropy(struct net_capture *c, struct net_value logits,
                                   convoy_tensor *labels) {
  const int64_t one = 1;
  struct net_value loss = net_temporary(c, 1, &one);
  if (!c->status)
    c->status =
        convoy_cross_entropy(c->net->context, NULL, logits.tensor, labels, NULL, loss.tensor, NULL);
  return loss;
}
