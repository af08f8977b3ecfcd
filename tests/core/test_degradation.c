/* Faults have consequences: step by step, across contexts and processes, until they are forgiven. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/faults/fault_file.h"
#include "core/open.h"
#include "os/os.h"

/* The seam: in place of src/os/date.c. This program's date is what the test says. */
static int64_t date;
int64_t cvy_date(void) {
  return date;
}
void cvy_calendar(char *text, size_t size) {
  snprintf(text, size, "%lld", (long long)date);
}

static char folder[64];

static int prepare(void **state) {
  (void)state;
  strcpy(folder, "/tmp/convoy-degradation-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  setenv("CONVOY_STATE_DIR", folder, 1);
  unsetenv("CONVOY_FAULT_LIMIT");
  date = 1800000000;
  fake_reset();
  return 0;
}

static int clean(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static const int64_t w_shape[] = {1, 1, 2};
static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[] = {1, 10};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static convoy_context *open_fake(convoy_switch failover) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake";
  options.failover = (int32_t)failover;
  options.tune = CONVOY_NO;
  options.threads = 1;
  options.verify = CONVOY_VERIFY_ALL;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

/* Which algorithm computed it, right in any case. */
static convoy_run run_width(convoy_context *context, int64_t width) {
  const int64_t x_shape[] = {1, 1, width};
  convoy_run run = CONVOY_RUN_INIT;
  float y[8];
  assert_int_equal(convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, &run),
                   CONVOY_OK);
  for (int i = 0; i + 1 < width; i++) assert_true(y[i] == x[i] + 10 * x[i + 1]);
  return run;
}

static void expect_device(convoy_context *context, const char *algorithm) {
  convoy_run run = run_width(context, 4);
  assert_string_equal(run.algorithm, algorithm);
  assert_string_equal(run.device, "fake:1");
  assert_int_equal(run.attempts, 1);
}

static void expect_cpu(convoy_context *context, int attempts) {
  convoy_run run = run_width(context, 4);
  assert_string_equal(run.device, "cpu");
  assert_int_equal(run.attempts, attempts);
}

/* Makes `rows` lie until `times` faults are recorded. */
static void let_lie(convoy_context *context, uint32_t rows, int times) {
  fake.lie = FAKE_WRONG;
  fake.lie_rows = rows;
  for (int i = 0; i < times; i++) expect_cpu(context, 2);
}

static void faults_step_down_to_the_cpu(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_ON);
  expect_device(context, "fake.tiled");
  let_lie(context, 1, 3);
  expect_device(context, "fake.direct");
  assert_int_equal(health_of(context).downgrades, 1);
  let_lie(context, 2, 3);
  expect_cpu(context, 1);
  expect_cpu(context, 1);
  assert_int_equal(health_of(context).downgrades, 2); /* told once a step */
  assert_int_equal(health_of(context).wrong_results, 6);
  /* A class that has done nothing wrong, and a row asked for by name. */
  fake.lie = FAKE_HONEST;
  assert_string_equal(run_width(context, 9).algorithm, "fake.tiled");
  assert_int_equal(convoy_set_algorithm(context, "fake.tiled"), CONVOY_OK);
  expect_device(context, "fake.tiled");
  convoy_close(context);
}

