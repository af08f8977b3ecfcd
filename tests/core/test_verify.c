/* A device that lies is found: before first use, by samples, or, with verify=all, always. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/step.h"

static step_result expected;

static int reset(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  fake_reset();
  return 0;
}

static convoy_context *open_verifying(convoy_verify verify, convoy_switch failover) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake";
  options.failover = (int32_t)failover;
  options.tune = CONVOY_NO;
  options.threads = 1;
  options.verify = (int32_t)verify;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

/* A rank-1 problem whose class only `width` decides, with results that are sums of two. */
enum { MOST = 4096 };
static float x[MOST], y[MOST], right[MOST];
static const float w[] = {3, 5};
static const int64_t w_shape[] = {1, 1, 2};

static void make_data(int64_t width, float value) {
  for (int64_t i = 0; i < width; i++) x[i] = value * (float)(1 + i % 7);
  for (int64_t i = 0; i + 1 < width; i++) right[i] = x[i] * w[0] + x[i + 1] * w[1];
}

static convoy_status forward(convoy_context *context, int64_t width) {
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x_shape[] = {1, 1, width};
  for (int64_t i = 0; i < width; i++) y[i] = -1;
  return convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL);
}

/* The class is proven, so that only samples are taken from now on. */
static convoy_context *open_proven(int64_t width) {
  fake.lie = FAKE_HONEST;
  convoy_context *context = open_verifying(CONVOY_VERIFY_SAMPLE, CONVOY_ON);
  make_data(width, 1);
  for (int i = 0; i < 2; i++) assert_int_equal(forward(context, width), CONVOY_OK);
  assert_int_equal(health_of(context).faults, 0);
  return context;
}

/* --------------------------------------------------------------------------------- sampling */

static int operations_until_found(int64_t one_of, int most) {
  convoy_context *context = open_proven(1001);
  fake.lie = FAKE_WRONG;
  fake.lie_one_of = one_of;
  int operations = 0;
  while (operations < most && health_of(context).wrong_results == 0) {
    assert_int_equal(forward(context, 1001), CONVOY_OK);
    operations++;
  }
  if (health_of(context).wrong_results) check_values(y, right, 1000);
  bool found = health_of(context).wrong_results == 1;
  convoy_close(context);
  return found ? operations : most + 1;
}

/* Lies in 1 % of the elements are found within 5,000 operations at 99 %. The operations are so small
 * that sampling exceeds its budget and takes its lowest rate, as in the worst case. */
static void lies_in_one_percent_are_found(void **state) {
  (void)state;
  enum { TRIALS = 200, OPERATIONS = 5000 };
  int missed = 0, longest = 0;
  double sum = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    int operations = operations_until_found(100, OPERATIONS);
    missed += operations > OPERATIONS;
    longest = operations > longest ? operations : longest;
    sum += operations;
  }
  print_message("found after %.0f operations on average, at most %d, %d of %d missed\n",
                sum / TRIALS, longest, missed, (int)TRIALS);
  assert_true(missed * 100 <= TRIALS);
}

/* The first operation lies, and only the second one's result is read: it is judged by what the first
 * one gave, which is fetched for that as long as the budget allows. The budget is a share of the time,
 * so it is seconds that find the lie, not operations: on a loaded machine other programs' time counts. */
static void lies_in_between_are_found(void **state) {
  (void)state;
  const convoy_conv first = CONVOY_CONV_INIT(1);
  convoy_conv second = CONVOY_CONV_INIT(1);
  const int64_t shapes[][3] = {{1, 1, 601}, {1, 1, 600}, {1, 1, 300}};
  float out[300];
  convoy_context *context = open_proven(601);
  convoy_tensor *t[3], *tw = tensor_of(context, w_shape, w);
  second.stride[0] = 2; /* which only the honest row takes */
  fake.lie_rows = 1;
  fake.lie_one_of = 2;
  for (int i = 0; i < 3; i++) t[i] = tensor_of(context, shapes[i], i ? NULL : x);
  const time_t end = time(NULL) + 60;
  for (int rounds = 0; time(NULL) < end && health_of(context).wrong_results == 0; rounds++) {
    assert_int_equal(convoy_forward(context, &first, t[0], tw, NULL, NULL, t[1], NULL), CONVOY_OK);
    assert_int_equal(convoy_forward(context, &second, t[1], tw, NULL, NULL, t[2], NULL), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(t[2], out, 300), CONVOY_OK);
    if (rounds > 0) fake.lie = FAKE_WRONG; /* the first round proves the second class */
  }
  assert_int_equal(health_of(context).wrong_results, 1);
  for (int i = 0; i < 300; i++) {
    assert_true(out[i] == right[2 * i] * w[0] + right[2 * i + 1] * w[1]);
  }
  for (int i = 0; i < 3; i++) convoy_tensor_free(t[i]);
  convoy_tensor_free(tw);
  convoy_close(context);
}

