/* The layers that networks here are made of. Their names are those of PyTorch's modules. */
#ifndef NETS_LAYERS_H
#define NETS_LAYERS_H

#include "net.h"

/* A convolution's filter over h and w. */
struct net_filter {
  int64_t outputs;
  int64_t extent[2], stride[2], pad[2];
  int64_t groups;
  bool bias;
};

/* A square filter with padding that keeps the extents at stride 1, without bias. */
struct net_filter net_square(int64_t outputs, int64_t extent, int64_t stride, int64_t groups);

struct net_value net_conv(struct net_capture *c, const char *name, struct net_value x,
                          const struct net_filter *filter);
/* In training by the batch, with running statistics of PyTorch's momentum. */
struct net_value net_batch_norm(struct net_capture *c, const char *name, struct net_value x,
                                double epsilon, double momentum);
struct net_value net_linear(struct net_capture *c, const char *name, struct net_value x,
                            int64_t outputs);
/* A program of one input, such as "relu". */
struct net_value net_activate(struct net_capture *c, const char *program, struct net_value x);
/* Of two, such as "add" and "add_relu". */
struct net_value net_combine(struct net_capture *c, const char *program, struct net_value a,
                             struct net_value b);
/* Windows over h and w; the stride is the extent unless one is given. */
struct net_value net_max_pool(struct net_capture *c, struct net_value x, int64_t extent,
                              int64_t stride, int64_t pad);
struct net_value net_average_pool(struct net_capture *c, struct net_value x, int64_t extent_h,
                                  int64_t extent_w);
/* Nearest elements, `factor` times as many along h and w. */
struct net_value net_upsample(struct net_capture *c, struct net_value x, int64_t factor);
/* `count` channels of [n][c][h][w] from the channel `first` on. */
struct net_value net_channels(struct net_capture *c, struct net_value x, int64_t first,
                              int64_t count);
/* The channels of up to 12 maps side by side. */
struct net_value net_concatenate(struct net_capture *c, int count, const struct net_value *maps);
/* [n][c] */
struct net_value net_map_mean(struct net_capture *c, struct net_value x);
/* With probability net->dropout, in training. */
struct net_value net_dropout(struct net_capture *c, struct net_value x);
/* One number: the mean cross entropy of logits [n][c] and int32 labels. */
struct net_value net_cross_entropy(struct net_capture *c, struct net_value logits,
                                   convoy_tensor *labels);

#endif