/* What went wrong between the processes is no algorithm's fault, nor the device's. */
static void lost_messages_blame_nobody(void **state) {
  char text[200];
  (void)state;
  convoy_context *context = open_fake(CONVOY_ON);
  fake.fail_status = CONVOY_ERR_IO;
  for (int i = 0; i < 4; i++) {
    expect_device(context, "fake.tiled");
    fake.fail_at = fake_seen.commands + 6;
    expect_cpu(context, 2);
  }
  assert_int_equal(health_of(context).faults, 4); /* they are told all the same */
  assert_int_equal(convoy_fault_table(NULL, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, "");
  convoy_close(context);
}

static void count_step_down(void *user, convoy_log_level level, const char *line) {
  (void)level;
  if (strstr(line, "failed 3 times")) ++*(int *)user;
}

/* A class is told from another by the logarithms of its extents. */
static void run_class(convoy_context *context, int number) {
  enum { POWERS = 5 }; /* of 2, for either number of channels */
  static float in[16 * 128], filters[16 * 16], out[16 * 128];
  const int64_t c = INT64_C(1) << number % POWERS, k = INT64_C(1) << number / POWERS % POWERS;
  const int64_t in_shape[] = {1, c, INT64_C(1) << number / POWERS / POWERS};
  const int64_t filter_shape[] = {k, c, 1};
  assert_int_equal(convoy_forward_host(context, &conv, in_shape, in, filter_shape, filters, NULL,
                                       NULL, out, NULL),
                   CONVOY_OK);
}

/* A network has many classes and goes round them: each has its line once, not with every step. */
static void each_class_is_told_once(void **state) {
  enum { CLASSES = 200, STEPS = 3 };
  const cvy_fault_entry device = {.device = "Fake GPU One",
                                  .driver = "1.0",
                                  .algorithm = "*",
                                  .shape_class = "*",
                                  .level = CVY_LEVEL_CONSERVATIVE,
                                  .count = 3,
                                  .last = date,
                                  .reason = "the test"};
  static cvy_fault_table unused;
  int told = 0;
  (void)state;
  cvy_fault_table_note(&unused, &device);
  convoy_context *context = open_fake(CONVOY_ON);
  convoy_set_log(count_step_down, &told, CONVOY_LOG_WARNING);
  for (int i = 0; i < STEPS * CLASSES; i++) run_class(context, i % CLASSES);
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  assert_int_equal(told, CLASSES);
  assert_int_equal(health_of(context).downgrades, CLASSES);
  convoy_close(context);
}

/* Three faults at command `command` of an operation: allocate and write x and w, allocate y, run. */
static void check_blamed(bool worker_gone, int64_t command) {
  convoy_context *context = open_fake(CONVOY_ON);
  fake.worker_gone = worker_gone;
  for (int i = 0; i < 3; i++) {
    expect_device(context, "fake.tiled");
    fake.fail_at = fake_seen.commands + command;
    expect_cpu(context, 2);
  }
  expect_device(context, "fake.direct");
  assert_string_equal(run_width(context, 9).algorithm, "fake.tiled");
  convoy_close(context);
}

/* Also faults that are no lies, and they belong to the operation that failed. */
static void crashes_count_too(void **state) {
  (void)state;
  check_blamed(false, 6);
}

/* A worker that is gone has told no more than what was done for certain: here all but what the fake device
 * fails at, which is the allocation of y. */
static void the_first_operation_in_doubt_is_blamed(void **state) {
  (void)state;
  check_blamed(true, 5);
}

/* Padding counts as zero, and zero times infinity is no number: by the definition a padded place has no
 * part in a sum, in the algorithms of a device it may. */
static void infinite_operands_prove_nothing(void **state) {
  (void)state;
  convoy_conv padded = CONVOY_CONV_INIT(1);
  const int64_t x_shape[] = {1, 1, 4};
  const float endless[] = {1, INFINITY, 3, 4};
  convoy_context *context = open_fake(CONVOY_ON);
  float y[5];
  padded.pad_begin[0] = 1;
  fake.lie = FAKE_NAN;
  fake.lie_rows = 3;
  for (int i = 0; i < 3; i++) {
    convoy_run run = CONVOY_RUN_INIT;
    assert_int_equal(
        convoy_forward_host(context, &padded, x_shape, endless, w_shape, w, NULL, NULL, y, &run),
        CONVOY_OK);
    assert_string_equal(run.device, "fake:1");
  }
  assert_int_equal(health_of(context).wrong_results, 0);
  expect_cpu(context, 2); /* finite ones do */
  convoy_close(context);
}

static void plan_shows_the_step(void **state) {
  (void)state;
  const int64_t x_shape[] = {1, 1, 4};
  convoy_plan plan = {.struct_size = sizeof plan};
  convoy_context *context = open_fake(CONVOY_ON);
  let_lie(context, 1, 3);
  assert_int_equal(
      convoy_plan_problem(context, NULL, &conv, CONVOY_FORWARD, x_shape, w_shape, &plan),
      CONVOY_OK);
  assert_string_equal(plan.algorithm, "fake.direct");
  let_lie(context, 2, 3);
  assert_int_equal(
      convoy_plan_problem(context, NULL, &conv, CONVOY_FORWARD, x_shape, w_shape, &plan),
      CONVOY_OK);
  assert_false(plan.accepted);
  assert_non_null(strstr(plan.reason, "after faults"));
  convoy_close(context);
}

static void the_table_outlives_the_context(void **state) {
  (void)state;
  char text[4096];
  convoy_context *context = open_fake(CONVOY_ON);
  let_lie(context, 1, 3);
  convoy_close(context);
  context = open_fake(CONVOY_ON);
  fake.lie = FAKE_HONEST;
  expect_device(context, "fake.direct");
  assert_int_equal(convoy_fault_table("Fake GPU", text, sizeof text), CONVOY_OK);
  assert_non_null(strstr(text, "3 with fake.tiled on n1c1"));
  convoy_close(context);

  date += CVY_FAULT_QUIET; /* forgiven */
  context = open_fake(CONVOY_ON);
  expect_device(context, "fake.tiled");
  let_lie(context, 1, 3);
  convoy_close(context);

  assert_int_equal(convoy_fault_table_clear("Fake GPU"), CONVOY_OK);
  assert_int_equal(convoy_fault_table(NULL, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, "");
  context = open_fake(CONVOY_ON);
  fake.lie = FAKE_HONEST;
  expect_device(context, "fake.tiled");
  convoy_close(context);
}

/* A day passes while the context is open. */
static void quiet_time_forgives(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_ON);
  let_lie(context, 1, 3);
  fake.lie = FAKE_HONEST;
  expect_device(context, "fake.direct");
  date += CVY_FAULT_QUIET;
  expect_device(context, "fake.tiled");
  convoy_close(context);
}

/* Who measures or tests does not want to be protected. */
static void nothing_is_recorded_without_failover(void **state) {
  (void)state;
  const int64_t x_shape[] = {1, 1, 4};
  char text[256];
  float y[3];
  convoy_context *context = open_fake(CONVOY_NO);
  fake.lie = FAKE_WRONG;
  for (int i = 0; i < 5; i++) {
    assert_int_equal(
        convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL),
        CONVOY_ERR_WRONG);
  }
  convoy_close(context);
  assert_int_equal(convoy_fault_table(NULL, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, "");
  setenv("CONVOY_FAULT_LIMIT", "0", 1); /* likewise */
  context = open_fake(CONVOY_ON);
  let_lie(context, 0, 8);
  convoy_close(context);
  assert_int_equal(convoy_fault_table(NULL, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, "");
}

/* ---------------------------------------------------------------------------------- the file */

static int lines;
static void count_line(void *user, convoy_log_level level, const char *line) {
  (void)user;
  (void)level;
  lines += strstr(line, "ignored") || strstr(line, "not recorded");
}

static const cvy_fault_entry one = {.device = "A GPU",
                                    .driver = "1.0",
                                    .algorithm = "t",
                                    .shape_class = "c",
                                    .level = CVY_LEVEL_TUNED,
                                    .count = 1,
                                    .last = 1800000000,
                                    .reason = "it hung"};

static void a_corrupt_table_is_ignored_with_one_line(void **state) {
  (void)state;
  char path[128];
  static cvy_fault_table table;
  snprintf(path, sizeof path, "%s/faults.txt", folder);
  assert_int_equal(cvy_file_write(path, "\xff\xfe rubbish\n", 11), CONVOY_OK);
  lines = 0;
  convoy_set_log(count_line, NULL, CONVOY_LOG_WARNING);
  cvy_fault_table_load(&table);
  assert_int_equal(table.count, 0);
  assert_int_equal(lines, 1);
  cvy_fault_table_note(&table, &one); /* and the next fault makes a good one of it */
  cvy_fault_table_load(&table);
  assert_int_equal(table.count, 1);
  assert_int_equal(lines, 2);
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
}

static void faults_of_many_processes_add_up(void **state) {
  (void)state;
  enum { PROCESSES = 4, FAULTS = 15 };
  static cvy_fault_table table;
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      for (int k = 0; k < FAULTS; k++) cvy_fault_table_note(&table, &one);
      _exit(0);
    }
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
  cvy_fault_table_load(&table);
  assert_int_equal(table.count, 1);
  assert_int_equal(table.list[0].count, PROCESSES * FAULTS);
}

/* What could not be written when it happened is written with the next. */
static void a_fault_waits_for_its_file(void **state) {
  (void)state;
  char path[128];
  static cvy_fault_table mine, other;
  cvy_fault_entry elsewhere = one;
  strcpy(elsewhere.algorithm, "u");
  snprintf(path, sizeof path, "%s/faults.lock", folder);
  int lock = cvy_file_lock(path, 0);
  assert_true(lock >= 0);
  cvy_fault_table_note(&mine, &one);
  cvy_fault_table_note(&mine, &elsewhere);
  cvy_file_unlock(lock);
  cvy_fault_table_load(&other);
  assert_int_equal(other.count, 0);
  cvy_fault_table_note(&other, &one);
  cvy_fault_table_note(&mine, &one);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(mine.count, 2);
    for (int k = 0; k < 2; k++)
      assert_int_equal(mine.list[k].count, strcmp(mine.list[k].algorithm, "u") ? 3 : 1);
    cvy_fault_table_load(&mine);
  }
}

