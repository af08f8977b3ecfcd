/* A compiler that takes its time is no fault: the call returns within its budget, the CPU computes
 * until everything is compiled, the same worker goes on, nothing is held against the device or an
 * algorithm, and few lines say so. A compiler that hangs is ended by its own deadline, and is one.
 * On PoCL, whose compiler the fault layer slows down. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "faults/layer/control.h"

enum { PROGRAMS = 16, ELEMENTS = 24, MOST_LINES = 40 };

static char pocl[16], folder[] = "/tmp/convoy-compiling-XXXXXX";
static faults_control *control;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ------------------------------------------------------------------------------ what is said */

static struct {
  double begin, first_notice; /* seconds after `begin`; 0: none */
  int lines, aside, again;
  char last[512];
} heard;

static void hear(void *user, convoy_log_level level, const char *line) {
  (void)user;
  if (level > CONVOY_LOG_WARNING) return;
  heard.lines++;
  heard.aside += strstr(line, "goes on compiling") != NULL;
  heard.again += strstr(line, "is used again") != NULL;
  if (strstr(line, "compiling programs for") && !heard.first_notice)
    heard.first_notice = now() - heard.begin;
  snprintf(heard.last, sizeof heard.last, "%s", line);
}

/* ------------------------------------------------------------------------------- the training */

/* A step of PROGRAMS programs, of which each reads what the one before has made, and the last is
 * the next step's beginning. Programs have the same bits everywhere. */
typedef struct training {
  convoy_context *context;
  convoy_graph *graph;
  convoy_tensor *w;
} training;

static void good(convoy_status status) {
  if (status) fail_msg("%s", convoy_last_error());
}

static void apply(convoy_context *context, int number, const convoy_tensor *x, convoy_tensor *y) {
  char text[64];
  convoy_program *program;
  snprintf(text, sizeof text, "y = x * 0.%d + %d", 500 + number, number);
  good(convoy_program_parse(text, &program));
  good(convoy_apply(context, program, &x, &y, NULL));
  convoy_program_free(program);
}

static training open_training(const char *device, convoy_switch failover) {
  const int64_t shape[] = {1, 2, 3, 4};
  const convoy_options options = {
      .struct_size = sizeof options, .device = device, .failover = failover};
  float values[ELEMENTS];
  training made;
  convoy_tensor *values_of[PROGRAMS];
  for (int i = 0; i < ELEMENTS; i++) values[i] = (float)i;
  good(convoy_open(&options, &made.context));
  good(convoy_tensor_new(made.context, 4, shape, &made.w));
  good(convoy_tensor_write(made.w, values, ELEMENTS));
  good(convoy_capture_begin(made.context));
  for (int i = 0; i < PROGRAMS - 1; i++) {
    good(convoy_tensor_new(made.context, 4, shape, &values_of[i]));
    apply(made.context, i, i ? values_of[i - 1] : made.w, values_of[i]);
  }
  apply(made.context, PROGRAMS - 1, values_of[PROGRAMS - 2], made.w);
  for (int i = 0; i < PROGRAMS - 1; i++) convoy_tensor_free(values_of[i]);
  good(convoy_capture_end(made.context, &made.graph));
  return made;
}

static void close_training(const training *t) {
  convoy_graph_free(t->graph);
  convoy_tensor_free(t->w);
  convoy_close(t->context);
}

static convoy_run step(const training *t, double *seconds) {
  convoy_run run = CONVOY_RUN_INIT;
  double begin = now();
  good(convoy_graph_run(t->graph, &run));
  *seconds = now() - begin;
  return run;
}

static convoy_health health_of(const training *t) {
  convoy_health health = {.struct_size = sizeof health};
  good(convoy_get_health(t->context, &health));
  return health;
}

/* The same steps on the CPU give the same bits. */
static void check_results(const training *t, int steps) {
  float got[ELEMENTS], wanted[ELEMENTS];
  double seconds;
  training other = open_training("cpu", CONVOY_ON);
  for (int i = 0; i < steps; i++) step(&other, &seconds);
  good(convoy_tensor_read(other.w, wanted, ELEMENTS));
  good(convoy_tensor_read(t->w, got, ELEMENTS));
  close_training(&other);
  assert_memory_equal(got, wanted, sizeof got);
}

/* Steps until the device computes one, no more than that many seconds. Their number, the first
 * included. */
static int train_until_there(const training *t, double most, double *longest) {
  double begin = now(), seconds;
  int steps = 0;
  for (*longest = 0; now() - begin < most; usleep(10000)) {
    convoy_run run = step(t, &seconds);
    if (seconds > *longest) *longest = seconds;
    steps++;
    if (strcmp(run.device, pocl) == 0) return steps;
  }
  fail_msg("the device was not used again within %g s: %s", most, heard.last);
  return 0;
}

/* The table of faults; false: nobody has been entered. */
static bool read_faults(char *text, size_t size) {
  char path[200];
  snprintf(path, sizeof path, "%s/faults.txt", folder);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  text[fread(text, 1, size - 1, file)] = 0;
  fclose(file);
  return strchr(text, '|') != NULL;
}

static void set(const char *budget, const char *deadlines, const char *rules) {
  setenv("CONVOY_DEVICE_WAIT_BUDGET", budget, 1);
  setenv("CONVOY_DEADLINE", deadlines, 1);
  faults_control_set(control, rules);
  memset(&heard, 0, sizeof heard);
  heard.begin = now();
  convoy_set_log(hear, NULL, CONVOY_LOG_WARNING);
}

