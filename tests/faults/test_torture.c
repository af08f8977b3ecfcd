/* Torture: the n-th call of each OpenCL function that the engine uses fails, hangs, kills the
 * worker or returns wrong data, for every n of a training step. Each time the step's results are
 * the CPU's to the bit, and no public call waits longer than its budget allows.
 *
 *   test_torture [--actions fail,crash,...] [--ways host,tensors,graph,planned] [--full]
 *                [--device NAME] [--shard I/N] [--seed N] [--only RULE] [--log FILE] [--count]
 *
 * Without --full: the first, second and last call of each function and five others, by seed, on
 * host memory, on tensors, on tensors as a captured graph, and in a third run of that graph, which
 * is one command of the device, in turns. The layer counts the calls of steps in which nothing
 * fails; that is how n's range is known. A fault that does not strike all the same is listed and
 * counted. With --count no more than the calls of a step is shown.
 *
 * Every result is verified, and so every lie is found; but not in runs by one command, of which
 * there are samples: they get the other faults. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/now.h"
#include "common/random.h"
#include "faults/layer/control.h"
#include "faults/layer/rules.h"
#include "faults/net.h"
#include "faults/torture.h"

enum { SEED = 11, SEEDED = 5, COUNTED = 3, TRIES = 3 };

enum way { HOST, TENSORS, GRAPH, PLANNED, WAYS };
static const char *const way_names[WAYS] = {"host", "tensors", "graph", "planned"};
/* Runs of the graph. The first is carried out operation by operation, and once more by one command
 * to be compared. */
static const int runs_of[WAYS] = {[GRAPH] = 1, [PLANNED] = 3};

typedef struct torture {
  const char *device;
  bool full, count_only;
  const char *actions, *ways, *only;
  int shard, shards;
  uint64_t seed;
  FILE *log;
  faults_control *control;
  struct net expected[WAYS];
  uint64_t calls[WAYS][FAULTS_ENTRIES]; /* that every step makes in which nothing fails */
  int turns, cases, struck, failed;
  double longest; /* seconds of a public call */
} torture;

/* ----------------------------------------------------------------------------- a step */

/* Status of the first call that fails, and the longest call's seconds. */
typedef struct step {
  int failed_call;
  char sentence[256];
  double longest;
  int64_t told; /* faults and downgrades in health */
} step;

static void note_time(step *result, double start) {
  const double seconds = test_now() - start;
  if (seconds > result->longest) result->longest = seconds;
}

/* False: it failed. */
static bool note(step *result, int call, double start, convoy_status status) {
  note_time(result, start);
  if (!status) return true;
  result->failed_call = call;
  snprintf(result->sentence, sizeof result->sentence, "%s", convoy_last_error());
  return false;
}

static bool call_all(struct net *net, step *result) {
  for (int call = 0; call < NET_CALLS + NET_OTHERS; call++) {
    const double start = test_now();
    if (!note(result, call, start, net_call(net, call, NULL))) return false;
  }
  return true;
}

/* From now on calls are counted, and strikes the rule, if there is one. */
static void arm(torture *all, const char *rule) {
  faults_control_clear(all->control);
  if (rule) faults_control_set(all->control, rule);
}

/* Noted, and then carried out by one call for each run. In the last one the rule strikes, if it has
 * not been armed before. */
static bool capture_all(torture *all, struct net *net, int way, const char *rule, step *result) {
  convoy_graph *graph = NULL;
  if (runs_of[way] > 1) net_learn_nothing(net);
  convoy_capture_begin(net->context);
  bool done = call_all(net, result);
  done = note(result, NET_CALLS, test_now(), convoy_capture_end(net->context, &graph)) && done;
  for (int run = 0; done && run < runs_of[way]; run++) {
    if (way == PLANNED && run == runs_of[way] - 1) {
      convoy_sync(net->context);
      arm(all, rule);
    }
    const double start = test_now();
    done = note(result, NET_CALLS, start, convoy_graph_run(graph, NULL));
  }
  convoy_graph_free(graph);
  return done;
}

static void run_calls(torture *all, struct net *net, int way, const char *rule, step *result) {
  result->failed_call = -1;
  if (!(runs_of[way] ? capture_all(all, net, way, rule, result) : call_all(net, result))) return;
  const double start = test_now();
  convoy_sync(net->context);
  note_time(result, start);
  net_read(net);
}

/* Host calls find no compiled program and build from source, tensor calls find those of the step
 * before: two ways through the engine. */
static void choose_settings(int way) {
  static int folders;
  char path[128];
  snprintf(path, sizeof path, "%s/programs-%d", getenv("CONVOY_STATE_DIR"), way ? 0 : ++folders);
  setenv("CONVOY_CACHE_DIR", path, 1);
  setenv("CONVOY_VERIFY", way == PLANNED ? "sample" : "all", 1);
}

