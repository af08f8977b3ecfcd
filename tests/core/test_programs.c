/* Programs and reductions on a device that lies, fails, forgets and has too little memory: they
 * take the way of every other operation, and no healthy result is ever blamed. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

static int reset(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  fake_reset();
  return 0;
}

/* ------------------------------------------------------------------------------------- lies */

/* What a lie is told in, with tensors n c w. Classes of programs do not depend on extents: each has
 * a text of its own. */
typedef struct told {
  const char *text;
  const char *gradient_of; /* not NULL: it is the gradient of the text for this */
  int64_t n, c, w;
  bool summed; /* results have an element for each channel */
  int output;
} told;

static const told in_mask = {"y = max(x, 0)", "x", 2, 5, 100, false, 0};
static const told in_sum = {"s = sum over n w of x", NULL, 3, 200, 20, true, 0};
static const told in_few_sums = {"s = sum over n w of x * x", NULL, 3, 8, 600, true, 0};
static const told in_variance = {
    "m = mean over n w of x; v = variance over n w of x", NULL, 3, 200, 20, true, 1};
static const told *const all_told[] = {&in_mask, &in_sum, &in_few_sums, &in_variance};

enum { MOST = 20000, OPERANDS = 4 };

typedef struct scene {
  convoy_context *context;
  convoy_program *program;
  convoy_tensor *operand[OPERANDS];
  int inputs, results;
  int64_t count; /* of elements of a result */
  float values[MOST], wanted[MOST], got[MOST];
} scene;
static scene at;

static void make_program(const told *what) {
  at.program = program_of(what->text);
  if (!what->gradient_of) return;
  convoy_program *gradient;
  assert_int_equal(convoy_program_gradient(at.program, what->gradient_of, &gradient), CONVOY_OK);
  convoy_program_free(at.program);
  at.program = gradient;
}

static void open_scene(const char *device, const told *what, convoy_verify verify) {
  const int64_t full[] = {what->n, what->c, what->w}, channels[] = {1, what->c, 1};
  at.context = open_verified(device, verify, CONVOY_ON);
  make_program(what);
  at.inputs = at.results = 0;
  for (int64_t i = 0; i < MOST; i++) at.values[i] = 0.25f * (float)(i * 37 % 101) - 12.0f;
  for (; convoy_program_input(at.program, at.inputs); at.inputs++)
    at.operand[at.inputs] = tensor_of(at.context, full, at.values);
  for (; convoy_program_result(at.program, at.results); at.results++)
    at.operand[at.inputs + at.results] =
        tensor_of(at.context, what->summed ? channels : full, NULL);
  at.count = what->summed ? what->c : what->n * what->c * what->w;
  fake.lie_output = what->output;
}

static void close_scene(void) {
  for (int i = 0; i < at.inputs + at.results; i++) convoy_tensor_free(at.operand[i]);
  convoy_program_free(at.program);
  convoy_close(at.context);
}

/* Operates, and reads the result of which a lie is told. */
static void operate(const told *what, float *values) {
  assert_int_equal(apply_to(at.context, at.program, at.operand, NULL), CONVOY_OK);
  convoy_tensor *result = at.operand[at.inputs + what->output];
  assert_int_equal(convoy_tensor_read(result, values, at.count), CONVOY_OK);
}

static void find_wanted(const told *what) {
  fake.lie = FAKE_HONEST;
  open_scene("cpu", what, CONVOY_VERIFY_OFF);
  operate(what, at.wanted);
  close_scene();
}

static void check_operation(const told *what, int64_t wrong_results) {
  operate(what, at.got);
  assert_memory_equal(at.got, at.wanted, (size_t)at.count * sizeof(float));
  assert_int_equal(health_of(at.context).wrong_results, wrong_results);
}

/* One wrong element is found before it is used: in the first use of a class, and always with
 * verify=all. */
static void single_elements_are_caught(void **state) {
  (void)state;
  for (size_t k = 0; k < CVY_COUNT(all_told); k++) {
    for (int all = 0; all < 2; all++) {
      const told *what = all_told[k];
      find_wanted(what);
      open_scene("fake", what, all ? CONVOY_VERIFY_ALL : CONVOY_VERIFY_SAMPLE);
      if (all) check_operation(what, 0); /* its class is proven */
      fake.lie = FAKE_WRONG;
      for (int times = 1; times <= 5; times++) {
        fake.lie_element = (at.count - 1) * times / 5;
        check_operation(what, times);
      }
      close_scene();
    }
  }
}