/* What looks wrong is looked at in every result. */
static void zeros_and_nans_are_found_at_once(void **state) {
  (void)state;
  static const fake_lie lies[] = {FAKE_ZERO, FAKE_NAN};
  for (size_t i = 0; i < 2; i++) {
    convoy_context *context = open_proven(3000);
    for (int k = 1; k <= 20; k++) {
      fake.lie = lies[i];
      assert_int_equal(forward(context, 3000), CONVOY_OK);
      assert_int_equal(health_of(context).wrong_results, k);
      check_values(y, right, 2999);
    }
    convoy_close(context);
  }
}

/* Zeros and NaN that are right raise no alarm. */
static void honest_zeros_and_nans_pass(void **state) {
  (void)state;
  static const float values[] = {0, NAN, INFINITY, 3e38f};
  for (size_t i = 0; i < 4; i++) {
    convoy_context *context =
        open_verifying(i % 2 ? CONVOY_VERIFY_ALL : CONVOY_VERIFY_SAMPLE, CONVOY_ON);
    make_data(500, values[i]);
    for (int k = 0; k < 10; k++) assert_int_equal(forward(context, 500), CONVOY_OK);
    assert_int_equal(health_of(context).faults, 0);
    convoy_close(context);
  }
}

/* With large results the share of time counts; the counter is what documents quote. */
static void sampling_is_counted(void **state) {
  (void)state;
  convoy_context *context = open_proven(1001);
  convoy_health before = health_of(context);
  for (int i = 0; i < 200; i++) assert_int_equal(forward(context, 1001), CONVOY_OK);
  convoy_health after = health_of(context);
  assert_true(after.verified > before.verified && after.verified <= before.verified + 200);
  assert_true(after.verify_nanoseconds > before.verify_nanoseconds);
  convoy_close(context);
  context = open_verifying(CONVOY_VERIFY_OFF, CONVOY_ON);
  fake.lie = FAKE_NAN;
  assert_int_equal(forward(context, 1001), CONVOY_OK);
  assert_true(isnan(y[0]));
  assert_int_equal(health_of(context).verified, 0);
  convoy_close(context);
}

/* -------------------------------------------------------------------------------- first use */

/* Each width is a class of its own that no other test uses. */
static void first_use_is_verified_wholly(void **state) {
  (void)state;
  convoy_context *context = open_verifying(CONVOY_VERIFY_SAMPLE, CONVOY_ON);
  make_data(40, 1);
  fake.lie = FAKE_WRONG;
  for (int64_t element = 0; element < 39; element++) {
    fake.lie_element = element; /* not proven as long as it lies */
    assert_int_equal(forward(context, 40), CONVOY_OK);
    check_values(y, right, 39);
    assert_int_equal(health_of(context).wrong_results, element + 1);
  }
  fake.lie = FAKE_HONEST;
  assert_int_equal(forward(context, 40), CONVOY_OK);
  assert_int_equal(health_of(context).verified, 40);
  int64_t commands = fake_seen.commands;
  assert_int_equal(forward(context, 40), CONVOY_OK);
  int64_t proven = fake_seen.commands - commands;
  convoy_close(context);

  context = open_verifying(CONVOY_VERIFY_SAMPLE, CONVOY_ON); /* proven for the whole process */
  commands = fake_seen.commands;
  assert_int_equal(forward(context, 40), CONVOY_OK);
  assert_int_equal(fake_seen.commands - commands, proven);
  convoy_close(context);
}

/* One use: a rank-1 forward of c x 64 by k filters. */
static void use(convoy_context *context, int64_t c, int64_t k, int64_t filter, int64_t stride) {
  convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t shape[] = {1, c, 64}, filters[] = {k, c, filter};
  int64_t result[3];
  conv.stride[0] = stride;
  assert_int_equal(convoy_output_shape(&conv, shape, filters, result), CONVOY_OK);
  convoy_tensor *in = tensor_of(context, shape, NULL), *by = tensor_of(context, filters, NULL);
  convoy_tensor *out = tensor_of(context, result, NULL);
  assert_int_equal(convoy_forward(context, &conv, in, by, NULL, NULL, out, NULL), CONVOY_OK);
  convoy_tensor_free(in);
  convoy_tensor_free(by);
  convoy_tensor_free(out);
}

/* As many as several networks have: none may push another out and be tested again in each step. A few
 * may have been proven before. */
