#include "compare.h"

#include <convoy/convoy.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "progress.h"

#define MAX_DEVICES 16
#define DEFAULT_STEPS 20
/* Two orders of summation differ by some 1e-6 of the largest gradient. */
#define LARGEST_DIFFERENCE 1e-4

struct contestant {
  convoy_device_info info;
  convoy_context *context;
  struct net net;
  struct net_graph step;
  float *gradients;  /* of the last step */
  double seconds;    /* of all steps but the first, which compiles and warms up */
  double difference; /* largest over the steps */
  bool failed;
};

struct contest {
  struct contestant devices[MAX_DEVICES]; /* the CPU engine first */
  int32_t count;
  int64_t batch, steps;
  const uint8_t *pixels, *labels; /* of the batch */
  float rate;                     /* of the step */
  float *weights, *momentum;      /* as they are before the step */
};

static bool good(struct contestant *c, convoy_status status) {
  if (!status) return true;
  printf("%-8s %s: %s\n", c->info.id, convoy_status_name(status), convoy_last_error());
  c->failed = true;
  return false;
}

/* A device must answer for itself here: no failover. */
static void open_contestant(struct contestant *c, enum net_task task, int64_t batch) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = c->info.id;
  options.failover = CONVOY_NO;
  c->gradients = calloc((size_t)net_size(), sizeof(float));
  c->failed = !c->gradients || !good(c, convoy_open(&options, &c->context)) ||
              !good(c, net_open(&c->net, c->context)) ||
              !good(c, net_capture(&c->net, task, batch, &c->step));
}

static void close_contestant(struct contestant *c) {
  net_graph_free(&c->step);
  net_close(&c->net);
  convoy_close(c->context);
  free(c->gradients);
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

static int64_t elements(const convoy_tensor *tensor) {
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  int32_t dims = 0;
  convoy_tensor_shape(tensor, shape, &dims);
  for (int32_t i = 0; i < dims; i++) count *= shape[i];
  return count;
}

/* An input of a ReLU that rounding moves across zero changes a gradient by far more than rounding,
 * on two correct devices alike: the CPU's ReLUs decide for all. */
static convoy_status share_gates(const struct contest *contest, struct contestant *c) {
  convoy_tensor *const *from = contest->devices[0].step.gates;
  convoy_status status = CONVOY_OK;
  for (int i = 0; !status && i < NET_LAYERS; i++) {
    if (!from[i]) continue;
    int64_t count = elements(from[i]);
    void *values = NULL;
    status = convoy_host_alloc(c->context, (size_t)count * sizeof(float), &values);
    if (!status) status = convoy_tensor_read(from[i], values, count);
    if (!status) status = convoy_tensor_write(c->step.gates[i], values, count);
    convoy_host_free(c->context, values);
  }
  return status;
}

static convoy_status run_step(const struct contest *contest, struct contestant *c) {
  convoy_status status = convoy_tensor_write(c->net.rate, &contest->rate, 1);
  if (!status) status = net_run(&c->step, contest->pixels, contest->labels);
  return status ? status : net_read_gradients(&c->step, c->gradients);
}

static void run_contestant(const struct contest *contest, struct contestant *c, bool timed) {
  const struct contestant *reference = &contest->devices[0];
  if (c->failed) return;
  if (c != reference && (!good(c, net_write(&c->net, contest->weights, contest->momentum)) ||
                         !good(c, share_gates(contest, c)))) {
    return;
  }
  double began = seconds_now();
  if (!good(c, run_step(contest, c))) return;
  if (timed) c->seconds += seconds_now() - began;
  double difference = gradient_difference(c->gradients, reference->gradients, net_size());
  c->difference = fmax(c->difference, difference);
}

/* The CPU engine computes first, and the others begin each step with its weights. */
static void run_steps(struct contest *contest, const struct image_set *training) {
  struct contestant *reference = &contest->devices[0];
  int64_t batch = contest->batch;
  for (int64_t step = 0; step < contest->steps && !reference->failed; step++) {
    int64_t first = step * batch % (training->count - batch + 1);
    contest->pixels = training->pixels + first * IMAGE_PIXELS;
    contest->labels = training->labels + first;
    contest->rate = net_rate(step, contest->steps);
    if (!good(reference, net_read(&reference->net, contest->weights, contest->momentum))) return;
    for (int32_t i = 0; i < contest->count; i++) {
      run_contestant(contest, &contest->devices[i], step > 0);
    }
  }
}

static bool set_weights(struct contest *contest, const struct checkpoint *from, uint64_t seed) {
  struct contestant *reference = &contest->devices[0];
  if (reference->failed) return false;
  contest->weights = calloc((size_t)net_size(), sizeof(float));
  contest->momentum = calloc((size_t)net_size(), sizeof(float));
  if (!contest->weights || !contest->momentum) return false;
  struct random_state random;
  random_seed(&random, seed);
  net_initial(&random, contest->weights);
  const float *weights = from && from->parameters == net_size() ? from->weights : contest->weights;
  return good(reference, net_write(&reference->net, weights, contest->momentum));
}

static bool report(const struct contest *contest) {
  int64_t batch = contest->batch, steps = contest->steps;
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
  struct contest contest = {.batch = options->plan.batch};
  contest.steps = options->steps > 1 ? options->steps : DEFAULT_STEPS;
  find_devices(&contest);
  for (int32_t i = 0; i < contest.count; i++) {
    open_contestant(&contest.devices[i], i > 0 ? NET_FOLLOW : NET_DECIDE, contest.batch);
  }
  bool all = set_weights(&contest, from, (uint64_t)options->plan.seed);
  if (all) {
    run_steps(&contest, training);
    all = report(&contest);
  }
  for (int32_t i = 0; i < contest.count; i++) close_contestant(&contest.devices[i]);
  free(contest.weights);
  free(contest.momentum);
  return all ? 0 : 1;
}