static int operations_until_found(const told *what, int most) {
  fake.lie = FAKE_HONEST;
  open_scene("fake", what, CONVOY_VERIFY_SAMPLE);
  for (int i = 0; i < 2; i++) operate(what, at.got);
  assert_int_equal(health_of(at.context).faults, 0);
  fake.lie = FAKE_WRONG;
  fake.lie_one_of = 100;
  int operations = 0;
  while (operations < most && health_of(at.context).wrong_results == 0) {
    operate(what, at.got);
    operations++;
  }
  bool found = health_of(at.context).wrong_results == 1;
  close_scene();
  fake.lie_one_of = 0;
  return found ? operations : most + 1;
}

/* Lies in 1 % of the elements are found within 5,000 operations at 99 %. */
static void lies_in_one_percent_are_found(void **state) {
  (void)state;
  enum { TRIALS = 60, OPERATIONS = 5000 };
  for (size_t k = 0; k < CVY_COUNT(all_told); k++) {
    int missed = 0, longest = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
      int operations = operations_until_found(all_told[k], OPERATIONS);
      missed += operations > OPERATIONS;
      longest = operations > longest ? operations : longest;
    }
    print_message("%s: found after at most %d operations, %d of %d missed\n", all_told[k]->text,
                  longest, missed, (int)TRIALS);
    assert_true(missed * 100 <= TRIALS);
  }
}

/* ---------------------------------------------------------------------------- false alarms */

enum { W = 60, CHANNELS = 4 };
static const int64_t full_shape[] = {2, CHANNELS, W}, channel_shape[] = {1, CHANNELS, 1};

/* Numbers that arithmetic treats in ways of its own. */
static const float denormals[] = {1e-39f, -3e-40f, 1e-45f, 0.5f * FLT_MIN, 0.0f, 1.0f};
static const float smallest[] = {FLT_MIN, -FLT_MIN, 1.5f * FLT_MIN, 2e-38f, -3e-38f, 1e-30f};
static const float zeros[] = {0.0f, -0.0f, 0.0f, -0.0f, 1.0f, -1.0f};
static const float not_finite[] = {INFINITY, 1.0f, NAN, -INFINITY, 2.0f, -0.0f};
static const float enormous[] = {FLT_MAX, -FLT_MAX, 1e38f, 3e38f, -2e38f, 1.0f};
static const float *const peculiar[] = {denormals, smallest, zeros, not_finite, enormous};
enum { EACH = 6 };

static const char *const elementwise[] = {
    "y = max(x, -x)",    "y = x * 0.25",       "y = x - 1.5 * x",
    "y = 1 / x",         "y = log(abs(x))",    "y = sqrt(abs(x))",
    "y = 0 < x ? 1 : 0", "y = x * sigmoid(x)", "y = x == 0 ? 1 : x * 1e30",
};
static const char *const reduced[] = {
    "y = sum over n w of x",
    "y = mean over n w of x",
    "y = variance over n w of x",
    "y = maximum over n w of x",
    "y = minimum over n w of x * 0.5",
    "y = sum over n w of log(abs(x))",
    "y = sum over n w of (0 < x ? 1 : 0)",
    "y = mean over n w of sqrt(abs(x))",
    "y = variance over n w of (x == 0 ? 1 : 0)",
    "y = maximum over n w of (x == 0 ? 1 : 0)",
};

/* So many results that samples are judged by their definition, and, with verify=all, by the CPU
 * engine. */
enum { MANY = 100, SHORT = 12, NUMBERS = 2 * MANY * SHORT };
static const int64_t many_shape[] = {2, MANY, SHORT}, many_channels[] = {1, MANY, 1};

static void check_blameless(const char *text, const int64_t *y_shape, const float *numbers,
                            convoy_verify verify) {
  convoy_context *context = open_verified("fake", verify, CONVOY_NO);
  convoy_program *program = program_of(text);
  float x[NUMBERS], y[NUMBERS];
  for (int i = 0; i < NUMBERS; i++) x[i] = numbers[i / SHORT % MANY == 2 ? 0 : i % EACH];
  convoy_tensor *all[] = {tensor_of(context, many_shape, x), tensor_of(context, y_shape, NULL)};
  int64_t count = y_shape[0] * y_shape[1] * y_shape[2];
  for (int times = 0; times < 4; times++) {
    if (apply_to(context, program, all, NULL) || convoy_tensor_read(all[1], y, count))
      fail_msg("%s of %g: %s", text, (double)numbers[0], convoy_last_error());
  }
  assert_int_equal(health_of(context).faults, 0);
  assert_true(health_of(context).verified >= 2);
  convoy_tensor_free(all[0]);
  convoy_tensor_free(all[1]);
  convoy_program_free(program);
  convoy_close(context);
}