static void hundreds_of_first_uses_come_once(void **state) {
  (void)state;
  enum { USES = 6 * 6 * 3 * 3 };
  convoy_context *context = open_verifying(CONVOY_VERIFY_SAMPLE, CONVOY_ON);
  int64_t verified[2];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < USES; i++) {
      const int64_t filter = (int64_t[]){1, 3, 5}[i / 36 % 3];
      use(context, INT64_C(1) << i % 6, INT64_C(1) << i / 6 % 6, filter, 1 + i / 108);
    }
    verified[round] = health_of(context).verified;
  }
  assert_in_range(verified[0], USES - 9, USES);
  assert_int_equal(verified[1], verified[0]);
  convoy_close(context);
}

static void unwritten_results_are_found_in_the_first_use(void **state) {
  (void)state;
  convoy_context *context = open_verifying(CONVOY_VERIFY_SAMPLE, CONVOY_ON);
  make_data(20, 1);
  fake.lie = FAKE_UNWRITTEN;
  assert_int_equal(forward(context, 20), CONVOY_OK);
  check_values(y, right, 19);
  assert_int_equal(health_of(context).wrong_results, 1);
  convoy_close(context);
}

/* Too much for the CPU to repeat: the corners are looked at, among others. */
static void first_use_of_a_large_problem_sees_its_corners(void **state) {
  (void)state;
  enum { C = 64, W = 26000 };
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t xs[] = {1, C, W}, ws[] = {C, C, 1};
  float *big = calloc((size_t)C * W, sizeof *big), *out = calloc((size_t)C * W, sizeof *out);
  float weights[C * C] = {0};
  assert_true(big && out);
  for (int64_t i = 0; i < (int64_t)C * W; i++) big[i] = (float)(1 + i % 5);
  for (int i = 0; i < C; i++) weights[i * C + i] = 1;
  static const int64_t corners[] = {0, W - 1, (int64_t)(C - 1) * W, (int64_t)C * W - 1};
  convoy_context *context = open_verifying(CONVOY_VERIFY_SAMPLE, CONVOY_ON);
  fake.lie = FAKE_WRONG;
  for (int i = 0; i < 4; i++) {
    fake.lie_element = corners[i];
    assert_int_equal(
        convoy_forward_host(context, &conv, xs, big, ws, weights, NULL, NULL, out, NULL),
        CONVOY_OK);
    assert_true(out[corners[i]] == big[corners[i]]);
    assert_int_equal(health_of(context).wrong_results, i + 1);
  }
  convoy_close(context);
  free(big);
  free(out);
}

/* ------------------------------------------------------------------------------- verify=all */

typedef convoy_status step_fn(convoy_context *context, step_result *result);

/* One wrong element in every result, in all operations of a training step. */
static void verify_all_catches_single_elements(void **state) {
  (void)state;
  step_fn *const steps[] = {step_host, step_tensors};
  for (int64_t element = 0; element < 6; element++) {
    for (size_t s = 0; s < 2; s++) {
      step_result result;
      step_poison(&result);
      convoy_context *context = open_verifying(CONVOY_VERIFY_ALL, CONVOY_ON);
      fake.lie = FAKE_WRONG;
      fake.lie_element = element;
      assert_int_equal(steps[s](context, &result), CONVOY_OK);
      assert_int_equal(step_difference(&result, &expected), -1);
      convoy_health health = health_of(context);
      assert_true(health.wrong_results >= 1 && health.faults == health.wrong_results);
      assert_int_equal(health.operations, 8);
      convoy_close(context);
      assert_int_equal(fake_seen.arrays, 0);
    }
  }
}

static void verify_all_passes_what_is_right(void **state) {
  (void)state;
  step_fn *const steps[] = {step_host, step_tensors};
  for (size_t s = 0; s < 2; s++) {
    step_result result;
    convoy_context *context = open_verifying(CONVOY_VERIFY_ALL, CONVOY_NO);
    assert_int_equal(steps[s](context, &result), CONVOY_OK);
    assert_int_equal(step_difference(&result, &expected), -1);
    assert_int_equal(health_of(context).verified, 8);
    convoy_close(context);
  }
}

/* --------------------------------------------------------------------------- what is reported */

static void keep_event(void *user, const convoy_event *event) {
  if (event->kind == CONVOY_EVENT_FAULT) *(convoy_event *)user = *event;
}

