/* A training step of a small network, as a list of calls that a test can interrupt anywhere: a
 * strided 3x3, a dilated depthwise 3x3, a 1x1 and a grouped 3x3 convolution, forward and backward,
 * one after the other on the device, through host memory or tensors. All values are integers so
 * small that every device must give the same bits. Behind them, for tests that ask for it, programs
 * and reductions, which have the same bits everywhere whatever the values are: batch norm with SiLU
 * of the last output, forward and backward, and an optimizer's step in the place of its operands;
 * and a matrix product, and the maxima of windows and their gradient, of integers. */
#ifndef TEST_NET_H
#define TEST_NET_H

#include <stdbool.h>

#include "convoy/convoy.h"

enum { NET_LAYERS = 4, NET_CALLS = 4 * NET_LAYERS, NET_OTHERS = 9 };

/* Activations, parameters, and the gradients of both in the same order. */
enum {
  NET_X, /* input of layer l: NET_X + l */
  NET_W = NET_X + NET_LAYERS + 1,
  NET_B = NET_W + NET_LAYERS,
  NET_DX = NET_B + NET_LAYERS, /* gradient of the input of layer l: NET_DX + l */
  NET_DW = NET_DX + NET_LAYERS + 1,
  NET_DB = NET_DW + NET_LAYERS,
  NET_MEAN =
      NET_DB + NET_LAYERS, /* a number for each channel of the last output, up to NET_SUM_H */
  NET_VARIANCE,
  NET_DEVIATION,
  NET_SCALE,
  NET_GAMMA,
  NET_BETA,
  NET_SUM,
  NET_SUM_H,
  NET_EPSILON, /* one number */
  NET_RATE,
  NET_MOMENTUM,
  NET_Z, /* like the last output: it normalised, its gradient and what that is for the output */
  NET_DZ,
  NET_DN,
  NET_V, /* like the first layer's weights */
  NET_A, /* matrices */
  NET_C,
  NET_AC,
  NET_P, /* maxima of the first input's windows, their gradient and what that is for the input */
  NET_DP,
  NET_DI,
  NET_ARRAYS
};

struct net {
  convoy_context *context;
  bool tensors;
  float *host[NET_ARRAYS];
  convoy_tensor *tensor[NET_ARRAYS]; /* NULL in a net on host memory */
};

/* Opens a context on `device` with failover, and fills the arrays: inputs, parameters and the
 * weights' gradients (which the step adds to) with integers, everything it writes with NaN. */
void net_open(struct net *net, const char *device, bool tensors, uint64_t seed);
/* The optimizer leaves the weights as they are: whatever comes after its update is of integers,
 * too. On tensors. */
void net_learn_nothing(struct net *net);
void net_close(struct net *net);

/* Call `index` of the step; run may be NULL. From NET_CALLS on they are the NET_OTHERS, which
 * have no calls on host memory: there they go through tensors that live as long as the call. */
convoy_status net_call(struct net *net, int index, convoy_run *run);
/* Brings all arrays to host[]. */
void net_read(struct net *net);
/* Index of the first array that differs in any bit, -1 if none does. */
int net_difference(const struct net *a, const struct net *b);

#endif
