/* Contexts: closing, events, interruption, host memory, health. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 3};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10}, y[] = {21, 32, 43};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static int reset(void **state) {
  (void)state;
  fake_reset();
  return 0;
}

/* -------------------------------------------------------------------------------- closing */

static void test_closed(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_NO);
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, y_shape, NULL);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  void *memory = NULL;
  assert_int_equal(convoy_host_alloc(context, 100, &memory), CONVOY_OK);
  convoy_close(context);
  assert_int_equal(fake_seen.runs, 1); /* what was enqueued was done */
  assert_int_equal(fake_seen.arrays, 0);

  int64_t shape[5];
  int32_t dims;
  float values[4];
  assert_int_equal(convoy_tensor_read(tx, values, 4), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(convoy_last_error(), "closed"));
  assert_int_equal(convoy_tensor_write(tx, values, 4), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_commit(tx), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_tensor_shape(tx, shape, &dims), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL),
                   CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_sync(context), CONVOY_ERR_ARGUMENT);
  assert_null(convoy_algorithm_name(context, 0));
  convoy_close(context); /* harmless */
  convoy_tensor_free(tx);
  convoy_tensor_free(tw);
  convoy_tensor_free(ty);
  convoy_host_free(context, memory);
  convoy_close(NULL);
  convoy_tensor_free(NULL);
}

/* A tensor of a closed context stays closed when others are opened. */
static void test_closed_is_not_reused_too_early(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_NO);
  convoy_tensor *tx = tensor_of(context, x_shape, x);
  convoy_close(context);
  convoy_context *next = open_named("cpu", CONVOY_NO);
  assert_ptr_not_equal(next, context);
  assert_int_equal(convoy_commit(tx), CONVOY_ERR_ARGUMENT);
  convoy_tensor_free(tx);
  convoy_close(next);
}

/* --------------------------------------------------------------------------------- events */

typedef struct reentry {
  convoy_context *context;
  int calls;
} reentry;

/* Calls Convoy, and fails there, from inside the callback. */
static void call_back(void *user, const convoy_event *event) {
  reentry *seen = user;
  (void)event;
  seen->calls++;
  assert_int_equal(convoy_sync(seen->context), CONVOY_OK);
  assert_int_equal(convoy_sync(NULL), CONVOY_ERR_ARGUMENT);
}

static void test_callback_may_call(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_NO);
  reentry seen = {context, 0};
  convoy_set_event_callback(context, call_back, &seen);
  fake.fail_at = 1;
  float out[3];
  assert_int_equal(
      convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, out, NULL),
      CONVOY_ERR_DEVICE);
  assert_int_equal(seen.calls, 1);
  assert_non_null(strstr(convoy_last_error(), "the script failed")); /* not the callback's error */
  convoy_set_event_callback(context, NULL, NULL);
  fake.fail_at = fake_seen.commands + 1;
  fake.failures = 100;
  for (int i = 0; i < 20; i++) {
    assert_int_equal(
        convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, out, NULL),
        CONVOY_ERR_DEVICE);
  }
  assert_int_equal(seen.calls, 1);
  assert_int_equal(health_of(context).faults, 21);
  convoy_set_event_callback(context, call_back, &seen);
  assert_int_equal(seen.calls, 9); /* what is kept without a callback is bounded */
  convoy_close(context);
}

/* Many events in one call are all delivered, and those of closing too. */
static void test_many_events(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  reentry seen = {context, 0};
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, NULL);
  convoy_conv same = CONVOY_CONV_INIT(1);
  same.pad_begin[0] = 1;
  for (int i = 0; i < 30; i++) {
    assert_int_equal(convoy_forward(context, &same, tx, tw, NULL, NULL, tx, NULL), CONVOY_OK);
  }
  convoy_set_event_callback(context, call_back, &seen);
  fake.fail_at = 1;
  assert_int_equal(convoy_commit(tx), CONVOY_OK);
  assert_int_equal(seen.calls, 31); /* a fault and thirty operations computed on the CPU */
  convoy_tensor_free(tx);
  convoy_tensor_free(tw);
  convoy_close(context);
}

/* ----------------------------------------------------------------------------- interruption */

static void test_interrupt(void **state) {
  (void)state;
  const char *const names[] = {"cpu", "fake"};
  for (size_t i = 0; i < CVY_COUNT(names); i++) {
    convoy_context *context = open_named(names[i], CONVOY_ON);
    convoy_tensor *tx = tensor_of(context, x_shape, x);
    float values[4] = {0};
    convoy_interrupt(context);
    assert_int_equal(convoy_sync(context), CONVOY_ERR_INTERRUPTED);
    assert_int_equal(convoy_sync(context), CONVOY_OK);
    convoy_interrupt(context);
    assert_int_equal(convoy_tensor_read(tx, values, 4), CONVOY_ERR_INTERRUPTED);
    assert_true(values[0] == 0);
    assert_int_equal(convoy_tensor_read(tx, values, 4), CONVOY_OK);
    check_values(values, x, 4);
    assert_int_equal(health_of(context).faults, 0);
    convoy_tensor_free(tx);
    convoy_close(context);
  }
  convoy_interrupt(NULL);
}

