/* Tuning on the fake device, by a clock that its jobs move on as the script says: what is found,
 * what is never chosen, what is written down, who else sees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/tune/tunedisk.h"
#include "os/os.h"

static const int64_t x_shape[] = {1, 1, 40}, w_shape[] = {1, 1, 2};
static const convoy_conv conv = CONVOY_CONV_INIT(1);
static char folder[32], file[64];

/* ------------------------------------------------------------------------------ the script */

static double now;
static double (*seconds_of)(const cvy_job *job);

double __wrap_cvy_clock(void);
double __wrap_cvy_clock(void) {
  return now += 1e-7;
}

static void pass(const cvy_job *job) {
  if (seconds_of) now += seconds_of(job);
}

enum { TILED, DIRECT };

/* The best tile is two steps from the defaults (16, 2), one in each parameter. */
static double by_tile(const cvy_job *job) {
  if (job->algorithm != TILED) return 0.005;
  return 0.0005 * (1 + (job->params.value[0] != 32) + 2 * (job->params.value[1] != 1));
}

/* The defaults are as good as anything. */
static double all_alike(const cvy_job *job) {
  return job->algorithm == TILED ? 0.001 : 0.005;
}

static double direct_is_faster(const cvy_job *job) {
  return job->algorithm == TILED ? 0.003 : 0.001;
}

static uint32_t noise_turn;

static double noisy(const cvy_job *job) {
  (void)job;
  return noise_turn++ * 2654435761u >> 31 ? 0.002 : 0.006;
}

static int reset(void **state) {
  (void)state;
  fake_reset();
  fake.on_run = pass;
  seconds_of = NULL;
  noise_turn = 0;
  strcpy(folder, "/tmp/convoy-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof(file), "%s/tune.txt", folder);
  setenv("CONVOY_TUNE_FILE", file, 1);
  return 0;
}

static int clean(void **state) {
  (void)state;
  char lock[80];
  snprintf(lock, sizeof(lock), "%s.lock", file);
  unlink(lock);
  unlink(file);
  unsetenv("CONVOY_TUNE_FILE");
  return rmdir(folder);
}

static convoy_context *open_tuned(void) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake:1";
  options.failover = CONVOY_NO;
  options.verify = CONVOY_VERIFY_OFF;
  options.threads = 1;
  options.workspace_limit = 40000;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

static convoy_status tune(convoy_context *context, const int64_t *shape, double seconds,
                          convoy_tuned *out) {
  *out = (convoy_tuned){.struct_size = sizeof(*out)};
  return convoy_tune(context, &conv, CONVOY_FORWARD, shape, w_shape, seconds, out);
}

static void check_plan(convoy_context *context, const int64_t *shape, const char *algorithm,
                       const char *parameters) {
  convoy_plan plan = {.struct_size = sizeof(plan)};
  assert_int_equal(convoy_plan_problem(context, NULL, &conv, CONVOY_FORWARD, shape, w_shape, &plan),
                   CONVOY_OK);
  assert_string_equal(plan.algorithm, algorithm);
  assert_string_equal(plan.parameters, parameters);
}

static void check_records(int count) {
  cvy_records records;
  cvy_records_load(&records);
  assert_int_equal(records.count, count);
  assert_int_equal(records.skipped, 0);
  cvy_records_free(&records);
}

/* ----------------------------------------------------------------------------- what is found */

static void test_finds_the_fastest(void **state) {
  (void)state;
  convoy_tuned found;
  seconds_of = by_tile;
  convoy_context *context = open_tuned(), *other = open_tuned();
  assert_int_equal(tune(context, x_shape, 3.0, &found), CONVOY_OK);
  assert_int_equal(found.kept, 1);
  assert_int_equal(found.failed, 0);
  assert_string_equal(found.algorithm, "fake.tiled");
  assert_string_equal(found.parameters, "TILE=32 WORK=1");
  assert_true(found.milliseconds >= 0.5 && found.milliseconds < found.untuned_ms);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  assert_int_equal(fake_seen.arrays, 0); /* nothing of the search is left on the device */
  /* This context uses it, one opened before does not, one opened now does. */
  check_plan(context, x_shape, "fake.tiled", "TILE=32 WORK=1");
  check_plan(other, x_shape, "fake.tiled", "TILE=16 WORK=2");
  convoy_close(other);
  other = open_tuned();
  check_plan(other, x_shape, "fake.tiled", "TILE=32 WORK=1");
  check_records(1);
  convoy_close(other);
  convoy_close(context);
}

static void test_finds_another_algorithm(void **state) {
  (void)state;
  convoy_tuned found;
  seconds_of = direct_is_faster;
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, 2.0, &found), CONVOY_OK);
  assert_string_equal(found.algorithm, "fake.direct");
  check_plan(context, x_shape, "fake.direct", "");
  /* Asked for by name, only that one is tuned. */
  assert_int_equal(convoy_set_algorithm(context, "fake.tiled"), CONVOY_OK);
  assert_int_equal(tune(context, x_shape, 1.0, &found), CONVOY_OK);
  assert_string_equal(found.algorithm, "fake.tiled");
  convoy_close(context);
}