/* The process may write no file: what a full disk does. In a child, for the limit is for good. */
static void a_full_disk_costs_one_line(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    static cvy_fault_table table;
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    lines = 0;
    convoy_set_log(count_line, NULL, CONVOY_LOG_WARNING);
    for (int i = 0; i < 5; i++) cvy_fault_table_note(&table, &one);
    _exit(lines == 1 && table.count == 1 && table.list[0].count == 5 &&
                  convoy_fault_table_clear(NULL) == CONVOY_ERR_IO
              ? 0
              : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* Somebody stopped in the middle of a change keeps nobody waiting. */
static void a_locked_table_is_not_waited_for(void **state) {
  (void)state;
  char path[128];
  snprintf(path, sizeof path, "%s/faults.lock", folder);
  int lock = cvy_file_lock(path, 0);
  assert_true(lock >= 0);
  assert_int_equal(cvy_file_lock(path, 0), -1);
  double began = cvy_clock();
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_ERR_IO);
  assert_true(cvy_clock() - began < 5);
  cvy_file_unlock(lock);
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_OK);
}

static void bad_arguments(void **state) {
  (void)state;
  char text[16];
  assert_int_equal(convoy_fault_table(NULL, NULL, 5), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_fault_table(NULL, text, 0), CONVOY_ERR_ARGUMENT);
  unsetenv("CONVOY_STATE_DIR");
  unsetenv("XDG_STATE_HOME");
  char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
  unsetenv("HOME");
  assert_int_equal(convoy_fault_table(NULL, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, "");
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_ERR_IO);
  if (home) setenv("HOME", home, 1);
  free(home);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(faults_step_down_to_the_cpu, prepare, clean),
      cmocka_unit_test_setup_teardown(lost_messages_blame_nobody, prepare, clean),
      cmocka_unit_test_setup_teardown(each_class_is_told_once, prepare, clean),
      cmocka_unit_test_setup_teardown(crashes_count_too, prepare, clean),
      cmocka_unit_test_setup_teardown(the_first_operation_in_doubt_is_blamed, prepare, clean),
      cmocka_unit_test_setup_teardown(infinite_operands_prove_nothing, prepare, clean),
      cmocka_unit_test_setup_teardown(plan_shows_the_step, prepare, clean),
      cmocka_unit_test_setup_teardown(the_table_outlives_the_context, prepare, clean),
      cmocka_unit_test_setup_teardown(quiet_time_forgives, prepare, clean),
      cmocka_unit_test_setup_teardown(nothing_is_recorded_without_failover, prepare, clean),
      cmocka_unit_test_setup_teardown(a_corrupt_table_is_ignored_with_one_line, prepare, clean),
      cmocka_unit_test_setup_teardown(faults_of_many_processes_add_up, prepare, clean),
      cmocka_unit_test_setup_teardown(a_full_disk_costs_one_line, prepare, clean),
      cmocka_unit_test_setup_teardown(a_fault_waits_for_its_file, prepare, clean),
      cmocka_unit_test_setup_teardown(a_locked_table_is_not_waited_for, prepare, clean),
      cmocka_unit_test_setup_teardown(bad_arguments, prepare, clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