static step run_step(torture *all, int way, const char *rule, struct net *net) {
  step result = {0};
  choose_settings(way);
  if (way != PLANNED) arm(all, rule);
  const double start = test_now();
  net_open(net, all->device, way, SEED);
  note_time(&result, start);
  run_calls(all, net, way, rule, &result);
  convoy_health health = {.struct_size = sizeof health};
  if (convoy_get_health(net->context, &health) == CONVOY_OK)
    result.told = health.faults + health.downgrades;
  return result;
}

static void print_calls(torture *all) {
  for (int entry = 0; entry < FAULTS_ENTRIES; entry++)
    for (int way = 0; way < WAYS; way++)
      if (all->calls[way][entry])
        printf("%s: %llu calls, %s\n", all->control->name[entry],
               (unsigned long long)all->calls[way][entry], way_names[way]);
}

/* ----------------------------------------------------------------------------- a case */

/* With the reason: how many calls there were. */
static void say_missed(const torture *all, const char *rule, int way) {
  char entry[FAULTS_NAME];
  snprintf(entry, sizeof entry, "%.*s", (int)strcspn(rule, "#="), rule);
  printf("did not strike: --only '%s' --ways %s: the step made %llu calls of %s\n", rule,
         way_names[way], (unsigned long long)faults_control_calls(all->control, entry), entry);
}

static void say(torture *all, const char *rule, int way, const step *result, const char *fault) {
  const bool struck = atomic_load(&all->control->struck) > 0;
  if (!struck) say_missed(all, rule, way);
  if (all->log)
    fprintf(all->log, "%s %s: %s, longest call %.3f s%s%s\n", rule, way_names[way],
            struck ? result->told ? "struck, told" : "struck, absorbed" : "not reached",
            result->longest, fault ? ", " : "", fault ? fault : "");
  if (!fault) return;
  printf("FAILED: %s\n  test_torture --only '%s' --ways %s\n", fault, rule, way_names[way]);
  fflush(stdout);
  all->failed++;
}

/* What is wrong with the step's outcome; "" if nothing is. */
static void judge(const torture *all, int way, const struct net *net, const step *result,
                  char *fault, size_t size) {
  const double budget = atof(TORTURE_BUDGET);
  fault[0] = 0;
  if (result->failed_call >= 0) {
    snprintf(fault, size, "call %d: %s", result->failed_call, result->sentence);
  } else {
    const int array = net_difference(net, &all->expected[way]);
    if (array >= 0) snprintf(fault, size, "array %d differs from the CPU's", array);
  }
  if (!(result->longest <= budget + TORTURE_SLACK))
    snprintf(fault, size, "a call took %.3f s, its budget is %.1f s", result->longest, budget);
}

/* Whether the fault struck. */
static bool try_case(torture *all, const char *rule, int way, bool last_try) {
  struct net net;
  char fault[400];
  const step result = run_step(all, way, rule, &net);
  judge(all, way, &net, &result, fault, sizeof fault);
  net_close(&net);
  if (result.longest > all->longest) all->longest = result.longest;
  const bool struck = atomic_load(&all->control->struck) > 0;
  if (struck || fault[0] || last_try) say(all, rule, way, &result, fault[0] ? fault : NULL);
  return struck || fault[0];
}

/* A step makes some calls more or less often with time: one that was not reached is tried again. */
static void run_case(torture *all, const char *rule, int way) {
  bool struck = false;
  for (int try = 1; try <= TRIES && !struck; try++) struck = try_case(all, rule, way, try == TRIES);
  all->cases++;
  all->struck += struck;
}

/* --------------------------------------------------------------------------- the cases */

/* Whether call n of `last` is among those tried when not all are. */
static bool chosen(const torture *all, int entry, uint64_t n, uint64_t last) {
  if (all->full || n <= 2 || n == last) return true;
  test_random random = {all->seed * 1000 + (uint64_t)entry};
  for (int i = 0; i < SEEDED; i++)
    if ((uint64_t)test_between(&random, 1, (int64_t)last) == n) return true;
  return false;
}

/* All ways that make the call, or one of them in turns. */
static bool goes(const torture *all, int way, int entry, uint64_t n, int turn) {
  if (n > all->calls[way][entry] || !torture_lists(all->ways, way_names[way])) return false;
  return all->full || way == turn || n > all->calls[turn][entry];
}

static void run_call(torture *all, int index, uint64_t n) {
  const char *entry = all->control->name[index];
  for (int action = FAULT_NONE + 1; action < FAULT_ACTIONS; action++) {
    const char *name = fault_action_name((fault_action)action);
    const bool lies = action == FAULT_WRONG || action == FAULT_ZERO;
    if (!torture_lists(all->actions, name) || !fault_action_fits((fault_action)action, entry))
      continue;
    char rule[128];
    snprintf(rule, sizeof rule, "%s#%llu=%s%s", entry, (unsigned long long)n, name,
             action == FAULT_SLOW ? ":50" : "");
    for (int way = 0; way < WAYS; way++) {
      const int turn = (int)((n + (uint64_t)action) % (lies ? PLANNED : WAYS));
      if ((lies && way == PLANNED) || !goes(all, way, index, n, turn)) continue;
      if (all->turns++ % all->shards == all->shard) run_case(all, rule, way);
    }
  }
}

