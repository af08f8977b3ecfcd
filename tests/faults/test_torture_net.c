/* Torture of a whole network: every 37th call of each OpenCL function of a step of YOLOv8n, on a
 * small image, fails, hangs, stalls, kills the worker or returns wrong data. Each time gradients
 * and updated parameters are those of an undisturbed step from the same weights, to the bit if no
 * fault was told, else no farther from them than twice what is between device and CPU engine; and
 * no public call waits longer than its budget allows.
 *
 *   test_torture_net [--actions fail,stall,...] [--every N] [--shard I/N] [--log FILE]
 *                    [--only RULE --way planned|verified]
 *
 * A step by one command has its results verified in samples only, so lies are told in a step of
 * which all are, operation by operation. One context for each of the two ways: before a fault the
 * device has recovered from the one before, and has carried out a whole step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cmocka.h"
#include "common/now.h"
#include "faults/layer/control.h"
#include "faults/layer/rules.h"
#include "faults/torture.h"
#include "nets/step.h"
#include "nets/tensors.h"

enum { IMAGE = 64, CLASSES = 4, WARM_UP = 3, PATIENCE = 120 /* times a tenth of a second */ };
/* How far an undisturbed step may be from the CPU engine's at most, relative to a tensor's L2 norm.
 * Where maps have four elements batch norms enlarge what rounding leaves by a thousand. */
#define FARTHEST 5e-3

enum way { PLANNED, VERIFIED, WAYS };
static const struct {
  const char *name, *verify;
} ways[WAYS] = {{"planned", "sample"}, {"verified", "all"}};

/* A network's tensors that a step changes, or that come of it: values, velocities, gradients. */
typedef struct tensors {
  convoy_tensor **tensor;
  float **start, **expected; /* on the host; start is NULL of what a step only writes */
  int64_t *count;
  int length;
} tensors;

typedef struct torture {
  const char *device;
  faults_control *control;
  const char *only, *only_way, *actions;
  FILE *log;
  int every, shard, shards;
  convoy_context *context;
  struct net net;
  struct net_step step;
  tensors all;
  float *values; /* as many as the largest tensor has */
  double bound;  /* of what a fault may change */
  uint64_t calls[FAULTS_ENTRIES];
  int cases, struck, failed;
  double longest;
} torture;

/* ------------------------------------------------------------------------------- the network */

static void add(tensors *all, convoy_tensor *tensor, bool starts) {
  int k = all->length++;
  all->tensor[k] = tensor;
  all->count[k] = count_of(tensor);
  all->expected[k] = malloc((size_t)all->count[k] * sizeof(float));
  all->start[k] = starts ? malloc((size_t)all->count[k] * sizeof(float)) : NULL;
  if (starts) good(convoy_tensor_read(tensor, all->start[k], all->count[k]));
}

static void find_tensors(torture *t) {
  size_t most = 3 * (size_t)t->net.count;
  int64_t largest = 0;
  t->all = (tensors){calloc(most, sizeof(convoy_tensor *)), calloc(most, sizeof(float *)),
                     calloc(most, sizeof(float *)), calloc(most, sizeof(int64_t)), 0};
  for (int i = 0, k = 0; i < t->net.count; i++) {
    const struct net_parameter *parameter = &t->net.parameters[i];
    add(&t->all, parameter->value, true);
    if (parameter->velocity) add(&t->all, parameter->velocity, true);
    if (parameter->trained) add(&t->all, t->step.gradients[k++], false);
  }
  for (int k = 0; k < t->all.length; k++)
    if (t->all.count[k] > largest) largest = t->all.count[k];
  t->values = malloc((size_t)largest * sizeof(float));
}

/* Every tensor as it was before the first step. */
static void begin_again(torture *t) {
  for (int k = 0; k < t->all.length; k++)
    if (t->all.start[k])
      good(convoy_tensor_write(t->all.tensor[k], t->all.start[k], t->all.count[k]));
  good(convoy_sync(t->context));
}

/* Seconds of the longest call. */
static double run_step(torture *t) {
  const double start = test_now();
  good(convoy_graph_run(t->step.graph, NULL));
  const double ran = test_now();
  good(convoy_sync(t->context));
  return fmax(ran - start, test_now() - ran);
}