static void test_keeps_what_is_as_fast(void **state) {
  (void)state;
  convoy_tuned found;
  seconds_of = all_alike;
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, 2.0, &found), CONVOY_OK);
  assert_int_equal(found.kept, 1);
  assert_string_equal(found.parameters, "TILE=16 WORK=2");
  convoy_close(context);
}

/* A problem whose candidates are alike takes what another one uses already. */
static void test_prefers_programs_in_use(void **state) {
  (void)state;
  const int64_t second[] = {1, 1, 50};
  convoy_tuned found;
  seconds_of = by_tile;
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, 3.0, &found), CONVOY_OK);
  seconds_of = all_alike;
  assert_int_equal(tune(context, second, 2.0, &found), CONVOY_OK);
  assert_string_equal(found.parameters, "TILE=32 WORK=1");
  check_records(2);
  convoy_close(context);
}

/* -------------------------------------------------------------------- what is never chosen */

static void test_wrong_results_do_not_count(void **state) {
  (void)state;
  static const fake_lie lies[] = {FAKE_WRONG, FAKE_ZERO, FAKE_NAN, FAKE_UNWRITTEN};
  convoy_tuned found;
  for (size_t i = 0; i < CVY_COUNT(lies); i++) {
    seconds_of = by_tile;
    fake.lie = lies[i];
    fake.lie_rows = 1u << TILED;
    fake.lie_one_of = 2;
    convoy_context *context = open_tuned();
    assert_int_equal(tune(context, x_shape, 0.5, &found), CONVOY_OK);
    assert_string_equal(found.algorithm, "fake.direct");
    assert_true(found.failed >= 1);
    assert_true(found.untuned_ms == 0.0);
    convoy_close(context);
  }
}

static void test_none_is_right(void **state) {
  (void)state;
  convoy_tuned found;
  fake.lie = FAKE_NAN;
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, 0.2, &found), CONVOY_OK);
  assert_int_equal(found.kept, 0);
  assert_non_null(strstr(found.reason, "right"));
  check_records(0);
  convoy_close(context);
}

static void test_noise_changes_nothing(void **state) {
  (void)state;
  convoy_tuned found;
  seconds_of = noisy;
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, 0.5, &found), CONVOY_OK);
  assert_int_equal(found.kept, 0);
  assert_non_null(strstr(found.reason, "timing"));
  check_plan(context, x_shape, "fake.tiled", "TILE=16 WORK=2");
  check_records(0);
  convoy_close(context);
}

/* A command that fails costs its candidate; the device goes on. */
static void test_fault_costs_a_candidate(void **state) {
  (void)state;
  convoy_tuned found;
  seconds_of = by_tile;
  convoy_context *context = open_tuned();
  fake.fail_at = fake_seen.commands + 20;
  assert_int_equal(tune(context, x_shape, 1.0, &found), CONVOY_OK);
  assert_int_equal(found.kept, 1);
  assert_int_equal(found.failed, 1);
  convoy_close(context);
}

static void test_device_dies(void **state) {
  (void)state;
  convoy_tuned found;
  convoy_context *context = open_tuned();
  fake.fail_at = fake_seen.commands + 20;
  fake.dies = true;
  assert_int_equal(tune(context, x_shape, 1.0, &found), CONVOY_ERR_DEVICE);
  assert_int_equal(tune(context, x_shape, 1.0, &found), CONVOY_ERR_DEVICE);
  convoy_close(context);
}

/* ------------------------------------------------------------------------------ interrupting */

static convoy_context *to_interrupt;
static int64_t interrupt_at;

static double interrupting(const cvy_job *job) {
  if (fake_seen.runs == interrupt_at) convoy_interrupt(to_interrupt);
  return by_tile(job);
}