/* The event names the suspects and the last operation that was found right. */
static void event_names_the_suspects(void **state) {
  (void)state;
  convoy_event event = {0};
  convoy_context *context = open_verifying(CONVOY_VERIFY_ALL, CONVOY_ON);
  convoy_set_event_callback(context, keep_event, &event);
  make_data(100, 1);
  for (int i = 0; i < 3; i++) assert_int_equal(forward(context, 100), CONVOY_OK);
  assert_int_equal(event.status, CONVOY_OK);
  fake.lie = FAKE_WRONG;
  fake.lie_element = 7;
  assert_int_equal(forward(context, 100), CONVOY_OK);
  assert_int_equal(event.status, CONVOY_ERR_WRONG);
  assert_string_equal(event.device, "fake:1");
  assert_string_equal(event.algorithm, "fake.tiled");
  assert_non_null(strstr(event.message, "element 7 of n1c1w100 k1s2 forward is "));
  assert_non_null(
      strstr(event.message, "suspect are operations 4 to 4, 3 (n1c1w100 k1s2 forward)"));
  assert_non_null(strstr(event.message, "was the last verified"));
  convoy_close(context);
}

/* Without failover a lie is an error, and nothing is handed out. */
static void a_lie_is_an_error_without_failover(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t xs[] = {1, 1, 9}, ys[] = {1, 1, 8};
  convoy_context *context = open_verifying(CONVOY_VERIFY_ALL, CONVOY_NO);
  make_data(9, 1);
  assert_int_equal(forward(context, 9), CONVOY_OK);
  fake.lie = FAKE_WRONG;
  assert_int_equal(forward(context, 9), CONVOY_ERR_WRONG);
  assert_true(y[0] == -1);
  convoy_tensor *tx = tensor_of(context, xs, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, ys, NULL);
  float out[8];
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(convoy_tensor_read(ty, out, 8), CONVOY_ERR_WRONG);
    assert_non_null(strstr(convoy_last_error(), "element 0 of n1c1"));
  }
  convoy_tensor *const all[] = {tx, tw, ty};
  for (size_t i = 0; i < 3; i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

/* A lie that is found late voids what was computed from it. */
static void what_came_from_a_lie_is_computed_anew(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t shapes[][3] = {{1, 1, 12}, {1, 1, 11}, {1, 1, 10}};
  convoy_context *context = open_verifying(CONVOY_VERIFY_ALL, CONVOY_ON);
  convoy_tensor *t[3], *tw = tensor_of(context, w_shape, w);
  make_data(12, 1);
  for (int warm = 0; warm < 2; warm++) { /* the first round proves the classes */
    fake.lie = warm ? FAKE_WRONG : FAKE_HONEST;
    fake.lie_element = 3;
    for (int i = 0; i < 3; i++) t[i] = tensor_of(context, shapes[i], i ? NULL : x);
    for (int i = 0; i < 2; i++) {
      assert_int_equal(convoy_forward(context, &conv, t[i], tw, NULL, NULL, t[i + 1], NULL),
                       CONVOY_OK);
    }
    assert_int_equal(convoy_sync(context), CONVOY_OK);
    fake.lie = FAKE_HONEST;
    float wanted[10];
    for (int i = 0; i < 10; i++) wanted[i] = right[i] * w[0] + right[i + 1] * w[1];
    check_tensor(t[2], wanted);
    check_tensor(t[1], right);
    for (int i = 0; i < 3; i++) convoy_tensor_free(t[i]);
  }
  convoy_health health = health_of(context);
  assert_int_equal(health.wrong_results, 1);
  assert_int_equal(health.failovers, 2);
  convoy_tensor_free(tw);
  convoy_close(context);
}

static int make_expected(void **state) {
  (void)state;
  step_expected(&expected);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(lies_in_one_percent_are_found, reset),
      cmocka_unit_test_setup(lies_in_between_are_found, reset),
      cmocka_unit_test_setup(zeros_and_nans_are_found_at_once, reset),
      cmocka_unit_test_setup(honest_zeros_and_nans_pass, reset),
      cmocka_unit_test_setup(sampling_is_counted, reset),
      cmocka_unit_test_setup(first_use_is_verified_wholly, reset),
      cmocka_unit_test_setup(hundreds_of_first_uses_come_once, reset),
      cmocka_unit_test_setup(unwritten_results_are_found_in_the_first_use, reset),
      cmocka_unit_test_setup(first_use_of_a_large_problem_sees_its_corners, reset),
      cmocka_unit_test_setup(verify_all_catches_single_elements, reset),
      cmocka_unit_test_setup(verify_all_passes_what_is_right, reset),
      cmocka_unit_test_setup(event_names_the_suspects, reset),
      cmocka_unit_test_setup(a_lie_is_an_error_without_failover, reset),
      cmocka_unit_test_setup(what_came_from_a_lie_is_computed_anew, reset),
  };
  return cmocka_run_group_tests(tests, make_expected, NULL);
}