/* Compared with what is expected: the largest relative difference of L2 norms. */
static double difference(torture *t, float *const *expected_values) {
  double largest = 0;
  for (int k = 0; k < t->all.length; k++) {
    double apart = 0, norm = 0;
    good(convoy_tensor_read(t->all.tensor[k], t->values, t->all.count[k]));
    for (int64_t i = 0; i < t->all.count[k]; i++) {
      double expected = (double)expected_values[k][i], d = (double)t->values[i] - expected;
      apart += d * d;
      norm += expected * expected;
    }
    double relative = norm > 0 ? sqrt(apart / norm) : sqrt(apart);
    if (!(relative <= largest)) largest = relative; /* also of what is no number */
  }
  return largest;
}

static void open_net(torture *t, const char *device, int way) {
  const struct net_kind *kind = net_kind_named("yolov8n");
  const struct net_sizes sizes = {1, CLASSES, {3, IMAGE, IMAGE}};
  const float rate = 1e-3f;
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = device;
  options.failover = CONVOY_ON;
  setenv("CONVOY_VERIFY", ways[way].verify, 1);
  good(convoy_open(&options, &t->context));
  good(net_open(&t->net, t->context, 1));
  good(net_step_make(&t->net, kind, &sizes, true, true, &t->step));
  fill(t->step.input, 1.0f);
  for (int i = 0; i < NET_OUTPUTS; i++) fill(t->step.given[i], 0.1f);
  good(convoy_tensor_write(t->net.rate, &rate, 1));
  find_tensors(t);
}

static void close_net(torture *t) {
  for (int k = 0; k < t->all.length; k++) {
    free(t->all.start[k]);
    free(t->all.expected[k]);
  }
  free(t->all.tensor);
  free(t->all.start);
  free(t->all.expected);
  free(t->all.count);
  free(t->values);
  net_step_free(&t->net, &t->step);
  net_close(&t->net);
  convoy_close(t->context);
}

/* ----------------------------------------------------------------------------- undisturbed */

/* Whether a step is the device's alone. */
static bool is_on_device(torture *t) {
  convoy_health before = {.struct_size = sizeof before}, after = before;
  good(convoy_get_health(t->context, &before));
  run_step(t);
  good(convoy_get_health(t->context, &after));
  return after.operations - before.operations ==
             after.device_operations - before.device_operations &&
         after.operations > before.operations;
}

static void wait_for_device(torture *t) {
  const struct timespec tenth = {0, 100000000};
  for (int i = 0; i < PATIENCE; i++) {
    if (is_on_device(t)) return;
    nanosleep(&tenth, NULL);
  }
  fail_msg("the device does not come back");
}

/* What is compiled is in the cache afterwards. */
static void compile(torture *t, int way) {
  torture_set_patience(true);
  faults_control_clear(t->control);
  open_net(t, t->device, way);
  run_step(t);
  close_net(t);
  torture_set_patience(false);
}

/* The CPU engine's step is as right as the device's: twice what is between them a fault may make,
 * after which parts of a step are the CPU's. */
static double find_bound(const torture *t, int way) {
  torture cpu = {.every = 1};
  open_net(&cpu, "cpu", way);
  run_step(&cpu);
  double apart = difference(&cpu, t->all.expected);
  close_net(&cpu);
  if (!(apart <= FARTHEST)) fail_msg("device and CPU engine are %.3g apart", apart);
  return 2 * apart;
}

/* What a step gives and how many calls it makes, after steps in which everything was proved and
 * planned. */
static void prepare(torture *t, int way) {
  compile(t, way);
  open_net(t, t->device, way);
  for (int i = 0; i < WARM_UP; i++) wait_for_device(t);
  begin_again(t);
  faults_control_clear(t->control);
  run_step(t);
  for (int i = 0; i < FAULTS_ENTRIES; i++) t->calls[i] = atomic_load(&t->control->calls[i]);
  for (int k = 0; k < t->all.length; k++)
    good(convoy_tensor_read(t->all.tensor[k], t->all.expected[k], t->all.count[k]));
  begin_again(t);
  run_step(t);
  double twice = difference(t, t->all.expected);
  if (twice != 0) fail_msg("two steps from the same weights are %.3g apart", twice);
  t->bound = find_bound(t, way);
  printf("%s: a fault may make a difference of %.3g\n", ways[way].name, t->bound);
}

/* ----------------------------------------------------------------------------------- cases */

typedef struct outcome {
  bool struck;
  int64_t told;   /* faults and downgrades in health */
  double apart;   /* from the undisturbed step */
  double seconds; /* of the longest public call */
} outcome;

static bool is_right(const torture *t, const outcome *o) {
  return o->apart <= t->bound && (o->told || o->apart == 0) &&
         o->seconds <= atof(TORTURE_BUDGET) + TORTURE_SLACK;
}