/* A device that keeps denormal numbers and one that takes them for 0 are healthy both. */
static void healthy_results_are_never_blamed(void **state) {
  (void)state;
  static const fake_lie healthy[] = {FAKE_HONEST, FAKE_KEPT, FAKE_FLUSHED};
  static const convoy_verify verify[] = {CONVOY_VERIFY_SAMPLE, CONVOY_VERIFY_ALL};
  for (size_t i = 0; i < CVY_COUNT(healthy) * CVY_COUNT(peculiar) * CVY_COUNT(verify); i++) {
    const float *numbers = peculiar[i / 2 % CVY_COUNT(peculiar)];
    fake.lie = healthy[i / 2 / CVY_COUNT(peculiar)];
    for (size_t k = 0; k < CVY_COUNT(elementwise); k++)
      check_blameless(elementwise[k], many_shape, numbers, verify[i % 2]);
    for (size_t k = 0; k < CVY_COUNT(reduced); k++)
      check_blameless(reduced[k], many_channels, numbers, verify[i % 2]);
  }
}

/* Nothing is computed of nothing, but sums of nothing are results. */
static void of_nothing_nothing_is_blamed(void **state) {
  (void)state;
  static const int64_t none[] = {2, CHANNELS, 0};
  convoy_context *context = open_verified("fake", CONVOY_VERIFY_ALL, CONVOY_NO);
  convoy_program *program = program_of(
      "s = sum over n w of x; m = mean over n w of x; v = variance over n w of x; "
      "a = maximum over n w of x");
  convoy_program *relu = program_of("y = max(x, 0)");
  convoy_tensor *all[5] = {tensor_of(context, none, NULL)};
  for (int i = 1; i < 5; i++) all[i] = tensor_of(context, channel_shape, NULL);
  convoy_tensor *pair[] = {all[0], tensor_of(context, none, NULL)};
  float values[CHANNELS];
  assert_int_equal(apply_to(context, relu, pair, NULL), CONVOY_OK);
  assert_int_equal(apply_to(context, program, all, NULL), CONVOY_OK);
  for (int i = 1; i < 5; i++)
    assert_int_equal(convoy_tensor_read(all[i], values, CHANNELS), CONVOY_OK);
  assert_true(values[0] == -INFINITY);
  assert_int_equal(health_of(context).faults, 0);
  for (int i = 0; i < 5; i++) convoy_tensor_free(all[i]);
  convoy_tensor_free(pair[1]);
  convoy_program_free(program);
  convoy_program_free(relu);
  convoy_close(context);
}

static convoy_tensor *typed_of(convoy_context *context, convoy_dtype dtype, const void *values) {
  convoy_tensor *tensor;
  assert_int_equal(convoy_tensor_new_typed(context, dtype, 3, full_shape, &tensor), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(tensor, values, 2 * CHANNELS * W), CONVOY_OK);
  return tensor;
}

/* Their bytes, read as float32, are NaN, infinite or denormal: nobody may take them for that. */
static void masks_and_labels_are_not_blamed(void **state) {
  (void)state;
  int32_t labels[2 * CHANNELS * W];
  uint8_t mask[2 * CHANNELS * W];
  float x[2 * CHANNELS * W], y[2 * CHANNELS * W];
  for (int i = 0; i < 2 * CHANNELS * W; i++) {
    labels[i] = i % 3 ? 0x7fc00000 + i : i % 2 ? -1 : 3;
    mask[i] = i % 5 ? 255 : 0;
    x[i] = (float)(i % 7);
  }
  for (int verify = CONVOY_VERIFY_SAMPLE; verify <= CONVOY_VERIFY_ALL; verify++) {
    convoy_context *context = open_verified("fake", (convoy_verify)verify, CONVOY_NO);
    convoy_tensor *all[] = {
        typed_of(context, CONVOY_INT32, labels), tensor_of(context, full_shape, x),
        typed_of(context, CONVOY_UINT8, mask), tensor_of(context, full_shape, NULL)};
    convoy_program *program = program_of("y = label == 3 ? x * mask : -x");
    for (int i = 0; i < 3; i++) {
      assert_int_equal(apply_to(context, program, all, NULL), CONVOY_OK);
      assert_int_equal(convoy_tensor_read(all[3], y, 2 * CHANNELS * W), CONVOY_OK);
    }
    for (int i = 0; i < 2 * CHANNELS * W; i++)
      assert_true(y[i] == (labels[i] == 3 ? x[i] * (float)mask[i] : -x[i]));
    convoy_health health = health_of(context);
    assert_int_equal(health.faults, 0);
    assert_int_equal(health.device_operations, 3);
    for (int i = 0; i < 4; i++) convoy_tensor_free(all[i]);
    convoy_program_free(program);
    convoy_close(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(single_elements_are_caught, reset),
      cmocka_unit_test_setup(lies_in_one_percent_are_found, reset),
      cmocka_unit_test_setup(healthy_results_are_never_blamed, reset),
      cmocka_unit_test_setup(of_nothing_nothing_is_blamed, reset),
      cmocka_unit_test_setup(masks_and_labels_are_not_blamed, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
