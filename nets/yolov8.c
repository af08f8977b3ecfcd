/* YOLOv8n: a backbone of five scales, a neck that takes coarse maps up to finer ones and back down
 * again, and a head for the three finest that are left. Numbers in names are places in the list of
 * modules that the published configuration is; those of upsampling and concatenation have no
 * parameters. */
#include "nets.h"

/* NAME.conv and NAME.bn, and SiLU. */
static struct net_value conv(struct net_capture *c, const char *name, struct net_value x,
                             int64_t outputs, int64_t extent, int64_t stride) {
  char part[NET_NAME];
  struct net_filter filter = net_square(outputs, extent, stride, 1);
  net_name(part, "%s.conv", name);
  x = net_conv(c, part, x, &filter);
  net_name(part, "%s.bn", name);
  return net_activate(c, "silu", net_batch_norm(c, part, x, 1e-3, 0.03));
}

/* Two convolutions, whose result is added to what they read, or is not. */
static struct net_value bottleneck(struct net_capture *c, const char *name, struct net_value x,
                                   bool adds) {
  char part[NET_NAME];
  net_name(part, "%s.cv1", name);
  struct net_value y = conv(c, part, x, x.shape[1], 3, 1);
  net_name(part, "%s.cv2", name);
  y = conv(c, part, y, x.shape[1], 3, 1);
  return adds ? net_combine(c, "add", x, y) : y;
}

enum { MOST_BLOCKS = 2 };

/* One convolution's channels, of which the second half goes through a row of blocks; all that was
 * on the way is put side by side. */
static struct net_value c2f(struct net_capture *c, int number, struct net_value x, int64_t outputs,
                            int blocks, bool adds) {
  char name[NET_NAME];
  struct net_value parts[1 + MOST_BLOCKS];
  net_name(name, "model.%d.cv1", number);
  parts[0] = conv(c, name, x, outputs, 1, 1);
  x = net_channels(c, parts[0], outputs / 2, outputs / 2);
  for (int i = 0; i < blocks; i++) {
    net_name(name, "model.%d.m.%d", number, i);
    x = parts[1 + i] = bottleneck(c, name, x, adds);
  }
  net_name(name, "model.%d.cv2", number);
  return conv(c, name, net_concatenate(c, 1 + blocks, parts), outputs, 1, 1);
}

/* Maxima over 5 x 5, over what are 9 x 9 and 13 x 13 of the same map, and the map itself. */
static struct net_value pyramid(struct net_capture *c, int number, struct net_value x) {
  char name[NET_NAME];
  int64_t channels = x.shape[1];
  struct net_value parts[4];
  net_name(name, "model.%d.cv1", number);
  parts[0] = conv(c, name, x, channels / 2, 1, 1);
  for (int i = 1; i < 4; i++) parts[i] = net_max_pool(c, parts[i - 1], 5, 1, 2);
  net_name(name, "model.%d.cv2", number);
  return conv(c, name, net_concatenate(c, 4, parts), channels, 1, 1);
}

/* model.22.cvBRANCH.SCALE.0, .1 and .2, the last without batch norm. */
static struct net_value branch(struct net_capture *c, int number, int scale, struct net_value x,
                               int64_t width, int64_t outputs) {
  char name[NET_NAME];
  struct net_filter last = net_square(outputs, 1, 1, 1);
  last.bias = true;
  for (int i = 0; i < 2; i++) {
    net_name(name, "model.22.cv%d.%d.%d", number, scale, i);
    x = conv(c, name, x, width, 3, 1);
  }
  net_name(name, "model.22.cv%d.%d.2", number, scale);
  return net_conv(c, name, x, &last);
}

/* 16 numbers for each of a box's four sides, then one for each class. */
static struct net_value detect(struct net_capture *c, int scale, struct net_value x,
                               int64_t classes) {
  enum { SIDES = 64, NARROWEST = 64, WIDEST = 100 };
  int64_t width = classes < NARROWEST ? NARROWEST : classes > WIDEST ? WIDEST : classes;
  struct net_value parts[] = {branch(c, 2, scale, x, NARROWEST, SIDES),
                              branch(c, 3, scale, x, width, classes)};
  return net_concatenate(c, 2, parts);
}

/* Both beside each other. */
static struct net_value join(struct net_capture *c, struct net_value a, struct net_value b) {
  return net_concatenate(c, 2, (const struct net_value[]){a, b});
}

void net_yolov8n(struct net_capture *c, struct net_value x, int64_t classes,
                 struct net_value *maps) {
  x = conv(c, "model.0", x, 16, 3, 2);
  x = c2f(c, 2, conv(c, "model.1", x, 32, 3, 2), 32, 1, true);
  struct net_value fine = c2f(c, 4, conv(c, "model.3", x, 64, 3, 2), 64, 2, true);
  struct net_value middle = c2f(c, 6, conv(c, "model.5", fine, 128, 3, 2), 128, 2, true);
  struct net_value coarse = c2f(c, 8, conv(c, "model.7", middle, 256, 3, 2), 256, 1, true);
  coarse = pyramid(c, 9, coarse);
  middle = c2f(c, 12, join(c, net_upsample(c, coarse, 2), middle), 128, 1, false);
  fine = c2f(c, 15, join(c, net_upsample(c, middle, 2), fine), 64, 1, false);
  middle = c2f(c, 18, join(c, conv(c, "model.16", fine, 64, 3, 2), middle), 128, 1, false);
  coarse = c2f(c, 21, join(c, conv(c, "model.19", middle, 128, 3, 2), coarse), 256, 1, false);
  maps[0] = detect(c, 0, fine, classes);
  maps[1] = detect(c, 1, middle, classes);
  maps[2] = detect(c, 2, coarse, classes);
}
