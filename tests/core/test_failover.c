/* A device that fails at any command of a training step changes no result and is never silent. */
#include <stdio.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/step.h"

typedef convoy_status step_fn(convoy_context *context, step_result *result);

static step_result expected;

typedef struct log_state {
  int faults, failovers, downgrades, lines;
} log_state;

static void count_event(void *user, const convoy_event *event) {
  log_state *seen = user;
  int *const counters[] = {&seen->downgrades, &seen->faults, &seen->failovers};
  ++*counters[event->kind];
  assert_true(event->message[0] != '\0');
}

/* Whoever reads of a failover can run that very problem. */
static void check_problem(const char *line) {
  const char *at = strstr(line, " instead of ");
  convoy_conv conv;
  int64_t x_shape[CONVOY_MAX_DIMS], w_shape[CONVOY_MAX_DIMS];
  convoy_direction direction;
  if (!at || !(at = strstr(at, ": "))) return;
  if (convoy_parse_problem(at + 2, &conv, x_shape, w_shape, &direction))
    fail_msg("%s: %s", line, convoy_last_error());
}

static void count_line(void *user, convoy_log_level level, const char *line) {
  log_state *seen = user;
  int more;
  check_problem(line);
  if (sscanf(line, "and %d more", &more) == 1) seen->lines += more - 1; /* which have none */
  seen->lines += level == CONVOY_LOG_WARNING && line[0];
}

static convoy_context *open_fake(convoy_switch failover) {
  return open_named("fake", failover);
}

/* What one run of the step under the script leaves behind. */
typedef struct outcome {
  convoy_status status;
  convoy_health health;
  log_state seen;
  int difference;
} outcome;

static outcome run_step(step_fn *step, convoy_switch failover) {
  outcome out = {0};
  step_result result;
  step_poison(&result);
  convoy_context *context = open_fake(failover);
  convoy_set_log(count_line, &out.seen, CONVOY_LOG_WARNING);
  convoy_set_event_callback(context, count_event, &out.seen);
  out.status = step(context, &result);
  out.health = health_of(context);
  out.difference = step_difference(&result, &expected);
  convoy_close(context);
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  assert_int_equal(fake_seen.arrays, 0);
  assert_int_equal(fake_seen.opens, fake_seen.closes);
  return out;
}

/* The same step with its results in memory that the device itself fills. */
static convoy_status in_shared(step_fn *step, convoy_context *context, step_result *result) {
  void *memory = NULL;
  fake.shared_memory = true;
  convoy_status status = convoy_host_alloc(context, sizeof(*result), &memory);
  assert_int_equal(status, CONVOY_OK);
  memcpy(memory, result, sizeof(*result));
  status = step(context, memory);
  memcpy(result, memory, sizeof(*result));
  convoy_host_free(context, memory);
  assert_int_equal(fake_seen.host_blocks, 0);
  return status;
}

static convoy_status step_shared_host(convoy_context *context, step_result *result) {
  return in_shared(step_host, context, result);
}

static convoy_status step_shared_tensors(convoy_context *context, step_result *result) {
  return in_shared(step_tensors, context, result);
}

static int64_t commands_of(step_fn *step) {
  fake_reset();
  outcome out = run_step(step, CONVOY_NO);
  assert_int_equal(out.status, CONVOY_OK);
  assert_int_equal(out.difference, -1);
  assert_int_equal(out.seen.lines, 0);
  return fake_seen.commands;
}

static void check_counted(const outcome *out) {
  assert_int_equal(out->seen.faults, out->health.faults);
  assert_int_equal(out->seen.failovers, out->health.failovers);
  assert_int_equal(out->seen.downgrades, out->health.downgrades);
  assert_int_equal(out->seen.lines, out->seen.faults + out->seen.failovers + out->seen.downgrades);
}

/* Fails every command in turn, in all the ways a device can. */
static void fail_each(step_fn *step, const fake_script *way) {
  int64_t commands = commands_of(step);
  for (int64_t n = 1; n <= commands; n++) {
    fake_reset();
    fake.fail_at = n;
    fake.dies = way->dies;
    fake.refuses_at_once = way->refuses_at_once;
    fake.failures = way->failures;
    if (way->fail_status) fake.fail_status = way->fail_status;
    outcome out = run_step(step, CONVOY_ON);
    if (out.status || out.difference >= 0) {
      fail_msg("command %lld of %lld: status %d, array %d differs", (long long)n,
               (long long)commands, (int)out.status, out.difference);
    }
    check_counted(&out);
    assert_true(out.health.faults >= 1);
    bool memory = way->fail_status == CONVOY_ERR_MEMORY; /* tried again with less, which is told */
    if (!memory) assert_int_equal(out.health.downgrades, way->dies);
    assert_int_equal(out.health.operations, 8);
  }
}

