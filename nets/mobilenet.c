/* MobileNetV2: blocks that widen, filter each channel by itself, and narrow again. */
#include "nets.h"

/* NAME.0 and NAME.1: a convolution and its batch norm. */
static struct net_value conv_norm(struct net_capture *c, const char *conv, const char *norm,
                                  struct net_value x, struct net_filter filter) {
  return net_batch_norm(c, norm, net_conv(c, conv, x, &filter), 1e-5, 0.1);
}

static struct net_value conv_relu6(struct net_capture *c, const char *name, struct net_value x,
                                   struct net_filter filter) {
  char conv[NET_NAME], norm[NET_NAME];
  net_name(conv, "%s.0", name);
  net_name(norm, "%s.1", name);
  return net_activate(c, "relu6", conv_norm(c, conv, norm, x, filter));
}

/* features.NUMBER.conv.0, .1 and so on, of which the first is there if the block widens. */
static struct net_value block(struct net_capture *c, int number, struct net_value x,
                              int64_t widening, int64_t outputs, int64_t stride) {
  char name[NET_NAME], norm[NET_NAME];
  struct net_value y = x;
  int64_t inner = widening * x.shape[1];
  int part = 0;
  if (widening > 1) {
    net_name(name, "features.%d.conv.%d", number, part++);
    y = conv_relu6(c, name, y, net_square(inner, 1, 1, 1));
  }
  net_name(name, "features.%d.conv.%d", number, part++);
  y = conv_relu6(c, name, y, net_square(inner, 3, stride, inner));
  net_name(name, "features.%d.conv.%d", number, part++);
  net_name(norm, "features.%d.conv.%d", number, part);
  y = conv_norm(c, name, norm, y, net_square(outputs, 1, 1, 1));
  bool adds = stride == 1 && x.shape[1] == outputs;
  return adds ? net_combine(c, "add", x, y) : y;
}

struct net_value net_mobilenet_v2(struct net_capture *c, struct net_value x, int64_t classes) {
  static const struct {
    int64_t widening, outputs;
    int blocks;
    int64_t stride; /* of the first of them */
  } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  char name[NET_NAME];
  int number = 1;
  x = conv_relu6(c, "features.0", x, net_square(32, 3, 2, 1));
  for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
    for (int i = 0; i < stages[s].blocks; i++)
      x = block(c, number++, x, stages[s].widening, stages[s].outputs, i ? 1 : stages[s].stride);
  }
  net_name(name, "features.%d", number);
  x = conv_relu6(c, name, x, net_square(1280, 1, 1, 1));
  return net_linear(c, "classifier.1", net_dropout(c, net_map_mean(c, x)), classes);
}
