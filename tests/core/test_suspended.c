/* A device that cannot be recovered now and may be later: it is suspended, which is reported once, and is no fault anew
 * with every call. */
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static convoy_status run(convoy_context *context, convoy_run *run) {
  float y[3] = {0};
  *run = (convoy_run)CONVOY_RUN_INIT;
  const convoy_status status =
      convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, run);
  if (!status) check_values(y, (const float[]){21, 32, 43}, 3);
  return status;
}

/* A fault after which the device is suspended for `calls` more calls. */
static convoy_context *open_suspended(convoy_switch failover, int64_t calls) {
  convoy_run seen;
  fake_reset();
  convoy_context *context = open_named("fake:1", failover);
  fake.suspensions = 1 + calls;
  fake.fail_at = fake_seen.commands + 1;
  const convoy_status status = run(context, &seen);
  assert_int_equal(status, failover == CONVOY_ON ? CONVOY_OK : CONVOY_ERR_DEVICE);
  return context;
}

static void find_why(void *user, convoy_log_level level, const char *line) {
  (void)level;
  *(int *)user +=
      strstr(line, "is suspended") && strstr(line, "the fake device is not to be had yet");
}

static void suspension_is_reported_once(void **state) {
  convoy_run seen;
  int told = 0;
  (void)state;
  convoy_set_log(find_why, &told, CONVOY_LOG_WARNING);
  convoy_context *context = open_suspended(CONVOY_ON, 8);
  assert_int_equal(health_of(context).downgrades, 1);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(run(context, &seen), CONVOY_OK);
    assert_string_equal(seen.device, "cpu");
    assert_int_equal(convoy_sync(context), CONVOY_OK);
  }
  const convoy_health health = health_of(context);
  assert_int_equal(health.faults, 1);
  assert_int_equal(health.downgrades, 1);
  convoy_close(context);
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  assert_int_equal(told, 1);
  assert_int_equal(fake_seen.arrays, 0);
}

static void a_later_call_recovers_it(void **state) {
  convoy_run seen;
  (void)state;
  convoy_context *context = open_suspended(CONVOY_ON, 1);
  assert_int_equal(run(context, &seen), CONVOY_OK);
  assert_string_equal(seen.device, "cpu");
  assert_int_equal(run(context, &seen), CONVOY_OK);
  assert_string_equal(seen.device, "fake:1");
  assert_int_equal(health_of(context).faults, 1);
  convoy_close(context);
}

/* What the device had is computed anew. */
static void tensors_outlive_it(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_named("fake:1", CONVOY_ON);
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, (const int64_t[]){1, 1, 3}, NULL);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  fake.suspensions = 3;
  fake.fail_at = fake_seen.commands + 1;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  check_tensor(ty, (const float[]){21, 32, 43});
  convoy_tensor *const all[] = {tx, tw, ty};
  for (int i = 0; i < 3; i++) convoy_tensor_free(all[i]);
  convoy_close(context);
  assert_int_equal(fake_seen.arrays, 0);
}

static void without_failover_it_fails(void **state) {
  convoy_run seen;
  (void)state;
  convoy_context *context = open_suspended(CONVOY_NO, 2);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(run(context, &seen), CONVOY_ERR_DEVICE);
    assert_non_null(strstr(convoy_last_error(), "fake:1"));
  }
  assert_int_equal(run(context, &seen), CONVOY_OK);
  assert_string_equal(seen.device, "fake:1");
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(suspension_is_reported_once),
      cmocka_unit_test(a_later_call_recovers_it),
      cmocka_unit_test(tensors_outlive_it),
      cmocka_unit_test(without_failover_it_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