static void run_matrix(torture *all) {
  for (int entry = 0; entry < FAULTS_ENTRIES; entry++) {
    uint64_t last = 0;
    for (int way = 0; way < WAYS; way++)
      if (all->calls[way][entry] > last) last = all->calls[way][entry];
    for (uint64_t n = 1; n <= last; n++)
      if (chosen(all, entry, n, last)) run_call(all, entry, n);
  }
}

/* -------------------------------------------------------------------------- beforehand */

/* How many calls depends on time for some functions: the least of several steps. */
static void count_calls(torture *all, int way, bool first) {
  for (int i = 0; i < FAULTS_ENTRIES; i++) {
    const uint64_t calls = atomic_load(&all->control->calls[i]);
    if (first || calls < all->calls[way][i]) all->calls[way][i] = calls;
  }
}

static void check_unharmed(const torture *all, int way, const step *result, const struct net *net) {
  if (result->failed_call >= 0) fail_msg("without faults: %s", result->sentence);
  if (result->told) fail_msg("without faults: the device was not used");
  const int array = net_difference(net, &all->expected[way]);
  if (array >= 0) fail_msg("without faults: array %d differs from the CPU's", array);
}

/* The CPU's results, and the calls of a step without faults. The first step on the device compiles
 * what the others find in the cache. */
static void prepare(torture *all, int way) {
  torture_set_patience(true);
  struct net *expected = &all->expected[way];
  step result = {0};
  net_open(expected, "cpu", way, SEED);
  run_calls(all, expected, way, NULL, &result);
  if (result.failed_call >= 0) fail_msg("on the CPU: %s", result.sentence);
  for (int round = 0; round < COUNTED + 1; round++) {
    struct net net;
    result = run_step(all, way, NULL, &net);
    if (round > 0) count_calls(all, way, round == 1);
    check_unharmed(all, way, &result, &net);
    net_close(&net);
  }
  if (torture_launches(all->control) < NET_CALLS + NET_OTHERS) fail_msg("the layer was not used");
  torture_set_patience(false);
}

/* --------------------------------------------------------------------------- afterwards */

static int count_descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count;
}

/* No worker is left, dead or alive. */
static bool is_alone(void) {
  return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void run_cases(torture *all) {
  const int descriptors = count_descriptors();
  for (int way = 0; all->only && way < WAYS; way++)
    if (torture_lists(all->ways, way_names[way])) run_case(all, all->only, way);
  if (!all->only) run_matrix(all);
  if (!is_alone()) {
    printf("FAILED: a worker process is left\n");
    all->failed++;
  }
  const int grown = count_descriptors() - descriptors;
  if (grown > 0) {
    printf("FAILED: %d more descriptors are open than before\n", grown);
    all->failed++;
  }
}

static int run_all(void *user, const char *device, faults_control *control) {
  torture *all = user;
  all->device = device;
  all->control = control;
  for (int way = 0; way < WAYS; way++)
    if (torture_lists(all->ways, way_names[way])) prepare(all, way);
  (all->count_only ? print_calls : run_cases)(all);
  for (int way = 0; way < WAYS; way++)
    if (torture_lists(all->ways, way_names[way])) net_close(&all->expected[way]);
  if (all->count_only) return 0;
  printf("torture: cases=%d struck=%d missed=%d failed=%d longest_call_s=%.3f\n", all->cases,
         all->struck, all->cases - all->struck, all->failed, all->longest);
  return all->failed > 0 || all->struck == 0;
}

static bool read_options(torture *all, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    all->full = all->full || strcmp(argv[i], "--full") == 0;
    all->count_only = all->count_only || strcmp(argv[i], "--count") == 0;
    if (strcmp(argv[i], "--full") == 0 || strcmp(argv[i], "--count") == 0) continue;
    if (strcmp(argv[i], "--actions") == 0)
      all->actions = value;
    else if (strcmp(argv[i], "--device") == 0)
      all->device = value;
    else if (strcmp(argv[i], "--ways") == 0)
      all->ways = value;
    else if (strcmp(argv[i], "--only") == 0)
      all->only = value;
    else if (strcmp(argv[i], "--seed") == 0)
      all->seed = strtoull(value, NULL, 10);
    else if (strcmp(argv[i], "--log") == 0 && (all->log = fopen(value, "w")))
      setvbuf(all->log, NULL, _IOLBF, 0);
    else if (strcmp(argv[i], "--shard") != 0 ||
             sscanf(value, "%d/%d", &all->shard, &all->shards) != 2 || all->shards < 1)
      return false;
    i++;
  }
  return true;
}

int main(int argc, char **argv) {
  static torture all = {.device = TORTURE_POCL,
                        .actions = "fail,hang,stall,crash,wrong,zero",
                        .ways = "host,tensors,graph,planned",
                        .shards = 1,
                        .seed = SEED};
  if (!read_options(&all, argc, argv)) {
    fprintf(stderr, "see the top of test_torture.c\n");
    return 2;
  }
  int status = torture_run(all.device, run_all, &all);
  if (all.log) fclose(all.log);
  return status;
}