static void test_host_faults(void **state) {
  (void)state;
  fail_each(step_host, &(fake_script){.failures = 1});
  fail_each(step_host, &(fake_script){.failures = 1, .refuses_at_once = true});
  fail_each(step_host, &(fake_script){.failures = 3, .fail_status = CONVOY_ERR_MEMORY});
}

static void test_host_deaths(void **state) {
  (void)state;
  fail_each(step_host, &(fake_script){.failures = 1, .dies = true});
  fail_each(step_host, &(fake_script){.failures = 1, .dies = true, .refuses_at_once = true});
}

static void test_tensor_faults(void **state) {
  (void)state;
  fail_each(step_tensors, &(fake_script){.failures = 1});
  fail_each(step_tensors, &(fake_script){.failures = 1, .refuses_at_once = true});
  fail_each(step_tensors, &(fake_script){.failures = 3, .fail_status = CONVOY_ERR_MEMORY});
}

static void test_tensor_deaths(void **state) {
  (void)state;
  fail_each(step_tensors, &(fake_script){.failures = 1, .dies = true});
  fail_each(step_tensors, &(fake_script){.failures = 1, .dies = true, .refuses_at_once = true});
}

static void test_shared_faults(void **state) {
  (void)state;
  step_fn *const steps[] = {step_shared_host, step_shared_tensors};
  for (size_t s = 0; s < 2; s++) {
    fail_each(steps[s], &(fake_script){.failures = 1});
    fail_each(steps[s], &(fake_script){.failures = 3, .fail_status = CONVOY_ERR_MEMORY});
    fail_each(steps[s], &(fake_script){.failures = 1, .dies = true, .refuses_at_once = true});
  }
}

/* Without failover a fault is an error, of the kind the device reported. */
static void test_no_failover(void **state) {
  (void)state;
  step_fn *const steps[] = {step_host, step_tensors};
  for (size_t s = 0; s < 2; s++) {
    int64_t commands = commands_of(steps[s]);
    for (int64_t n = 1; n <= commands; n++) {
      fake_reset();
      fake.fail_at = n;
      fake.dies = n % 2 == 0;
      fake.refuses_at_once = n % 3 == 0;
      fake.fail_status = CONVOY_ERR_MEMORY;
      outcome out = run_step(steps[s], CONVOY_NO);
      assert_true(out.status == CONVOY_ERR_MEMORY ||
                  (fake.dies && out.status == CONVOY_ERR_DEVICE));
      assert_int_equal(out.health.failovers, 0);
      check_counted(&out);
    }
  }
}

/* ------------------------------------------------------- one operation, looked at closely */

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 3};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10};
static const float y[] = {21, 32, 43};

static convoy_status forward(convoy_context *context, float *out, convoy_run *run) {
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  return convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, out, run);
}

static void test_run_tells(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_fake(CONVOY_ON);
  convoy_run run = CONVOY_RUN_INIT;
  float out[3];
  assert_int_equal(forward(context, out, &run), CONVOY_OK);
  assert_int_equal(run.attempts, 1);
  assert_int_equal(run.first_fault, CONVOY_OK);
  assert_string_equal(run.device, "fake:1");
  assert_string_equal(run.algorithm, "fake.tiled");
  assert_string_equal(run.parameters, "TILE=16 WORK=2");
  assert_int_equal(run.workspace_bytes, 16000);
  assert_true(run.milliseconds >= 0);
  assert_string_equal(run.fault, "");

  fake.fail_at = fake_seen.commands + 1;
  assert_int_equal(forward(context, out, &run), CONVOY_OK);
  check_values(out, y, 3);
  assert_int_equal(run.attempts, 2);
  assert_int_equal(run.first_fault, CONVOY_ERR_DEVICE);
  assert_string_equal(run.device, "cpu");
  assert_non_null(strstr(run.fault, "the script failed command"));
  convoy_close(context);
}

/* The device that died is no longer the context's; a dead one without failover still is. */
static void test_after_death(void **state) {
  (void)state;
  for (int failover = CONVOY_ON; failover <= CONVOY_NO; failover++) {
    fake_reset();
    convoy_context *context = open_fake((convoy_switch)failover);
    convoy_device_info info = {.struct_size = sizeof(info)};
    convoy_run run = CONVOY_RUN_INIT;
    float out[3] = {-1, -1, -1};
    const float untouched[3] = {-1, -1, -1};
    bool hidden = failover == CONVOY_ON;
    fake.fail_at = 1;
    fake.dies = true;
    convoy_status wanted = hidden ? CONVOY_OK : CONVOY_ERR_DEVICE;
    for (int i = 0; i < 2; i++) {
      assert_int_equal(forward(context, out, &run), wanted);
      check_values(out, hidden ? y : untouched, 3);
    }
    assert_int_equal(run.attempts, hidden ? 1 : 0);
    assert_int_equal(convoy_context_device(context, &info), CONVOY_OK);
    assert_string_equal(info.id, hidden ? "cpu" : "fake:1");
    assert_int_equal(convoy_sync(context), wanted);
    assert_int_equal(convoy_measure_peak(context, NULL, NULL), wanted);
    if (!hidden) assert_non_null(strstr(convoy_last_error(), "the script failed command"));
    convoy_close(context);
  }
}

