/* ResNets: a stem, and four stages of blocks whose input is added to what they make of it. */
#include "nets.h"

/* A block's convolutions, with batch norm behind each. */
struct block_kind {
  int64_t widening; /* outputs for one of a stage's width */
  struct net_value (*convolve)(struct net_capture *c, const char *block, struct net_value x,
                               int64_t width, int64_t stride);
};

/* NAME.convNUMBER and NAME.bnNUMBER. */
static struct net_value conv_norm(struct net_capture *c, const char *block, int number,
                                  struct net_value x, struct net_filter filter) {
  char conv[NET_NAME], norm[NET_NAME];
  net_name(conv, "%sconv%d", block, number);
  net_name(norm, "%sbn%d", block, number);
  return net_batch_norm(c, norm, net_conv(c, conv, x, &filter), 1e-5, 0.1);
}

static struct net_value basic(struct net_capture *c, const char *block, struct net_value x,
                              int64_t width, int64_t stride) {
  x = conv_norm(c, block, 1, x, net_square(width, 3, stride, 1));
  return conv_norm(c, block, 2, net_activate(c, "relu", x), net_square(width, 3, 1, 1));
}

static struct net_value bottleneck(struct net_capture *c, const char *block, struct net_value x,
                                   int64_t width, int64_t stride) {
  x = net_activate(c, "relu", conv_norm(c, block, 1, x, net_square(width, 1, 1, 1)));
  x = net_activate(c, "relu", conv_norm(c, block, 2, x, net_square(width, 3, stride, 1)));
  return conv_norm(c, block, 3, x, net_square(4 * width, 1, 1, 1));
}

/* The input as it is, or where extents change through a convolution. */
static struct net_value shortcut(struct net_capture *c, const char *block, struct net_value x,
                                 int64_t outputs, int64_t stride) {
  char conv[NET_NAME], norm[NET_NAME];
  struct net_filter filter = net_square(outputs, 1, stride, 1);
  if (stride == 1 && x.shape[1] == outputs) return x;
  net_name(conv, "%sdownsample.0", block);
  net_name(norm, "%sdownsample.1", block);
  return net_batch_norm(c, norm, net_conv(c, conv, x, &filter), 1e-5, 0.1);
}

static struct net_value stage(struct net_capture *c, const struct block_kind *kind, int number,
                              int blocks, int64_t width, struct net_value x) {
  char name[NET_NAME];
  for (int i = 0; i < blocks; i++) {
    int64_t stride = i == 0 && number > 1 ? 2 : 1;
    net_name(name, "layer%d.%d.", number, i);
    struct net_value y = kind->convolve(c, name, x, width, stride);
    x = net_combine(c, "add_relu", y, shortcut(c, name, x, kind->widening * width, stride));
  }
  return x;
}

static struct net_value resnet(struct net_capture *c, const struct block_kind *kind,
                               const int *blocks, int64_t width, struct net_value x,
                               int64_t classes) {
  x = net_activate(c, "relu", conv_norm(c, "", 1, x, net_square(width, 7, 2, 1)));
  x = net_max_pool(c, x, 3, 2, 1);
  for (int i = 0; i < 4; i++) x = stage(c, kind, i + 1, blocks[i], width << i, x);
  return net_linear(c, "fc", net_map_mean(c, x), classes);
}

struct net_value net_resnet18(struct net_capture *c, struct net_value x, int64_t classes) {
  return net_resnet18_of_width(c, x, 64, classes);
}

struct net_value net_resnet18_of_width(struct net_capture *c, struct net_value x, int64_t width,
                                       int64_t classes) {
  static const struct block_kind kind = {1, basic};
  return resnet(c, &kind, (const int[]){2, 2, 2, 2}, width, x, classes);
}

struct net_value net_resnet50(struct net_capture *c, struct net_value x, int64_t classes) {
  static const struct block_kind kind = {4, bottleneck};
  return resnet(c, &kind, (const int[]){3, 4, 6, 3}, 64, x, classes);
}