static void say(torture *t, const char *rule, int way, const outcome *o) {
  if (t->log)
    fprintf(t->log, "%s %s: %s, %.3g apart, longest call %.3f s\n", rule, ways[way].name,
            !o->struck ? "not reached"
            : o->told  ? "struck, told"
                       : "struck, absorbed",
            o->apart, o->seconds);
  if (is_right(t, o)) return;
  printf("FAILED: %.3g apart (at most %.3g if told, which it is %s), longest call %.3f s\n",
         o->apart, t->bound, o->told ? "" : "not", o->seconds);
  printf("  test_torture_net --only '%s' --way %s\n", rule, ways[way].name);
  fflush(stdout);
  t->failed++;
}

static int64_t told(const torture *t) {
  convoy_health health = {.struct_size = sizeof health};
  good(convoy_get_health(t->context, &health));
  return health.faults + health.downgrades;
}

static void run_case(torture *t, const char *rule, int way) {
  outcome o;
  wait_for_device(t);
  begin_again(t);
  int64_t already = told(t);
  faults_control_clear(t->control);
  faults_control_set(t->control, rule);
  o.seconds = run_step(t);
  o.apart = difference(t, t->all.expected);
  o.told = told(t) - already;
  o.struck = atomic_load(&t->control->struck) > 0;
  faults_control_set(t->control, "");
  t->longest = fmax(t->longest, o.seconds);
  t->cases++;
  t->struck += o.struck;
  say(t, rule, way, &o);
}

static bool lies(int action) {
  return action == FAULT_WRONG || action == FAULT_ZERO;
}

/* By what the case is, since some functions are called more or less often with time. */
static bool is_mine(const torture *t, int entry, uint64_t n, int action) {
  uint64_t number = (uint64_t)entry + n / (uint64_t)t->every + (uint64_t)action;
  return number % (uint64_t)t->shards == (uint64_t)t->shard;
}

static void run_call(torture *t, int way, int entry, uint64_t n) {
  const char *name = t->control->name[entry];
  for (int action = FAULT_NONE + 1; action < FAULT_ACTIONS; action++) {
    char rule[128];
    if (!torture_lists(t->actions, fault_action_name((fault_action)action)) ||
        lies(action) != (way == VERIFIED))
      continue;
    if (!fault_action_fits((fault_action)action, name) || !is_mine(t, entry, n, action)) continue;
    snprintf(rule, sizeof rule, "%s#%llu=%s", name, (unsigned long long)n,
             fault_action_name((fault_action)action));
    run_case(t, rule, way);
  }
}

static void run_way(torture *t, int way) {
  prepare(t, way);
  for (int entry = 0; entry < FAULTS_ENTRIES && !t->only; entry++)
    for (uint64_t n = 1; n <= t->calls[entry]; n += (uint64_t)t->every) run_call(t, way, entry, n);
  if (t->only) run_case(t, t->only, way);
  close_net(t);
}

static int run_all(void *user, const char *device, faults_control *control) {
  torture *t = user;
  t->device = device;
  t->control = control;
  for (int way = 0; way < WAYS; way++)
    if (!t->only || strcmp(t->only_way, ways[way].name) == 0) run_way(t, way);
  printf("torture: cases=%d struck=%d missed=%d failed=%d longest_call_s=%.3f\n", t->cases,
         t->struck, t->cases - t->struck, t->failed, t->longest);
  return t->failed > 0 || t->struck == 0;
}

static bool read_options(torture *t, int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const char *value = argv[i + 1];
    if (strcmp(argv[i], "--every") == 0)
      t->every = atoi(value);
    else if (strcmp(argv[i], "--only") == 0)
      t->only = value;
    else if (strcmp(argv[i], "--actions") == 0)
      t->actions = value;
    else if (strcmp(argv[i], "--way") == 0)
      t->only_way = value;
    else if (strcmp(argv[i], "--log") == 0 && (t->log = fopen(value, "w")))
      setvbuf(t->log, NULL, _IOLBF, 0);
    else if (strcmp(argv[i], "--shard") != 0 || sscanf(value, "%d/%d", &t->shard, &t->shards) != 2)
      return false;
  }
  return argc % 2 == 1 && t->every > 0 && t->shards > 0;
}

int main(int argc, char **argv) {
  static torture all = {.every = 37,
                        .shards = 1,
                        .only_way = "planned",
                        .actions = "fail,hang,stall,crash,wrong,zero"};
  if (!read_options(&all, argc, argv)) {
    fprintf(stderr, "see the top of test_torture_net.c\n");
    return 2;
  }
  int status = torture_run(TORTURE_POCL, run_all, &all);
  if (all.log) fclose(all.log);
  return status;
}