/* A sum on host memory starts from what was there, whichever way it is computed. */
static void test_sum_untouched_until_good(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const float dy[] = {1, 0, 0};
  const float summed[] = {101, 202}, before[] = {100, 200};
  for (int failover = CONVOY_ON; failover <= CONVOY_NO; failover++) {
    for (int64_t n = 1; n <= 9; n++) {
      fake_reset();
      convoy_context *context = open_fake((convoy_switch)failover);
      float dw[] = {100, 200};
      fake.fail_at = n;
      convoy_status status =
          convoy_backward_weights_host(context, &conv, x_shape, x, w_shape, dy, 1, dw, NULL);
      bool fails = failover == CONVOY_NO && fake_seen.commands >= n;
      assert_int_equal(status, fails ? CONVOY_ERR_DEVICE : CONVOY_OK);
      check_values(dw, fails ? before : summed, 2);
      convoy_close(context);
    }
  }
}

/* An asynchronous fault without failover is told by the sync that meets it and by every read. */
static void test_failed_tensor_stays_failed(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_fake(CONVOY_NO);
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, y_shape, NULL);
  float out[3] = {-1, -1, -1};
  const float untouched[3] = {-1, -1, -1};
  fake.fail_at = 6; /* allocate and write x, the same for w, allocate y, run */
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  assert_int_equal(convoy_sync(context), CONVOY_ERR_DEVICE);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(convoy_tensor_read(ty, out, 3), CONVOY_ERR_DEVICE);
    assert_non_null(strstr(convoy_last_error(), "the script failed command 6"));
    check_values(out, untouched, 3);
  }
  /* Its value cannot be an operand either; a new value makes the tensor good again. */
  convoy_tensor *tz = tensor_of(context, (const int64_t[]){1, 1, 2}, NULL);
  assert_int_equal(convoy_forward(context, &conv, ty, tw, NULL, NULL, tz, NULL), CONVOY_ERR_DEVICE);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(ty, out, 3), CONVOY_OK);
  check_values(out, y, 3);
  convoy_tensor *const all[] = {tx, tw, ty, tz};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

/* An operation that waits keeps the output's old value when it fails. */
static void test_waiting_operation(void **state) {
  (void)state;
  for (int failover = CONVOY_ON; failover <= CONVOY_NO; failover++) {
    fake_reset();
    convoy_context *context = open_fake((convoy_switch)failover);
    const convoy_conv conv = CONVOY_CONV_INIT(1);
    const float old[] = {5, 6, 7};
    convoy_run run = CONVOY_RUN_INIT;
    convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
    convoy_tensor *ty = tensor_of(context, y_shape, old);
    float out[3];
    bool hidden = failover == CONVOY_ON;
    fake.fail_at = 6;
    assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, &run),
                     hidden ? CONVOY_OK : CONVOY_ERR_DEVICE);
    assert_int_equal(run.attempts, hidden ? 2 : 0);
    assert_int_equal(convoy_tensor_read(ty, out, 3), CONVOY_OK);
    check_values(out, hidden ? y : old, 3);
    convoy_tensor *const all[] = {tx, tw, ty};
    for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
    convoy_close(context);
  }
}

/* A device whose reads keep failing gives no values: they are computed again. */
static void test_reads_keep_failing(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_fake(CONVOY_ON);
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, y_shape, NULL);
  float out[3];
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  fake.fail_at = fake_seen.commands + 1;
  fake.failures = 100;
  assert_int_equal(convoy_tensor_read(ty, out, 3), CONVOY_OK);
  check_values(out, y, 3);
  assert_int_equal(health_of(context).failovers, 1);
  convoy_tensor *const all[] = {tx, tw, ty};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

static void test_peak_fault(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_fake(CONVOY_ON);
  double gflops = 0, gigabytes = 0;
  assert_int_equal(convoy_measure_peak(context, &gflops, &gigabytes), CONVOY_OK);
  assert_true(gflops == 100.0 && gigabytes == 50.0);
  assert_int_equal(convoy_measure_peak(context, NULL, NULL), CONVOY_OK);
  fake.fail_at = fake_seen.commands + 1;
  assert_int_equal(convoy_measure_peak(context, &gflops, &gigabytes), CONVOY_ERR_DEVICE);
  assert_int_equal(health_of(context).faults, 1);
  convoy_close(context);
}

