/* A device whose memory runs out: operations are carried out there all the same, in pieces if need be,
 * and only what does not fit at all goes elsewhere. Integer data: every way gives the same bits. */
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/step.h"

enum { N = 8, X = N * 2 * 40, W = 3 * 2 * 4, Y = N * 3 * 37 };
static const int64_t x_shape[] = {N, 2, 40}, w_shape[] = {3, 2, 4};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

typedef struct arrays {
  float x[X], w[W], y[Y], db[3];
} arrays;

static arrays make_arrays(void) {
  arrays made;
  test_random random = {3};
  test_fill_integers(&random, made.x, X);
  test_fill_integers(&random, made.w, W);
  test_fill_integers(&random, made.y, Y);
  test_fill_integers(&random, made.db, 3);
  return made;
}

/* One operation; its output is overwritten, or added to with beta 1. */
typedef convoy_status operation(convoy_context *context, arrays *a, float beta, convoy_run *run);

static convoy_status forward(convoy_context *context, arrays *a, float beta, convoy_run *run) {
  (void)beta;
  return convoy_forward_host(context, &conv, x_shape, a->x, w_shape, a->w, a->db, NULL, a->y, run);
}

static convoy_status data(convoy_context *context, arrays *a, float beta, convoy_run *run) {
  return convoy_backward_data_host(context, &conv, x_shape, a->y, w_shape, a->w, beta, a->x, run);
}

static convoy_status weights(convoy_context *context, arrays *a, float beta, convoy_run *run) {
  return convoy_backward_weights_host(context, &conv, x_shape, a->x, w_shape, a->y, beta, a->w,
                                      run);
}

static convoy_status bias(convoy_context *context, arrays *a, float beta, convoy_run *run) {
  return convoy_backward_bias_host(context, &conv, x_shape, w_shape, a->y, beta, a->db, run);
}

static operation *const operations[] = {forward, data, weights, bias};
static char told[256];

static void keep_downgrade(void *user, const convoy_event *event) {
  (void)user;
  if (event->kind == CONVOY_EVENT_DOWNGRADE) strcpy(told, event->message);
}

static arrays expected(operation *op, float beta) {
  arrays made = make_arrays();
  convoy_context *context = open_named("cpu", CONVOY_NO);
  assert_int_equal(op(context, &made, beta, NULL), CONVOY_OK);
  convoy_close(context);
  return made;
}

/* Carries out the operation on a device of so many bytes. */
static convoy_health on_device_of(int64_t capacity, operation *op, float beta, convoy_run *run) {
  arrays made = make_arrays(), wanted = expected(op, beta);
  fake_reset();
  fake.capacity = capacity;
  told[0] = '\0';
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_set_event_callback(context, keep_downgrade, NULL);
  assert_int_equal(op(context, &made, beta, run), CONVOY_OK);
  convoy_health health = health_of(context);
  convoy_close(context);
  assert_memory_equal(&made, &wanted, sizeof(made));
  assert_int_equal(fake_seen.arrays, 0);
  return health;
}

/* Nothing that fits whole, but halves or quarters do. */
static void test_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(operations); i++) {
    for (int beta = operations[i] == forward ? 0 : 1; beta >= 0; beta--) {
      convoy_run run = CONVOY_RUN_INIT;
      convoy_health health = on_device_of(2600, operations[i], (float)beta, &run);
      assert_string_equal(run.device, "fake:1");
      assert_int_equal(health.failovers, 0);
      assert_int_equal(health.device_operations, 1);
      assert_int_equal(health.downgrades, 1);
      assert_non_null(strstr(told, "fake:1 has too little memory"));
      assert_non_null(strstr(told, "pieces"));
      assert_int_equal(run.first_fault, CONVOY_ERR_MEMORY);
    }
  }
}

/* All arrays fit, the preferred row's 16,000 bytes of scratch memory do not. */
static void test_less_workspace(void **state) {
  (void)state;
  convoy_run run = CONVOY_RUN_INIT;
  convoy_health health = on_device_of(15000, forward, 0, &run);
  assert_string_equal(run.algorithm, "fake.direct");
  assert_int_equal(health.device_operations, 1);
  assert_non_null(strstr(told, "in 1 piece, with little scratch memory"));
}

/* Not even one image fits: the CPU computes. */
static void test_hopeless(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(operations); i++) {
    convoy_run run = CONVOY_RUN_INIT;
    convoy_health health = on_device_of(100, operations[i], 0, &run);
    assert_string_equal(run.device, "cpu");
    assert_int_equal(health.failovers, 1);
    assert_int_equal(health.device_operations, 0);
  }
}

/* What the host has too gives way to what is needed now. */
static void test_idle_copies_give_way(void **state) {
  (void)state;
  const int64_t big[] = {1, 1, 3000}, filter[] = {1, 1, 1}, small[] = {1, 1, 4};
  const float one[] = {2}, x[] = {1, 2, 3, 4};
  fake_reset();
  fake.capacity = 30000;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_set_event_callback(context, keep_downgrade, NULL);
  convoy_tensor *idle = tensor_of(context, big, NULL), *w = tensor_of(context, filter, one);
  convoy_tensor *out = tensor_of(context, big, NULL), *tx = tensor_of(context, small, x);
  convoy_tensor *ty = tensor_of(context, small, NULL);
  fake.capacity = 60000;
  assert_int_equal(convoy_forward(context, &conv, idle, w, NULL, NULL, out, NULL), CONVOY_OK);
  assert_int_equal(convoy_commit(out), CONVOY_OK);
  fake.capacity =
      30000; /* idle and out are there with 24,000 bytes; the scratch memory is 16,000 */
  assert_int_equal(convoy_forward(context, &conv, tx, w, NULL, NULL, ty, NULL), CONVOY_OK);
  check_tensor(ty, (const float[]){2, 4, 6, 8});
  assert_non_null(strstr(told, "in 1 piece, what the host has given up"));
  convoy_health health = health_of(context);
  assert_int_equal(health.device_operations, 2);
  assert_int_equal(health.failovers, 0);
  convoy_tensor *const all[] = {idle, w, out, tx, ty};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

/* A whole training step on ever smaller devices gives the CPU's bits, on tensors and on host memory. */
static void test_steps_on_small_devices(void **state) {
  (void)state;
  static step_result wanted, result;
  step_expected(&wanted);
  for (int64_t capacity = 40000; capacity > 500; capacity = capacity * 3 / 4) {
    for (int host = 0; host < 2; host++) {
      fake_reset();
      fake.capacity = capacity;
      convoy_context *context = open_named("fake", CONVOY_ON);
      assert_int_equal(host ? step_host(context, &result) : step_tensors(context, &result),
                       CONVOY_OK);
      assert_int_equal(step_difference(&result, &wanted), -1);
      assert_int_equal(health_of(context).operations, 8);
      convoy_close(context);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pieces),
      cmocka_unit_test(test_less_workspace),
      cmocka_unit_test(test_hopeless),
      cmocka_unit_test(test_idle_copies_give_way),
      cmocka_unit_test(test_steps_on_small_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
