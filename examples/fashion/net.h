/* The network: five convolutions, each forward and backward through Convoy.
 *
 *   conv       3x3            1 ->  16   28x28   ReLU
 *   reduce     3x3 stride 2  16 ->  32   14x14   ReLU
 *   depthwise  3x3           32 ->  32   14x14
 *   pointwise  1x1           32 ->  64   14x14   ReLU, 2x2 average pool
 *   classes    7x7           64 ->  10    1x1    the fully connected layer
 */
#ifndef FASHION_NET_H
#define FASHION_NET_H

#include <convoy/convoy.h>
#include <stdint.h>

#include "random.h"

#define NET_LAYERS 5

struct layer {
  convoy_conv conv;
  int64_t x_shape[4], w_shape[4], y_shape[4]; /* [0] of x and y: images in the current batch */
  int64_t w_count;
  float *w, *b, *dw, *db; /* inside the net's weights and gradients */
  const float *x;         /* the previous layer's output */
  float *dx;              /* NULL for the first layer */
  float *y, *dy;          /* after the ReLU */
  const float *open;      /* where > 0 the ReLU lets the gradient through: y */
  float *out, *dout;      /* after the pool; y and dy themselves if there is none */
};

struct net {
  convoy_context *context;
  int64_t batch; /* most images a batch may have */
  struct layer layers[NET_LAYERS];
  float *weights, *gradients; /* all parameters in a row: per layer w, then b */
  int64_t parameters;
  float *input;            /* [batch][1][28][28], written by the caller */
  float *logits, *dlogits; /* [batch][10] */
};

/* Reserves everything for batches of up to `batch` images; the weights are zero then. */
convoy_status net_open(struct net *net, convoy_context *context, int64_t batch);
void net_close(struct net *net);

/* He initialisation. */
void net_init(struct net *net, struct random_state *random);

/* net->input to net->logits. */
convoy_status net_forward(struct net *net, int64_t count);

/* net->dlogits to net->gradients, after net_forward of the same batch. */
convoy_status net_backward(struct net *net, int64_t count);

#endif
