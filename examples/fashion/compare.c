#include "fashion/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/progress.h"
#include "fashion/net.h"

#define MAX_DEVICES 16
#define DEFAULT_STEPS 20
/* The first layer's gradient sums 50,000 nearly equal terms of both signs: measured against
 * float64, the CPU engine is off by 2e-6 of the largest gradient, OpenCL by 3e-5, PyTorch
 * by 2.4e-4. */
#define LARGEST_DIFFERENCE 1e-4

struct contestant {
  convoy_device_info info;
  convoy_context *context;
  struct classifier classifier;
  struct batch_graph step;
  convoy_tensor *gates[FASHION_RELUS]; /* where > 0 the ReLU is open */
  convoy_tensor **gradients;           /* of trained parameters */
  bool follows;                        /* its gates are the CPU engine's */
  double seconds;                      /* of all steps but the first, which compiles and warms up */
  double difference;                   /* largest over the steps */
  bool failed;
};

struct contest {
  struct contestant devices[MAX_DEVICES]; /* the CPU engine first */
  int32_t count;
  int64_t batch, steps;
  const uint8_t *pixels; /* of the batch */
  int32_t *labels;
  float rate; /* of the step */
};

static bool good(struct contestant *c, convoy_status status) {
  if (!status) return true;
  printf("%-8s %s: %s\n", c->info.id, convoy_status_name(status), convoy_last_error());
  c->failed = true;
  return false;
}

/* ------------------------------------------------------------------------------------ the step */

/* An input of a ReLU that rounding moves across zero changes a gradient by far more than rounding,
 * on two correct devices alike: the CPU's ReLUs decide for all. */
static struct net_value shared_relu(void *user, struct net_capture *capture, struct net_value x,
                                    int number) {
  struct contestant *c = user;
  if (!c->follows) {
    struct net_value y = net_activate(capture, "relu", x);
    c->gates[number] = net_keep(capture, y);
    return y;
  }
  struct net_value gate = net_temporary(capture, x.dims, x.shape);
  struct net_value y = net_temporary(capture, x.dims, x.shape);
  net_apply(capture, "input x, gate; y = gate > 0 ? x : 0", (const struct net_value[]){x, gate, y});
  c->gates[number] = net_keep(capture, gate);
  return y;
}

static convoy_status capture(struct contestant *c, int64_t batch) {
  struct classifier *classifier = &c->classifier;
  struct net_capture capture;
  convoy_status status = batch_graph_open(classifier, batch, &c->step);
  if (!status) status = net_begin(&capture, &classifier->net, true);
  if (status) return status;
  struct net_value pixels = net_value_of(&capture, c->step.pixels);
  struct net_value logits =
      fashion_forward_with(&capture, pixels, classifier->classes, shared_relu, c);
  c->gradients = net_gradients(&capture, net_cross_entropy(&capture, logits, c->step.labels));
  net_descend(&capture, c->gradients, classifier->decay);
  return net_end(&capture, &c->step.graph);
}

/* A device must answer for itself here: no failover. */
static void open_contestant(struct contestant *c, const struct options *from, bool follows) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = c->info.id;
  options.failover = CONVOY_NO;
  c->follows = follows;
  c->classifier = fashion_classifier;
  c->failed = !good(c, convoy_open(&options, &c->context)) ||
              !good(c, classifier_open(&c->classifier, c->context, (uint64_t)from->plan.seed)) ||
              !good(c, capture(c, from->plan.batch));
}

static void close_contestant(struct contestant *c) {
  net_free_gradients(&c->classifier.net, c->gradients);
  for (int i = 0; i < FASHION_RELUS; i++) convoy_tensor_free(c->gates[i]);
  batch_graph_free(&c->step);
  classifier_close(&c->classifier);
  convoy_close(c->context);
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

/* ---------------------------------------------------------------------------- from one to another
 */

static int64_t elements(const convoy_tensor *tensor) {
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  int32_t dims = 0;
  convoy_tensor_shape(tensor, shape, &dims);
  for (int32_t i = 0; i < dims; i++) count *= shape[i];
  return count;
}

/* The values of one context's tensor for another's. */
static convoy_status copy(convoy_tensor *from, convoy_tensor *to) {
  int64_t count = elements(from);
  float *values = malloc((size_t)count * sizeof *values);
  convoy_status status = values ? convoy_tensor_read(from, values, count) : CONVOY_ERR_MEMORY;
  if (!status) status = convoy_tensor_write(to, values, count);
  free(values);
  return status;
}

static convoy_status copy_parameters(const struct net *from, const struct net *to) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < from->count && !status; i++) {
    const struct net_parameter *one = &from->parameters[i], *other = &to->parameters[i];
    status = copy(one->value, other->value);
    if (!status && one->velocity) status = copy(one->velocity, other->velocity);
  }
  return status;
}

