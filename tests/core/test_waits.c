/* What a call may wait for the device: its budget, which is full when the call begins, and from
 * which only waits are taken. One that passed with the time would end a healthy device after the
 * program has paused. */
#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

#define BUDGET 60.0

static double now;

double __wrap_cvy_clock(void);
double __wrap_cvy_clock(void) {
  return now += 1;
}

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10};

static convoy_context *open_fake(int32_t verify) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  fake_reset();
  options.device = "fake:1";
  options.tune = CONVOY_NO;
  options.threads = 1;
  options.verify = verify;
  options.device_wait_budget = BUDGET;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

static void forward(convoy_context *context) {
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  float y[3];
  assert_int_equal(convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL),
                   CONVOY_OK);
}

static void assert_budget(double seconds) {
  if (fake_seen.budget != seconds) fail_msg("%g s are left, not %g", fake_seen.budget, seconds);
}

/* One that has no other call to begin it, too. */
static void each_call_has_a_budget_of_its_own(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_VERIFY_OFF);
  void *memory = NULL;
  fake.shared_memory = true;
  fake.wait_seconds = 0.9 * BUDGET;
  assert_int_equal(convoy_host_alloc(context, 64, &memory), CONVOY_OK);
  forward(context);
  assert_budget(BUDGET - fake.wait_seconds);
  convoy_host_free(context, memory);
  assert_budget(BUDGET);
  convoy_close(context);
}

static void waits_are_taken_off(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_VERIFY_OFF);
  fake.wait_seconds = 2;
  forward(context); /* writes, runs, waits and reads */
  assert_budget(BUDGET - 2);
  convoy_close(context);
}

/* The program is stopped, or computes. */
static void pause_here(const cvy_job *job) {
  (void)job;
  now += 100 * BUDGET;
}

static void time_between_waits_is_not(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_VERIFY_ALL);
  fake.on_run = pause_here;
  forward(context);
  assert_budget(BUDGET);
  fake.fail_at = fake_seen.commands + 1;
  forward(context);
  assert_budget(BUDGET);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_has_a_budget_of_its_own),
      cmocka_unit_test(waits_are_taken_off),
      cmocka_unit_test(time_between_waits_is_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
