/* Until when a device is waited for: the budget of a call that may wait, without the time in which the CPU
 * computes. A limit of a call that is over would end a healthy device. */
#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

#define BUDGET 60.0

static double now, at_run;

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

static void note_limit(const cvy_job *job) {
  (void)job;
  at_run = fake_seen.until;
}

static void forward(convoy_context *context) {
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  float y[3];
  assert_int_equal(convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL),
                   CONVOY_OK);
}

static void freeing_has_a_limit_of_its_own(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_VERIFY_OFF);
  convoy_tensor *tensor = tensor_of(context, x_shape, x);
  void *memory = NULL;
  fake.shared_memory = true;
  assert_int_equal(convoy_host_alloc(context, 64, &memory), CONVOY_OK);
  now += 10 * BUDGET;
  convoy_tensor_free(tensor);
  assert_true(fake_seen.until > now);
  now += 10 * BUDGET;
  convoy_host_free(context, memory);
  assert_true(fake_seen.until > now);
  convoy_close(context);
}

static void verifying_is_no_wait(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_VERIFY_ALL);
  fake.on_run = note_limit;
  forward(context);
  assert_true(at_run > 0 && fake_seen.until > at_run);
  convoy_close(context);
}

static void computing_here_is_no_wait(void **state) {
  (void)state;
  convoy_context *context = open_fake(CONVOY_VERIFY_OFF);
  forward(context);
  const double begun = now;
  fake.fail_at = fake_seen.commands + 1;
  forward(context);
  assert_true(fake_seen.until > begun + 1 + BUDGET); /* it began at the first look at the clock */
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(freeing_has_a_limit_of_its_own),
      cmocka_unit_test(verifying_is_no_wait),
      cmocka_unit_test(computing_here_is_no_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