/* ------------------------------------------------------------------------------------- tests */

static void slow_is_no_fault(void **state) {
  char table[4096];
  double seconds, longest;
  (void)state;
  set("60", "start=30", "");
  training t = open_training(pocl, CONVOY_ON); /* opening is not what is slow here */
  set("1", "start=30", "clBuildProgram=slow:300");
  close_training(&t);
  t = open_training(pocl, CONVOY_ON);
  const int64_t worker = health_of(&t).worker_pid;
  heard.begin = now();
  convoy_run run = step(&t, &seconds);
  assert_string_equal(run.device, "cpu");
  assert_true(run.attempts > 1 && strstr(run.fault, "no more time in the call's budget of 1.0 s"));
  assert_non_null(strstr(run.fault, "went to compiling"));
  assert_true(seconds >= 0.9 && seconds < 2.5);
  const int steps = 1 + train_until_there(&t, 100, &longest);
  assert_true(longest < 2.5);
  const convoy_health health = health_of(&t);
  assert_int_equal(health.faults, 0);
  assert_int_equal(health.deadlines_missed, 0);
  assert_int_equal(health.worker_pid, worker);
  assert_true(health.downgrades >= 1);
  if (read_faults(table, sizeof table)) fail_msg("%s", table);
  assert_true(heard.first_notice > 0 && heard.first_notice < 4.5);
  assert_true(heard.aside >= 1 && heard.aside <= 3 && heard.again >= 1 && heard.again <= 3);
  if (heard.lines > MOST_LINES) fail_msg("%d lines, the last: %s", heard.lines, heard.last);
  check_results(&t, steps);
  close_training(&t);
}

/* One that hangs, the sixth of those to come. */
static void hang_one(void) {
  char rules[120];
  const uint64_t calls = faults_control_calls(control, "clBuildProgram");
  snprintf(rules, sizeof rules, "clBuildProgram#%llu=hang,clBuildProgram=slow:50",
           (unsigned long long)calls + 6);
  faults_control_set(control, rules);
}

static void check_stuck(const char *budget) {
  char table[4096];
  double longest;
  set(budget, "compile=1.5,start=30", "");
  training t = open_training(pocl, CONVOY_ON);
  hang_one();
  const int steps = train_until_there(&t, 100, &longest);
  const convoy_health health = health_of(&t);
  assert_int_equal(health.faults, 1);
  assert_int_equal(health.deadlines_missed, 1);
  assert_true(read_faults(table, sizeof table));
  assert_non_null(strstr(table, "ocl.program"));
  assert_non_null(strstr(table, "no progress within the deadline of 1.5 s"));
  check_results(&t, steps);
  close_training(&t);
}

static void stuck_is_a_fault(void **state) {
  (void)state;
  check_stuck("60");
}

static void stuck_while_nobody_waits_is_a_fault(void **state) {
  (void)state;
  check_stuck("0.5");
}

/* Without failover the call says so, and a later one finds it compiled. */
static void without_failover(void **state) {
  convoy_run run = CONVOY_RUN_INIT;
  (void)state;
  set("1", "start=30", "clBuildProgram=slow:150");
  training t = open_training(pocl, CONVOY_NO);
  convoy_status status = convoy_graph_run(t.graph, &run);
  assert_int_equal(status, CONVOY_ERR_DEADLINE);
  assert_non_null(strstr(convoy_last_error(), "went to compiling"));
  for (double begin = now(); status && now() - begin < 100;)
    status = convoy_graph_run(t.graph, &run);
  good(status);
  assert_string_equal(run.device, pocl);
  assert_int_equal(health_of(&t).faults, 0);
  check_results(&t, 1);
  close_training(&t);
}

static int remove_table(void **state) {
  char path[200];
  (void)state;
  snprintf(path, sizeof path, "%s/faults.txt", folder);
  unlink(path);
  return 0;
}

static void use_settings(void) {
  static const char *const settings[][2] = {{"CONVOY_FAULT_LIMIT", "3"},
                                            {"CONVOY_TUNE", "0"},
                                            {"CONVOY_GRAPH_PASSES", "none"},
                                            {"CONVOY_THREADS", "1"},
                                            {"OPENCL_LAYERS", TEST_LAYER}};
  char path[200];
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    setenv(settings[i][0], settings[i][1], 1);
  setenv("CONVOY_STATE_DIR", folder, 1);
  snprintf(path, sizeof path, "%s/cache", folder);
  setenv("CONVOY_CACHE_DIR", path, 1);
  setenv("POCL_CACHE_DIR", path, 1);
  snprintf(path, sizeof path, "%s/calls", folder);
  setenv("CONVOY_FAULT_FILE", path, 1);
  control = faults_control_open(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(slow_is_no_fault, remove_table),
      cmocka_unit_test_setup(stuck_is_a_fault, remove_table),
      cmocka_unit_test_setup(stuck_while_nobody_waits_is_a_fault, remove_table),
      cmocka_unit_test_setup(without_failover, remove_table),
  };
  char command[200];
  if (!mkdtemp(folder)) return 2;
  use_settings();
  int status = control ? test_find("pocl", pocl, sizeof pocl) : 2;
  if (!status) status = cmocka_run_group_tests(tests, NULL, NULL);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) || status;
}
