/* The network, and what is done with it: each a graph that Convoy carries out by one call.
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

enum { NET_LAYERS = 5, NET_PARAMETERS = 2 * NET_LAYERS, NET_PROGRAMS = 8 };

struct net {
  convoy_context *context;
  convoy_program *programs[NET_PROGRAMS];
  /* Per layer w, then b. */
  convoy_tensor *values[NET_PARAMETERS], *momentum[NET_PARAMETERS];
  convoy_tensor *rate;    /* of learning; one number, as those below */
  convoy_tensor *loss;    /* running mean over the steps; below 0: none yet */
  convoy_tensor *correct; /* answers in evaluations, counted up */
};

enum net_task {
  NET_TRAIN,    /* a step: forward, gradients, new values of all parameters */
  NET_DECIDE,   /* the same; gradients and gates can be read after it */
  NET_FOLLOW,   /* the same with ReLUs whose gates are written before it; gradients can be read */
  NET_EVALUATE, /* forward, and count the correct answers */
};

/* A task for a number of images. */
struct net_graph {
  convoy_graph *graph;
  int64_t images;
  convoy_tensor *pixels, *labels;           /* uint8 */
  convoy_tensor *gates[NET_LAYERS];         /* where > 0 the ReLU is open; NULL: no ReLU */
  convoy_tensor *gradients[NET_PARAMETERS]; /* NULL: not kept */
};

/* Elements of all parameters together. */
int64_t net_size(void);

/* He initialisation of weights[net_size()]. */
void net_initial(struct random_state *random, float *weights);

/* Learning rate of step `step` out of `steps`: it warms up and then falls like a cosine. */
float net_rate(int64_t step, int64_t steps);

convoy_status net_open(struct net *net, convoy_context *context);
void net_close(struct net *net);

/* Copy all parameters, in a row, from or to arrays of net_size() elements. */
convoy_status net_write(struct net *net, const float *weights, const float *momentum);
convoy_status net_read(struct net *net, float *weights, float *momentum);

/* The same of gradients that a graph keeps. */
convoy_status net_read_gradients(struct net_graph *graph, float *gradients);

/* Captures a task. All graphs of a net work on the same parameters. */
convoy_status net_capture(struct net *net, enum net_task task, int64_t images,
                          struct net_graph *out);
void net_graph_free(struct net_graph *graph);

/* Does it with these images; enqueues it only, as convoy_graph_run does. */
convoy_status net_run(const struct net_graph *graph, const uint8_t *pixels, const uint8_t *labels);

#endif
