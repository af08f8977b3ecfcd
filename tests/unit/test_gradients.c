/* src/problem: that every row has a gradient, and those of convolutions. */
#include "common/cmocka.h"
#include "common/random_case.h"
#include "problem/conv/conv.h"
#include "unit/gradient_check.h"

/* Operations that have none, by their names. */
static const char *const without[] = {NULL};

static bool is_without(const char *name) {
  for (size_t i = 0; i < CVY_COUNT(without); i++)
    if (without[i] && strcmp(without[i], name) == 0) return true;
  return false;
}

static void every_row_has_one(void **state) {
  (void)state;
  for (int32_t i = 0; i < cvy_operation_count; i++) {
    const cvy_operation *row = cvy_operations[i];
    if (is_without(row->name) != !row->gradient) fail_msg("%s", row->name);
  }
}

static int64_t product(const int64_t *shape, int dims) {
  int64_t count = 1;
  for (int i = 0; i < dims; i++) count *= shape[i];
  return count;
}

/* Any that a call could make, but for what accumulates: that with an activation is the row's. */
static bool random_problem(test_random *random, cvy_problem *out) {
  static const float slopes[] = {0.25f, 0.0f, 1.0f, 2.0f};
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  test_random_conv(random, &conv, x, w);
  if (cvy_output_shape(&conv, x, w, y) != CONVOY_OK) return false;
  int dims = conv.rank + 2;
  if (product(x, dims) > 600 || product(y, dims) > 600 || product(w, dims) > 600) return false;
  convoy_direction direction = (convoy_direction)test_between(random, 0, CONVOY_DIRECTIONS - 1);
  bool adds = test_between(random, 0, 2) == 0;
  bool bias = !adds && direction == CONVOY_FORWARD && test_between(random, 0, 1);
  epilogue.activation = (convoy_activation)test_between(random, 0, CONVOY_LEAKY_RELU);
  epilogue.slope = slopes[test_between(random, 0, CVY_COUNT(slopes) - 1)];
  return cvy_conv_make(&conv, direction, x, w, adds ? 1.0f : 0.0f, bias, &epilogue, out) ==
         CONVOY_OK;
}

static void convolutions_against_differences(void **state) {
  (void)state;
  test_random random = {31};
  test_gradient_counts counts = {0};
  int problems[CVY_CONV_OPERATIONS] = {0}, biased = 0;
  for (int i = 0; i < 1500; i++) {
    cvy_problem p;
    if (!random_problem(&random, &p)) continue;
    uint32_t all = (1u << cvy_problem_reads(&p)) - 1;
    uint32_t wanted = test_between(&random, 0, 2) ? all : (uint32_t)test_next(&random) & all;
    assert_int_equal(test_check_gradient(&random, &p, wanted, 1, 4, &counts), CONVOY_OK);
    problems[p.operation]++;
    biased += p.conv.has_bias;
  }
  print_message("%d checked, %d skipped, %d steps\n", counts.checked, counts.skipped, counts.steps);
  for (int d = 0; d < CVY_CONV_OPERATIONS; d++) assert_true(problems[d] > 50);
  assert_true(biased > 30 && counts.checked > 20 * counts.skipped);
}

static cvy_problem conv_of(const char *text) {
  cvy_problem p;
  if (!cvy_problem_read(text, &p)) fail_msg("'%s'", text);
  return p;
}

static void assert_operand(cvy_gradient_operand got, int32_t source, int32_t number) {
  assert_int_equal(got.source, source);
  assert_int_equal(got.number, number);
  assert_int_equal(got.output, 0);
}

/* Nothing is computed that is known, and a layer's gradients are the operations that it has. */
static void steps_of_a_layer(void **state) {
  (void)state;
  static cvy_gradient g;
  cvy_problem p = conv_of("n2c3h5w6 k4r3s3 pad1 forward"), wanted;
  assert_int_equal(cvy_problem_gradient(&p, 3, 1, &g), CONVOY_OK);
  assert_int_equal(g.steps, 2);
  wanted = conv_of("n2c3h5w6 k4r3s3 pad1 backward_data");
  assert_true(cvy_problem_equal(&g.step[0].problem, &wanted));
  assert_operand(g.step[0].in[0], CVY_GRADIENT_OF_OUTPUT, 0);
  assert_operand(g.step[0].in[1], CVY_GRADIENT_INPUT, 1);
  wanted = conv_of("n2c3h5w6 k4r3s3 pad1 backward_weights");
  assert_true(cvy_problem_equal(&g.step[1].problem, &wanted));
  assert_operand(g.step[1].in[0], CVY_GRADIENT_INPUT, 0);
  assert_operand(g.step[1].in[1], CVY_GRADIENT_OF_OUTPUT, 0);
  assert_operand(g.of[0], CVY_GRADIENT_STEP, 0);
  assert_operand(g.of[1], CVY_GRADIENT_STEP, 1);
  p = conv_of("n2c3h5w6 k4r3s3 pad1 backward_weights, added to what is there");
  assert_int_equal(cvy_problem_gradient(&p, 4, 1, &g), CONVOY_OK);
  assert_int_equal(g.steps, 0);
  assert_operand(g.of[2], CVY_GRADIENT_OF_OUTPUT, 0);
  assert_int_equal(cvy_problem_gradient(&p, 7, 0, &g), CONVOY_OK);
  assert_int_equal(g.steps, 0);
  for (int i = 0; i < 3; i++) assert_operand(g.of[i], CVY_GRADIENT_NONE, 0);
}

