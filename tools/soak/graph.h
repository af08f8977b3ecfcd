/* What a training step does beside convolutions and programs: pooling, a matrix product, and a
 * captured step of all of them with gradients and an optimizer. Inputs are whole numbers from -2 to
 * 2 and weights from -1 to 1, so what is summed are whole numbers of quarters and no sum reaches
 * 2^24 of them: every way to compute gives the same bits, and they are compared so. */
#ifndef SOAK_GRAPH_H
#define SOAK_GRAPH_H

#include "soak/net.h"

typedef enum soak_value {
  GRAPH_X, /* these two are new in each step */
  GRAPH_TARGET,
  GRAPH_FILTERS, /* these four go on from run to run on the device */
  GRAPH_WEIGHTS,
  GRAPH_FILTERS_V,
  GRAPH_WEIGHTS_V,
  GRAPH_MAPS,
  GRAPH_MAXIMA,
  GRAPH_MEANS,
  GRAPH_PRODUCT,
  GRAPH_LOSS,
  GRAPH_DX,
  GRAPH_DFILTERS,
  GRAPH_DWEIGHTS,
  GRAPH_VALUES
} soak_value;

/* A context with its tensors and its capture. */
typedef struct soak_side {
  convoy_context *context;
  convoy_tensor *tensor[GRAPH_VALUES];
  convoy_graph *step;
} soak_side;

typedef struct soak_graph {
  soak_net *net;
  bool used; /* the device carries out programs */
  int64_t count[GRAPH_VALUES];
  float *host[GRAPH_VALUES], *exact[GRAPH_VALUES]; /* read from the device, from the CPU */
  soak_side device, cpu;
} soak_graph;

bool soak_graph_make(soak_graph *graph, soak_net *net, bool used);
void soak_graph_free(soak_graph *graph);

/* Carries out step `step` on the device and on the CPU: the operations to the loss one by one, then
 * some runs of the captured step without a look at what lies between. *wrong grows by the elements
 * that differ. */
convoy_status soak_graph_step(soak_graph *graph, uint64_t step, int64_t *wrong);

#endif
