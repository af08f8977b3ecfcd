#include "compare.h"

#include <convoy/convoy.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "layers.h"
#include "net.h"
#include "progress.h"
#include "sgd.h"

#define MAX_DEVICES 16
#define DEFAULT_STEPS 20
/* Two orders of summation differ by some 1e-6 of the largest gradient. */
#define LARGEST_DIFFERENCE 1e-4

struct contestant {
  convoy_device_info info;
  convoy_context *context;
  struct net net;
  double seconds;    /* of all steps but the first, which compiles and warms up */
  double difference; /* largest over the steps */
  bool failed;
};

struct contest {
  struct contestant devices[MAX_DEVICES]; /* the CPU engine first */
  int32_t count;
  const uint8_t *labels; /* of the batch */
  float *momentum;
};

static bool good(struct contestant *c, convoy_status status) {
  if (!status) return true;
  printf("%-8s %s: %s\n", c->info.id, convoy_status_name(status), convoy_last_error());
  c->failed = true;
  return false;
}

/* A device must answer for itself here: no failover. */
static void open_contestant(struct contestant *c, int64_t batch) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = c->info.id;
  options.failover = CONVOY_NO;
  if (good(c, convoy_open(&options, &c->context))) good(c, net_open(&c->net, c->context, batch));
}

/* Every device but simulators, which are thousands of times slower than what they simulate. */
static void find_devices(struct contest *contest) {
  convoy_device_info found[MAX_DEVICES] = {{.struct_size = sizeof found[0]}};
  char why[256] = "";
  int32_t count = 0;
  convoy_devices(NULL, found, MAX_DEVICES, &count, why, sizeof why);
  if (why[0]) printf("only the CPU engine: %s\n", why);
  for (int32_t i = 0; i < count && i < MAX_DEVICES; i++) {
    if (!found[i].simulator) contest->devices[contest->count++].info = found[i];
  }
}

static convoy_status compute(struct net *net, const uint8_t *labels, int64_t batch) {
  convoy_status status = net_forward(net, batch);
  if (status) return status;
  softmax_loss(net->logits, labels, batch, CLASSES, net->dlogits);
  return net_backward(net, batch);
}

/* Largest |difference| as a share of the largest |gradient|; infinite if one is not finite. */
static double gradient_difference(const float *got, const float *expected, int64_t count) {
  double largest = 0.0, difference = 0.0;
  for (int64_t i = 0; i < count; i++) {
    double apart = fabs((double)got[i] - (double)expected[i]);
    if (!isfinite(apart)) return INFINITY;
    difference = fmax(difference, apart);
    largest = fmax(largest, fabs((double)expected[i]));
  }
  return largest > 0.0 ? difference / largest : difference;
}

/* An input of a ReLU that rounding moves across zero changes a gradient by far more than rounding, on
 * two correct devices alike: the CPU's ReLUs decide for all. */
static void share_relus(struct net *net, const struct net *reference) {
  for (int i = 0; i < NET_LAYERS; i++) net->layers[i].open = reference->layers[i].y;
}

static void run_contestant(const struct contest *contest, struct contestant *c, int64_t batch,
                           bool timed) {
  const struct net *reference = &contest->devices[0].net;
  if (c->failed) return;
  if (&c->net != reference) {
    memcpy(c->net.input, reference->input, (size_t)(batch * IMAGE_PIXELS) * sizeof(float));
    memcpy(c->net.weights, reference->weights, (size_t)reference->parameters * sizeof(float));
    share_relus(&c->net, reference);
  }
  double began = seconds_now();
  if (!good(c, compute(&c->net, contest->labels, batch))) return;
  if (timed) c->seconds += seconds_now() - began;
  double difference =
      gradient_difference(c->net.gradients, reference->gradients, reference->parameters);
  c->difference = fmax(c->difference, difference);
}

/* The CPU engine computes first, and its gradients move the weights for all. */
static void run_steps(struct contest *contest, const struct image_set *training, int64_t batch,
                      int64_t steps) {
  struct net *reference = &contest->devices[0].net;
  for (int64_t step = 0; step < steps && !contest->devices[0].failed; step++) {
    int64_t first = step * batch % (training->count - batch + 1);
    batch_take(training, first, batch, reference->input);
    contest->labels = training->labels + first;
    for (int32_t i = 0; i < contest->count; i++) {
      run_contestant(contest, &contest->devices[i], batch, step > 0);
    }
    sgd_step(sgd_rate(step, steps), reference->gradients, contest->momentum, reference->weights,
             reference->parameters);
  }
}

static bool set_weights(struct contest *contest, const struct checkpoint *from, uint64_t seed) {
  struct net *reference = &contest->devices[0].net;
  if (contest->devices[0].failed) return false;
  contest->momentum = calloc((size_t)reference->parameters, sizeof(float));
  if (!contest->momentum) return false;
  struct random_state random;
  random_seed(&random, seed);
  net_init(reference, &random);
  if (from && from->parameters == reference->parameters) {
    memcpy(reference->weights, from->weights, (size_t)from->parameters * sizeof(float));
  }
  return true;
}

static bool report(const struct contest *contest, int64_t batch, int64_t steps) {
  bool all = true;
  printf("%-8s %12s  %-22s %s\n", "device", "images/s", "largest difference", "name");
  for (int32_t i = 0; i < contest->count; i++) {
    const struct contestant *c = &contest->devices[i];
    bool right = !c->failed && c->difference <= LARGEST_DIFFERENCE;
    all = all && right;
    if (c->failed) continue;
    printf("%-8s %12.0f  %-22.3g %s%s\n", c->info.id, (double)((steps - 1) * batch) / c->seconds,
           c->difference, c->info.name, right ? "" : "  WRONG");
  }
  printf(
      "(%lld steps of %lld images; differences of one step's gradients from the CPU engine's,\n"
      "as a share of the largest gradient; at most %g is right)\n",
      (long long)steps, (long long)batch, LARGEST_DIFFERENCE);
  return all;
}

int compare_devices(const struct options *options, const struct checkpoint *from,
                    const struct image_set *training) {
  struct contest contest = {0};
  int64_t batch = options->plan.batch;
  int64_t steps = options->steps > 1 ? options->steps : DEFAULT_STEPS;
  find_devices(&contest);
  for (int32_t i = 0; i < contest.count; i++) open_contestant(&contest.devices[i], batch);
  bool all = set_weights(&contest, from, (uint64_t)options->plan.seed);
  if (all) {
    run_steps(&contest, training, batch, steps);
    all = report(&contest, batch, steps);
  }
  for (int32_t i = 0; i < contest.count; i++) {
    net_close(&contest.devices[i].net);
    convoy_close(contest.devices[i].context);
  }
  free(contest.momentum);
  return all ? 0 : 1;
}