/* Activation and bias, of a transposed layer: its forward is backward_data of another. */
static void steps_with_an_epilogue(void **state) {
  (void)state;
  static cvy_gradient g;
  const int64_t x[] = {2, 4, 5, 6}, w[] = {4, 3, 3, 3};
  int64_t y[CONVOY_MAX_DIMS];
  convoy_conv conv = CONVOY_CONV_INIT(2);
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem p, sum;
  epilogue.activation = CONVOY_LEAKY_RELU;
  epilogue.slope = 0.125f;
  for (conv.transposed = 0; conv.transposed < 2; conv.transposed++) {
    conv.groups = conv.transposed ? 1 : 4;
    const int64_t filter[] = {w[0], conv.transposed ? w[1] : 1, w[2], w[3]};
    assert_int_equal(cvy_output_shape(&conv, x, filter, y), CONVOY_OK);
    assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x, filter, 0, true, &epilogue, &p),
                     CONVOY_OK);
    assert_int_equal(cvy_problem_gradient(&p, 4, 1, &g), CONVOY_OK);
    assert_int_equal(g.steps, 2);
    cvy_problem_text(&g.step[0].problem, text, sizeof text);
    assert_string_equal(text, conv.transposed ? "y0 = x0 <= 0 ? 0.125 * x1 : x1 on n2c3h7w8"
                                              : "y0 = x0 <= 0 ? 0.125 * x1 : x1 on n2c4h3w4");
    assert_operand(g.step[0].in[0], CVY_GRADIENT_OUTPUT, 0);
    assert_operand(g.step[0].in[1], CVY_GRADIENT_OF_OUTPUT, 0);
    const convoy_conv same = CONVOY_CONV_INIT(2);
    assert_int_equal(cvy_conv_make_bias(&same, y, 0, &sum), CONVOY_OK);
    assert_true(cvy_problem_equal(&g.step[1].problem, &sum));
    assert_operand(g.step[1].in[0], CVY_GRADIENT_STEP, 0);
    assert_operand(g.of[2], CVY_GRADIENT_STEP, 1);
  }
}

/* Of no images: what is added to alone has one. */
static void steps_of_an_empty_batch(void **state) {
  (void)state;
  static cvy_gradient g;
  cvy_problem p = conv_of("n0c3h5w6 k4r3s3 pad1 backward_weights, added to what is there");
  assert_int_equal(cvy_problem_gradient(&p, 7, 1, &g), CONVOY_OK);
  assert_int_equal(g.steps, 0);
  for (int i = 0; i < 2; i++) assert_operand(g.of[i], CVY_GRADIENT_NONE, 0);
  assert_operand(g.of[2], CVY_GRADIENT_OF_OUTPUT, 0);
}

static void what_has_none_is_refused(void **state) {
  (void)state;
  static cvy_gradient g;
  cvy_problem p = conv_of("n2c3h5w6 k4r3s3 pad1 forward");
  assert_int_equal(cvy_problem_gradient(&p, 4, 1, &g), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "arrays 0x4 of outputs 0x1"));
  assert_int_equal(cvy_problem_gradient(&p, 1, 2, &g), CONVOY_ERR_ARGUMENT);
  p.conv.activation = CONVOY_LEAKY_RELU;
  p.conv.slope = -0.5f;
  assert_int_equal(cvy_problem_gradient(&p, 1, 1, &g), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "slope -0.5"));
  assert_non_null(strstr(cvy_last_error(), "n2c3h5w6 k4r3s3 pad1 forward"));
  p.conv.slope = 1e-40f;
  assert_int_equal(cvy_problem_gradient(&p, 1, 1, &g), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "slope 9.99995e-41"));
  p = conv_of("n2147483647c1h16384w32768 k1r1s1 backward_bias");
  assert_int_equal(cvy_problem_gradient(&p, 1, 1, &g), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "more than 2^56 elements"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_has_one),       cmocka_unit_test(convolutions_against_differences),
      cmocka_unit_test(steps_of_a_layer),        cmocka_unit_test(steps_with_an_epilogue),
      cmocka_unit_test(steps_of_an_empty_batch), cmocka_unit_test(what_has_none_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
