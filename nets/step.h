/* Networks by name, and what is done with them as graphs: a whole step of training, or an
 * evaluation, for a batch and images of given sizes. */
#ifndef NETS_STEP_H
#define NETS_STEP_H

#include "nets.h"

enum { NET_OUTPUTS = 3 };

struct net_kind {
  const char *name;
  int64_t input[3]; /* usual extents of an image: channels, height, width */
  int64_t classes;
  double dropout;
  double decay; /* of weights */
  int outputs;  /* 1: logits, trained on labels; else maps, whose gradients are given */
  void (*forward)(struct net_capture *c, struct net_value x, int64_t classes,
                  struct net_value *outputs);
};

/* NULL: there is none of this name; the i-th, from 0 on, and NULL past the end. */
const struct net_kind *net_kind_named(const char *name);
const struct net_kind *net_kind_at(int i);

struct net_sizes {
  int64_t batch, classes;
  int64_t input[3];
};

/* A network's step. Its graph reads `input` and, in training, `labels` or `given`, and gives
 * `outputs`, the loss, the gradients and, with net->rate, all parameters new values. */
struct net_step {
  convoy_graph *graph;
  convoy_tensor *input;              /* float32 [batch][channels][height][width] */
  convoy_tensor *labels;             /* int32 [batch]; NULL: there are maps */
  convoy_tensor *given[NET_OUTPUTS]; /* gradients of maps, NULL: there are logits */
  convoy_tensor *outputs[NET_OUTPUTS];
  convoy_tensor *loss; /* one number: cross entropy, or the sum of maps times their gradients */
  convoy_tensor **gradients; /* of trained parameters, in their order; NULL: not kept */
};

/* Captures it on a context on which nothing is captured; `keep` the gradients. */
convoy_status net_step_make(struct net *net, const struct net_kind *kind,
                            const struct net_sizes *sizes, bool training, bool keep,
                            struct net_step *out);
void net_step_free(const struct net *net, struct net_step *step);

#endif
