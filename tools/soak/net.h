/* The network that `convoy soak` trains. */
#ifndef SOAK_NET_H
#define SOAK_NET_H

#include "common/problem.h"

enum { SOAK_LAYERS = 5, SOAK_PARTS = 2 }; /* a batch is done in parts; gradients add up */

/* A layer has an input, weights, a bias and an output, and the gradient of each. */
typedef enum soak_array {
  SOAK_X,
  SOAK_W,
  SOAK_B,
  SOAK_Y,
  SOAK_DX,
  SOAK_DW,
  SOAK_DB,
  SOAK_DY,
  SOAK_ARRAYS
} soak_array;

typedef struct soak_layer {
  problem about;
  bool leaky;  /* leaky ReLU in the epilogue */
  bool linked; /* its input is the output of the layer before, on the device */
  int64_t count[SOAK_ARRAYS];
  float *host[SOAK_ARRAYS]; /* of the parameters those both go on from, else what the device made */
  convoy_tensor *tensor[SOAK_ARRAYS];
  float *target;   /* of the last layer's output, else NULL */
  double *dw, *db; /* the CPU's gradients, summed over the parts */
  double *dw_bound, *db_bound;
} soak_layer;

typedef struct soak_net {
  convoy_context *device, *cpu;
  soak_layer layer[SOAK_LAYERS];
  uint64_t seed;
  double loss;       /* of the part at hand, by the device's output */
  double total_loss; /* of the step */
  double longest;    /* seconds of the longest call on the device's context */
  char why[256];     /* sentence of the call that failed */
} soak_net;

extern const float soak_slope; /* of leaky ReLU */

/* Returns a value in (-1, 1), the same for the same numbers. */
float soak_number(uint64_t a, uint64_t b);

bool soak_net_make(soak_net *net, convoy_context *device, convoy_context *cpu, uint64_t seed);
void soak_net_free(soak_net *net);
/* Does one part of step `step` on the device: forward, loss, backward. Then all of the part's
 * arrays but the parameters' gradients are in host[]. */
convoy_status soak_net_part(soak_net *net, uint64_t step, int part);
/* Measures a call on the device's context that began at `start` and has just returned, and keeps
 * the sentence of one that failed. */
convoy_status soak_timed(soak_net *net, double start, convoy_status status);
/* Reads the parameters' gradients, which the device has summed over the parts. */
convoy_status soak_net_gradients(soak_net *net);
/* Goes on from the weights that the CPU's gradients give. */
void soak_net_learn(soak_net *net);

#endif
