/* The network: convolutions with batch norm, and ReLUs behind most of them.
 *
 *   conv       3x3            1 ->  16   28x28   ReLU
 *   reduce     3x3 stride 2  16 ->  32   14x14   ReLU
 *   depthwise  3x3           32 ->  32   14x14
 *   pointwise  1x1           32 ->  64   14x14   ReLU, 2x2 average pool
 *   classes    7x7           64 ->  10    1x1    the fully connected layer
 */
#ifndef FASHION_NET_H
#define FASHION_NET_H

#include "common/training.h"

enum { FASHION_RELUS = 3 };

/* Called in place of a ReLU where there is one; its number in the network comes with it. */
typedef struct net_value fashion_relu(void *user, struct net_capture *c, struct net_value x,
                                      int number);
/* Logits of pixels. */
struct net_value fashion_forward_with(struct net_capture *c, struct net_value pixels,
                                      int64_t classes, fashion_relu *relu, void *user);

/* A classifier of this network; the lesson is without its images. */
extern const struct classifier fashion_classifier;
extern const struct lesson fashion_lesson;

#endif