/* An interruption in the middle of a wait ends it and loses nothing; operations that wait for their
 * own result are not interrupted. */
static void test_interrupt_while_waiting(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, y_shape, NULL);
  convoy_run run = CONVOY_RUN_INIT;
  fake.interrupts = true;
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, &run), CONVOY_OK);
  assert_true(fake.interrupts);
  assert_int_equal(convoy_commit(ty), CONVOY_ERR_INTERRUPTED);
  fake.interrupts = true;
  assert_int_equal(convoy_sync(context), CONVOY_ERR_INTERRUPTED);
  check_tensor(ty, y);
  assert_int_equal(health_of(context).faults, 0);
  convoy_tensor_free(tx);
  convoy_tensor_free(tw);
  convoy_tensor_free(ty);
  convoy_close(context);
}

/* ----------------------------------------------------------------------------- host memory */

static void check_block(convoy_context *context, bool shared) {
  void *memory = NULL;
  assert_int_equal(convoy_host_alloc(context, 10000, &memory), CONVOY_OK);
  assert_int_equal(fake_seen.host_blocks, shared);
  for (int i = 0; i < 10000; i++) assert_int_equal(((char *)memory)[i], 0);
  convoy_host_free(context, memory);
  assert_int_equal(fake_seen.host_blocks, 0);
}

static void test_host_memory(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  void *memory = &context, *second = NULL;
  check_block(context, false);
  fake.shared_memory = true;
  check_block(context, true);
  fake.exhausted_hosts = true;
  check_block(context, false);
  fake.exhausted_hosts = false;
  assert_int_equal(convoy_host_alloc(context, 0, &memory), CONVOY_OK);
  assert_null(memory);
  assert_int_equal(convoy_host_alloc(context, SIZE_MAX, &memory), CONVOY_ERR_MEMORY);
  fake.shared_memory = false;
  assert_int_equal(convoy_host_alloc(context, SIZE_MAX, &memory), CONVOY_ERR_MEMORY);
  assert_int_equal(convoy_host_alloc(context, 1, NULL), CONVOY_ERR_ARGUMENT);
  fake.shared_memory = true;
  assert_int_equal(convoy_host_alloc(context, 8, &memory), CONVOY_OK);
  assert_int_equal(convoy_host_alloc(context, 8, &second), CONVOY_OK);
  convoy_host_free(context, memory);
  convoy_host_free(context, &context); /* not ours: logged, nothing else */
  convoy_host_free(context, NULL);
  convoy_close(context);
  memset(second, 1, 8); /* valid after closing */
  convoy_host_free(context, second);
  assert_int_equal(fake_seen.host_blocks, 0);
}

/* ------------------------------------------------------------------------------- the rest */

static void test_texts(void **state) {
  (void)state;
  assert_non_null(strstr(convoy_version(), "0.2.0 ("));
  const char *const parts[] = {"OpenCL module: ", "CLBlast: ",       "OpenBLAS: ",
                               "OpenMP: ",        "CPU engine: on ", "instruction sets: yes"};
  for (size_t i = 0; i < CVY_COUNT(parts); i++) {
    assert_non_null(strstr(convoy_build_info(), parts[i]));
  }
  assert_string_equal(convoy_status_name(CONVOY_ERR_IO), "CONVOY_ERR_IO");
}

static void test_health(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_tensor *tx = tensor_of(context, x_shape, x);
  convoy_health health = health_of(context);
  assert_int_equal(health.worker_pid, 4711);
  assert_int_equal(health.programs_compiled, 3);
  assert_true(health.host_bytes >= 16);
  health.struct_size = 4;
  assert_int_equal(convoy_get_health(context, &health), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_get_health(context, NULL), CONVOY_ERR_ARGUMENT);
  double gflops;
  convoy_tensor_free(tx);
  convoy_close(context);
  context = open_named("cpu", CONVOY_ON);
  assert_int_equal(convoy_measure_peak(context, &gflops, NULL), CONVOY_OK);
  assert_true(gflops > 0);
  convoy_close(context);
}

/* What a device counted is still there when it has gone; what it held is not. */
static void test_health_after_loss(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, y_shape, NULL);
  fake.fail_at = 1;
  fake.dies = true;
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  convoy_health health = health_of(context);
  assert_int_equal(health.worker_pid, 0);
  assert_int_equal(health.device_bytes, 0);
  assert_int_equal(health.programs_compiled, 3);
  assert_int_equal(health.programs_cached, 2);
  assert_int_equal(health.workers_abandoned, 1);
  convoy_tensor_free(tx);
  convoy_tensor_free(tw);
  convoy_tensor_free(ty);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_closed, reset),
      cmocka_unit_test_setup(test_closed_is_not_reused_too_early, reset),
      cmocka_unit_test_setup(test_callback_may_call, reset),
      cmocka_unit_test_setup(test_many_events, reset),
      cmocka_unit_test_setup(test_interrupt, reset),
      cmocka_unit_test_setup(test_interrupt_while_waiting, reset),
      cmocka_unit_test_setup(test_host_memory, reset),
      cmocka_unit_test_setup(test_texts, reset),
      cmocka_unit_test_setup(test_health, reset),
      cmocka_unit_test_setup(test_health_after_loss, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
