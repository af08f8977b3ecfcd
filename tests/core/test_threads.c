/* Eight threads on one context, while the device fails under them: every result is right. */
#include <pthread.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/step.h"

enum { THREADS = 8, STEPS = 12 };

static step_result expected;

typedef struct worker {
  convoy_context *context;
  pthread_t thread;
  int wrong;
  step_result result;
} worker;

static void *work(void *argument) {
  worker *self = argument;
  for (int i = 0; i < STEPS; i++) {
    step_poison(&self->result);
    convoy_status status = i % 2 ? step_host(self->context, &self->result)
                                 : step_tensors(self->context, &self->result);
    self->wrong += status || step_difference(&self->result, &expected) >= 0;
  }
  return NULL;
}

static void run_all(convoy_context *context) {
  static worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i].context = context;
    workers[i].wrong = 0;
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    assert_int_equal(workers[i].wrong, 0);
  }
  assert_int_equal(health_of(context).operations, THREADS * STEPS * 8);
}

static void test_one_context(void **state) {
  (void)state;
  const char *const devices[] = {"cpu", "fake"};
  for (size_t i = 0; i < CVY_COUNT(devices); i++) {
    fake_reset();
    convoy_context *context = open_named(devices[i], CONVOY_NO);
    run_all(context);
    convoy_close(context);
  }
}

static void test_device_fails_under_them(void **state) {
  (void)state;
  for (int dies = 0; dies < 2; dies++) {
    fake_reset();
    fake.fail_at = 500;
    fake.failures = 3;
    fake.dies = dies;
    convoy_context *context = open_named("fake", CONVOY_ON);
    run_all(context);
    assert_true(health_of(context).faults >= 1);
    convoy_close(context);
    assert_int_equal(fake_seen.arrays, 0);
  }
}

static void *open_and_close(void *argument) {
  int *wrong = argument;
  step_result result;
  for (int i = 0; i < 5; i++) {
    convoy_options options = CONVOY_OPTIONS_INIT;
    convoy_context *context;
    options.device = "cpu";
    options.threads = 1;
    if (convoy_open(&options, &context)) {
      ++*wrong;
      continue;
    }
    *wrong += step_tensors(context, &result) || step_difference(&result, &expected) >= 0;
    convoy_close(context);
  }
  return NULL;
}

/* Contexts come from one pool; each thread has its own. */
static void test_own_contexts(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  int wrong[THREADS] = {0};
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &wrong[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(wrong[i], 0);
  }
}

static int make_expected(void **state) {
  (void)state;
  step_expected(&expected);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_context),
      cmocka_unit_test(test_device_fails_under_them),
      cmocka_unit_test(test_own_contexts),
  };
  return cmocka_run_group_tests(tests, make_expected, NULL);
}
