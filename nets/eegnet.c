/* EEGNet: filters in time, then over all channels at once, then separable ones in time. */
#include "nets.h"

#define EPSILON 1e-3
#define MOMENTUM 0.01

enum { TEMPORAL = 8, PER_FILTER = 2, FILTERS = TEMPORAL * PER_FILTER };

static struct net_filter filter(int64_t outputs, int64_t h, int64_t w, int64_t pad,
                                int64_t groups) {
  return (struct net_filter){outputs, {h, w}, {1, 1}, {0, pad}, groups, false};
}

struct net_value net_eegnet(struct net_capture *c, struct net_value x, int64_t classes) {
  struct net_filter temporal = filter(TEMPORAL, 1, 64, 32, 1);
  struct net_filter spatial = filter(FILTERS, x.shape[2], 1, 0, TEMPORAL);
  struct net_filter depth = filter(FILTERS, 1, 16, 8, FILTERS);
  struct net_filter point = filter(FILTERS, 1, 1, 0, 1);
  x = net_batch_norm(c, "bnorm_temporal", net_conv(c, "conv_temporal", x, &temporal), EPSILON,
                     MOMENTUM);
  x = net_batch_norm(c, "bnorm_1", net_conv(c, "conv_spatial", x, &spatial), EPSILON, MOMENTUM);
  x = net_activate(c, "y = 0 < x ? x : exp(x) - 1", x);
  x = net_dropout(c, net_average_pool(c, x, 1, 4));
  x = net_conv(c, "conv_separable_depth", x, &depth);
  x = net_batch_norm(c, "bnorm_2", net_conv(c, "conv_separable_point", x, &point), EPSILON,
                     MOMENTUM);
  x = net_activate(c, "y = 0 < x ? x : exp(x) - 1", x);
  x = net_dropout(c, net_average_pool(c, x, 1, 8));

  struct net_filter classifier = filter(classes, x.shape[2], x.shape[3], 0, 1);
  classifier.bias = true;
  x = net_conv(c, "final_layer.conv_classifier", x, &classifier);
  struct net_value logits = x;
  logits.dims = 2;
  struct net_value y = net_temporary(c, 2, logits.shape);
  if (!c->status) c->status = convoy_tensor_copy(x.tensor, y.tensor);
  return y;
}