static void count_computed(void *user, convoy_log_level level, const char *line) {
  log_state *seen = user;
  int more;
  (void)level;
  seen->failovers += strncmp(line, "computed by ", 12) == 0;
  if (sscanf(line, "and %d more computed by", &more) == 1) seen->lines += more;
}

/* One fault, and a chain of operations to be computed again: three lines, and the number of the
 * others. */
static void test_many_are_counted(void **state) {
  enum { CHAIN = 12 };
  const int64_t shape[] = {1, 1, 4};
  const float values[] = {1, -2, 3, 4};
  log_state seen = {0};
  convoy_tensor *all[CHAIN + 1];
  (void)state;
  fake_reset();
  convoy_context *context = open_fake(CONVOY_ON);
  all[0] = tensor_of(context, shape, values);
  for (int i = 0; i < CHAIN; i++) {
    all[i + 1] = tensor_of(context, shape, NULL);
    assert_int_equal(convoy_add(context, all[i], all[i], all[i + 1], NULL), CONVOY_OK);
  }
  convoy_set_log(count_computed, &seen, CONVOY_LOG_WARNING);
  fake.fail_at = fake_seen.commands + 1;
  fake.dies = true;
  check_tensor(all[CHAIN], (const float[]){4096, -8192, 12288, 16384});
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  const int64_t failovers = health_of(context).failovers;
  assert_true(failovers > 3);
  assert_int_equal(seen.failovers, 3);
  assert_int_equal(seen.lines, failovers - 3);
  for (int i = 0; i <= CHAIN; i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

static void find_brief(void *user, convoy_log_level level, const char *line) {
  int *brief = user;
  (void)level;
  if (strncmp(line, "computed by ", 12) != 0) return;
  *brief =
      strstr(line, "y0 = x0 + 1 + x0 + 2") && strstr(line, "... on n1c4") && strlen(line) < 120;
}

/* A program's text may have thousands of characters. */
static void test_texts_are_brief(void **state) {
  static const char text[] =
      "y = x + 1 + x + 2 + x + 3 + x + 4 + x + 5 + x + 6 + x + 7 + x + 8 + x";
  const int64_t shape[] = {1, 4};
  const float values[] = {1, -2, 3, 4};
  convoy_program *program;
  int brief = -1;
  (void)state;
  fake_reset();
  convoy_context *context = open_fake(CONVOY_ON);
  convoy_tensor *x_tensor, *y_tensor;
  assert_int_equal(convoy_program_parse(text, &program), CONVOY_OK);
  assert_int_equal(convoy_tensor_new(context, 2, shape, &x_tensor), CONVOY_OK);
  assert_int_equal(convoy_tensor_new(context, 2, shape, &y_tensor), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(x_tensor, values, 4), CONVOY_OK);
  convoy_set_log(find_brief, &brief, CONVOY_LOG_WARNING);
  fake.fail_at = fake_seen.commands + 2;
  fake.dies = true;
  const convoy_tensor *const in[] = {x_tensor};
  assert_int_equal(convoy_apply(context, program, in, &y_tensor, NULL), CONVOY_OK);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  float got[4];
  assert_int_equal(convoy_tensor_read(y_tensor, got, 4), CONVOY_OK);
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  assert_true(got[0] == 45);
  assert_int_equal(brief, 1);
  convoy_tensor_free(x_tensor);
  convoy_tensor_free(y_tensor);
  convoy_program_free(program);
  convoy_close(context);
}

static int make_expected(void **state) {
  (void)state;
  step_expected(&expected);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host_faults),
      cmocka_unit_test(test_host_deaths),
      cmocka_unit_test(test_tensor_faults),
      cmocka_unit_test(test_tensor_deaths),
      cmocka_unit_test(test_shared_faults),
      cmocka_unit_test(test_no_failover),
      cmocka_unit_test(test_run_tells),
      cmocka_unit_test(test_after_death),
      cmocka_unit_test(test_sum_untouched_until_good),
      cmocka_unit_test(test_failed_tensor_stays_failed),
      cmocka_unit_test(test_waiting_operation),
      cmocka_unit_test(test_reads_keep_failing),
      cmocka_unit_test(test_peak_fault),
      cmocka_unit_test(test_many_are_counted),
      cmocka_unit_test(test_texts_are_brief),
  };
  return cmocka_run_group_tests(tests, make_expected, NULL);
}
