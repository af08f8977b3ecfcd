/* A network that tells classes of images apart, and its graphs: a step of training, and an
 * evaluation, for a number of images each. All graphs work on the same parameters. */
#ifndef COMMON_CLASSIFIER_H
#define COMMON_CLASSIFIER_H

#include <stdint.h>

#include "nets/layers.h"

struct classifier {
  struct net net;
  int64_t classes;
  int64_t image[3]; /* channels, height, width */
  double decay;     /* of weights */
  /* Logits [n][classes] of pixels, which are 0 to 255. */
  struct net_value (*forward)(struct net_capture *c, struct net_value pixels,
                              const struct classifier *classifier);
  /* Called with new parameters before a training begins; may be NULL. */
  convoy_status (*begin)(const struct classifier *classifier);
  const void *user;       /* for these */
  convoy_tensor *loss;    /* running mean over the steps; below 0: none yet */
  convoy_tensor *correct; /* answers in evaluations, counted up */
};

struct batch_graph {
  convoy_graph *graph; /* NULL: there is none */
  int64_t images;
  convoy_tensor *pixels, *labels; /* uint8 [images][channels][height][width], int32 [images][1] */
};

/* With what stands in it already. */
convoy_status classifier_open(struct classifier *classifier, convoy_context *context,
                              uint64_t seed);
void classifier_close(struct classifier *classifier);

convoy_status classifier_capture(struct classifier *classifier, bool training, int64_t images,
                                 struct batch_graph *out);
/* The tensors alone, for graphs of one's own. */
convoy_status batch_graph_open(const struct classifier *classifier, int64_t images,
                               struct batch_graph *out);
void batch_graph_free(struct batch_graph *graph);
/* Does it with these images; enqueues it only, as convoy_graph_run does. */
convoy_status batch_graph_run(const struct batch_graph *graph, const uint8_t *pixels,
                              const int32_t *labels);

#endif