static void test_interrupted(void **state) {
  (void)state;
  convoy_tuned found;
  seconds_of = interrupting;
  to_interrupt = open_tuned();
  interrupt_at = 60; /* late enough to have found something */
  assert_int_equal(tune(to_interrupt, x_shape, 20.0, &found), CONVOY_ERR_INTERRUPTED);
  assert_non_null(strstr(convoy_last_error(), "convoy_interrupt"));
  assert_int_equal(found.tried, 0); /* untouched */
  check_records(1);
  /* It ended that tuning and no other. */
  seconds_of = by_tile;
  assert_int_equal(tune(to_interrupt, x_shape, 0.2, &found), CONVOY_OK);
  convoy_close(to_interrupt);
}

/* --------------------------------------------------------------------------------- the file */

static void write_text(const char *text) {
  assert_int_equal(cvy_file_write(file, text, strlen(text)), CONVOY_OK);
}

static void test_foreign_file_is_left_alone(void **state) {
  (void)state;
  const char *const text = "{\"this\": \"is something else\"}\n";
  convoy_tuned found;
  size_t count;
  write_text(text);
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, 0.1, &found), CONVOY_ERR_IO);
  char *left;
  assert_int_equal(cvy_file_read(file, CVY_FILE_TEXT, 1 << 20, &left, &count), CONVOY_OK);
  assert_string_equal(left, text);
  free(left);
  convoy_close(context);
}

static void test_damaged_lines_go(void **state) {
  (void)state;
  convoy_tuned found;
  write_text(
      "convoy-tune 1\nhalf a rec\n"
      "a.b | Other card | 1 | k=0000000000000001 | n1c1w5 k1s3 forward | A=1 | 1 ms\n");
  seconds_of = by_tile;
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, 0.2, &found), CONVOY_OK);
  check_records(2); /* the other card's is kept */
  convoy_close(context);
}

/* Two processes that write at once lose nothing of each other. */
static void test_two_processes(void **state) {
  (void)state;
  enum { WRITERS = 3, EACH = 20 };
  pid_t writers[WRITERS];
  for (int p = 0; p < WRITERS; p++) {
    writers[p] = fork();
    if (writers[p]) continue;
    cvy_record record = {.algorithm = "a.b", .device = "card", .driver = "1", .params = "A=1"};
    int failed = 0;
    for (int i = 0; i < EACH; i++) {
      const int64_t x[] = {1 + p, 1 + i, 9}, w[] = {1, 1 + i, 3};
      failed += cvy_problem_make(&conv, CONVOY_FORWARD, x, w, 0, false, NULL, &record.problem) ||
                cvy_records_save(&record);
    }
    _exit(failed);
  }
  for (int p = 0; p < WRITERS; p++) {
    int status;
    assert_int_equal(waitpid(writers[p], &status, 0), writers[p]);
    assert_int_equal(status, 0);
  }
  check_records(WRITERS * EACH);
}

/* ------------------------------------------------------------------------------- arguments */

static void test_arguments(void **state) {
  (void)state;
  const int64_t empty[] = {0, 1, 40};
  convoy_tuned found;
  convoy_context *context = open_tuned();
  assert_int_equal(tune(context, x_shape, -1.0, &found), CONVOY_ERR_ARGUMENT);
  assert_int_equal(tune(context, empty, 1.0, &found), CONVOY_ERR_SHAPE);
  fake.refuses_all = true;
  assert_int_equal(tune(context, x_shape, 1.0, &found), CONVOY_ERR_UNSUPPORTED);
  assert_int_equal(fake_seen.runs, 0);
  convoy_close(context);
  assert_int_equal(tune(context, x_shape, 1.0, &found), CONVOY_ERR_ARGUMENT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, clean)
  const struct CMUnitTest tests[] = {
      TEST(test_finds_the_fastest),
      TEST(test_finds_another_algorithm),
      TEST(test_keeps_what_is_as_fast),
      TEST(test_prefers_programs_in_use),
      TEST(test_wrong_results_do_not_count),
      TEST(test_none_is_right),
      TEST(test_noise_changes_nothing),
      TEST(test_fault_costs_a_candidate),
      TEST(test_device_dies),
      TEST(test_interrupted),
      TEST(test_foreign_file_is_left_alone),
      TEST(test_damaged_lines_go),
      TEST(test_two_processes),
      TEST(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