static convoy_status share_gates(const struct contest *contest, struct contestant *c) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < FASHION_RELUS && !status; i++)
    status = copy(contest->devices[0].gates[i], c->gates[i]);
  return status;
}

/* Largest |difference| as a share of the largest |gradient| so far; infinite if one is not finite.
 */
static convoy_status compare(convoy_tensor *got, convoy_tensor *expected, double *largest,
                             double *difference) {
  int64_t count = elements(expected);
  float *values = malloc(2 * (size_t)count * sizeof *values);
  convoy_status status = values ? convoy_tensor_read(got, values, count) : CONVOY_ERR_MEMORY;
  if (!status) status = convoy_tensor_read(expected, values + count, count);
  for (int64_t i = 0; i < count && !status; i++) {
    double apart = fabs((double)values[i] - (double)values[count + i]);
    *difference = isfinite(apart) ? fmax(*difference, apart) : INFINITY;
    *largest = fmax(*largest, fabs((double)values[count + i]));
  }
  free(values);
  return status;
}

static convoy_status compare_gradients(const struct contestant *reference, struct contestant *c) {
  const struct net *net = &c->classifier.net;
  double largest = 0.0, difference = 0.0;
  convoy_status status = CONVOY_OK;
  for (int i = 0, k = 0; i < net->count && !status; i++) {
    if (!net->parameters[i].trained) continue;
    status = compare(c->gradients[k], reference->gradients[k], &largest, &difference);
    k++;
  }
  c->difference = fmax(c->difference, largest > 0.0 ? difference / largest : difference);
  return status;
}

/* --------------------------------------------------------------------------------- the contest */

static convoy_status run_step(const struct contest *contest, struct contestant *c) {
  convoy_status status = convoy_tensor_write(c->classifier.net.rate, &contest->rate, 1);
  if (!status) status = batch_graph_run(&c->step, contest->pixels, contest->labels);
  return status ? status : convoy_sync(c->context);
}

static void run_contestant(struct contest *contest, struct contestant *c, bool timed) {
  struct contestant *reference = &contest->devices[0];
  if (c->failed) return;
  double began = seconds_now();
  if (!good(c, run_step(contest, c))) return;
  if (timed) c->seconds += seconds_now() - began;
  good(c, compare_gradients(reference, c));
}

static bool prepare(struct contest *contest, struct contestant *c) {
  const struct net *from = &contest->devices[0].classifier.net;
  return !c->failed && good(c, copy_parameters(from, &c->classifier.net));
}

/* Weights first, then the CPU engine's step, whose gates the others follow. */
static void run_all(struct contest *contest, bool timed) {
  for (int32_t i = 1; i < contest->count; i++) prepare(contest, &contest->devices[i]);
  run_contestant(contest, &contest->devices[0], timed);
  for (int32_t i = 1; i < contest->count; i++) {
    struct contestant *c = &contest->devices[i];
    if (!c->failed && good(c, share_gates(contest, c))) run_contestant(contest, c, timed);
  }
}

static void run_steps(struct contest *contest, const struct image_set *training) {
  int64_t batch = contest->batch;
  for (int64_t step = 0; step < contest->steps && !contest->devices[0].failed; step++) {
    int64_t first = step * batch % (training->count - batch + 1);
    contest->pixels = training->pixels + first * IMAGE_PIXELS;
    for (int64_t i = 0; i < batch; i++) contest->labels[i] = training->labels[first + i];
    contest->rate = lesson_rate(&fashion_lesson, step, contest->steps);
    run_all(contest, step > 0);
  }
}

static bool load_weights(struct contestant *reference, const char *path) {
  convoy_state *state;
  if (reference->failed || !path) return !reference->failed;
  if (!good(reference, convoy_state_new(reference->context, &state))) return false;
  bool loaded = good(reference, net_add_weights(&reference->classifier.net, state)) &&
                good(reference, convoy_state_load(state, path, CONVOY_STATE_EXTRA));
  convoy_state_free(state);
  return loaded;
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

int compare_devices(const struct options *options, const char *checkpoint,
                    const struct image_set *training) {
  struct contest contest = {.batch = options->plan.batch};
  contest.steps = options->steps > 1 ? options->steps : DEFAULT_STEPS;
  contest.labels = malloc((size_t)contest.batch * sizeof *contest.labels);
  find_devices(&contest);
  for (int32_t i = 0; i < contest.count; i++) open_contestant(&contest.devices[i], options, i > 0);
  bool all = contest.labels && load_weights(&contest.devices[0], checkpoint);
  if (all) {
    run_steps(&contest, training);
    all = report(&contest);
  }
  for (int32_t i = 0; i < contest.count; i++) close_contestant(&contest.devices[i]);
  free(contest.labels);
  return all ? 0 : 1;
}
