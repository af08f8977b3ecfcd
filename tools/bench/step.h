/* A network's training step: data that are the same everywhere, and a captured step on one device.
 */
#ifndef BENCH_STEP_H
#define BENCH_STEP_H

#include "nets/step.h"

enum { BENCH_FED = 1 + NET_OUTPUTS };

typedef struct bench_net {
  const struct net_kind *kind;
  struct net_sizes sizes;
  void *
      data[BENCH_FED]; /* the input, then labels or gradients of maps; NULL until there is a step */
  int64_t count[BENCH_FED];
} bench_net;

typedef struct bench_step {
  struct net net;
  struct net_step step;
  convoy_tensor *fed[BENCH_FED]; /* what gets the data */
  int feds;
  convoy_graph_plan plan;
  double capture_seconds; /* of capturing and planning, parameters were there before */
} bench_step;

/* By name, for a batch; `extent` of images instead of the usual one, unless it is 0. Data are made
 * with the first step. */
bench_net bench_net_of(const char *name, int64_t batch, int64_t extent);
void bench_net_free(bench_net *net);
/* "resnet50 b16 3x224x224" */
void bench_net_text(const bench_net *net, char *text, size_t size);

/* Captures the step, with the same parameters each time. On failure nothing is left. */
convoy_status bench_step_make(bench_net *net, convoy_context *context, bench_step *out);
void bench_step_free(bench_step *step);

/* Gives it the data: a new batch, as far as the device knows. */
convoy_status bench_step_feed(const bench_net *net, const bench_step *step);
convoy_status bench_step_run(const bench_step *step);

#endif
