#include "fashion/net.h"

#include "fashion/batch.h"

static struct net_value plain_relu(void *user, struct net_capture *c, struct net_value x,
                                   int number) {
  (void)user;
  (void)number;
  return net_activate(c, "relu", x);
}

/* A convolution without a bias, which batch norm would take away, and batch norm. */
static struct net_value conv_norm(struct net_capture *c, const char *name, struct net_value x,
                                  struct net_filter filter) {
  char norm[NET_NAME];
  net_name(norm, "%s.norm", name);
  return net_batch_norm(c, norm, net_conv(c, name, x, &filter), 1e-5, 0.1);
}

/* 0.286 and 0.353 are mean and deviation of the 60,000 training images. */
struct net_value fashion_forward_with(struct net_capture *c, struct net_value pixels,
                                      int64_t classes, fashion_relu *relu, void *user) {
  const struct net_filter last = {classes, {7, 7}, {1, 1}, {0, 0}, 1, true};
  struct net_value x = net_activate(c, "y = (x / 255 - 0.286) / 0.353", pixels);
  x = relu(user, c, conv_norm(c, "conv", x, net_square(16, 3, 1, 1)), 0);
  x = relu(user, c, conv_norm(c, "reduce", x, net_square(32, 3, 2, 1)), 1);
  x = conv_norm(c, "depthwise", x, net_square(32, 3, 1, 32));
  x = relu(user, c, conv_norm(c, "pointwise", x, net_square(64, 1, 1, 1)), 2);
  x = net_conv(c, "classes", net_average_pool(c, x, 2, 2), &last);
  struct net_value logits = net_temporary(c, 2, x.shape);
  if (!c->status) c->status = convoy_tensor_copy(x.tensor, logits.tensor);
  return logits;
}

static struct net_value forward(struct net_capture *c, struct net_value pixels,
                                const struct classifier *classifier) {
  return fashion_forward_with(c, pixels, classifier->classes, plain_relu, NULL);
}

const struct classifier fashion_classifier = {
    .classes = CLASSES, .image = {1, IMAGE_SIDE, IMAGE_SIDE}, .decay = 1e-4, .forward = forward};
const struct lesson fashion_lesson = {
    .draw = batch_draw, .test = batch_test, .peak_rate = 0.05, .warm_up = 100};
