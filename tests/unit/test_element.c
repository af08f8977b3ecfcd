/* src/problem/conv/element.c against the reference, which shares no code with it. */
#include <math.h>
#include <stdlib.h>

#include "common/cmocka.h"
#include "common/random_case.h"
#include "problem/conv/conv.h"
#include "ref/ref.h"

enum { MOST = 20000 };
static float first[MOST], second[MOST];

static int64_t product(const int64_t *shape, int dims) {
  int64_t count = 1;
  for (int i = 0; i < dims; i++) count *= shape[i];
  return count;
}

/* The public operands of a direction, in the order of the reference, and of the problem. */
static cvy_values values_of(const convoy_conv *conv, convoy_direction direction) {
  bool swap = conv->transposed && direction == CONVOY_BACKWARD_WEIGHTS;
  bool alone = direction == CONVOY_BACKWARD_BIAS;
  return (cvy_values){{swap ? second : first, swap ? first : alone ? NULL : second}};
}

static void check_direction(const convoy_conv *conv, convoy_direction direction, const int64_t *x,
                            const int64_t *w, const cvy_problem *p) {
  const cvy_values values = values_of(conv, direction);
  const int64_t count = ref_output_count(conv, direction, x, w);
  assert_int_equal(cvy_conv_count(p, cvy_conv_out(p)), count);
  for (int64_t i = 0; i < count; i++) {
    ref_value expected;
    const cvy_element got = cvy_problem_element(p, &values, 0, i);
    ref_element(conv, direction, x, w, first, direction == CONVOY_BACKWARD_BIAS ? NULL : second, i,
                &expected.value, &expected.magnitude, &expected.terms);
    if (got.value == expected.value && got.magnitude == expected.magnitude) continue;
    fail_msg("direction %d element %lld: %g of %g, expected %g of %g", (int)direction, (long long)i,
             got.value, got.magnitude, expected.value, expected.magnitude);
  }
}

static void all_directions_of_random_problems(void **state) {
  (void)state;
  test_random random = {11};
  int checked = 0;
  for (int i = 0; i < 1500; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
    test_random_conv(&random, &conv, x, w);
    if (cvy_output_shape(&conv, x, w, y) != CONVOY_OK) continue;
    const int dims = conv.rank + 2;
    if (product(x, dims) > 1000 || product(y, dims) > 1000 || product(w, dims) > 1000) continue;
    test_fill_integers(&random, first, MOST);
    test_fill_integers(&random, second, MOST);
    for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_BIAS; d++) {
      cvy_problem p;
      assert_int_equal(cvy_conv_make(&conv, (convoy_direction)d, x, w, 0, false, NULL, &p),
                       CONVOY_OK);
      check_direction(&conv, (convoy_direction)d, x, w, &p);
      assert_true(p.conv.n == 0 || cvy_problem_terms(&p) >= 1);
    }
    checked++;
  }
  assert_true(checked > 100);
}

static void check_wide(const convoy_conv *conv, convoy_direction direction, const int64_t *x,
                       const int64_t *w, const cvy_problem *p) {
  const cvy_values values = values_of(conv, direction);
  const int64_t count = ref_output_count(conv, direction, x, w);
  for (int64_t i = 0; i < count; i++) {
    const double got = cvy_conv_wide_magnitude(p, &values, i, 2);
    const double expected = ref_wide_magnitude(conv, direction, x, w, first, second, i, 2);
    if (got != expected)
      fail_msg("direction %d element %lld: %g, expected %g", (int)direction, (long long)i, got,
               expected);
  }
}

static void wide_magnitudes_of_random_problems(void **state) {
  (void)state;
  test_random random = {12};
  int checked = 0;
  for (int i = 0; i < 4000; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
    test_random_conv(&random, &conv, x, w);
    for (int axis = 0; axis < CONVOY_MAX_RANK; axis++) {
      conv.stride[axis] = 1;
      conv.output_padding[axis] = 0;
    }
    if (cvy_output_shape(&conv, x, w, y) != CONVOY_OK) continue;
    const int dims = conv.rank + 2;
    if (product(x, dims) > 300 || product(y, dims) > 300 || product(w, dims) > 300) continue;
    test_fill_integers(&random, first, MOST);
    test_fill_integers(&random, second, MOST);
    for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_WEIGHTS; d++) {
      cvy_problem p;
      assert_int_equal(cvy_conv_make(&conv, (convoy_direction)d, x, w, 0, false, NULL, &p),
                       CONVOY_OK);
      check_wide(&conv, (convoy_direction)d, x, w, &p);
    }
    checked++;
  }
  assert_true(checked > 100);
}

/* x = 1 2 3, w = 10 1: sums 12 23, and what comes on top. */
static void epilogue_and_prior(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x_shape[] = {1, 1, 3}, w_shape[] = {1, 1, 2};
  const float x[] = {1, 2, 3}, w[] = {10, 1}, bias[] = {-20}, prior[] = {-100, 7};
  const convoy_epilogue leaky = {sizeof leaky, CONVOY_LEAKY_RELU, 2.0f, 0};
  const convoy_epilogue relu = {sizeof relu, CONVOY_RELU, 0.0f, 0};
  cvy_problem p;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x_shape, w_shape, 0, true, &leaky, &p), 0);
  cvy_element got = cvy_problem_element(&p, &(cvy_values){{x, w, bias}}, 0, 0);
  assert_true(got.value == -16.0 && got.magnitude == 64.0); /* a slope of 2 doubles errors */
  got = cvy_problem_element(&p, &(cvy_values){{x, w, bias}}, 0, 1);
  assert_true(got.value == 3.0 && got.magnitude == 86.0);
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x_shape, w_shape, 0, true, &relu, &p), 0);
  got = cvy_problem_element(&p, &(cvy_values){{x, w, bias}}, 0, 0);
  assert_true(got.value == 0.0 && got.magnitude == 32.0);
  got = cvy_problem_element(&p, &(cvy_values){{x, w, (float[]){NAN}}}, 0, 0);
  assert_true(isnan(got.value));

  assert_int_equal(
      cvy_conv_make(&conv, CONVOY_BACKWARD_WEIGHTS, x_shape, w_shape, 1, false, NULL, &p), 0);
  got = cvy_problem_element(&p, &(cvy_values){{x, (float[]){1, 1}, prior}}, 0, 0);
  assert_true(got.value == -97.0 && got.magnitude == 103.0);
}

static void bound_is_the_promise(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  cvy_problem p;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, (int64_t[]){1, 3, 9}, (int64_t[]){2, 3, 2},
                                 0, false, NULL, &p),
                   0);
  assert_int_equal(cvy_problem_terms(&p), 6);
  assert_true(cvy_problem_bound(&p, 0x1p24) == 32.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_directions_of_random_problems),
      cmocka_unit_test(wide_magnitudes_of_random_problems),
      cmocka_unit_test(epilogue_and_prior),
      cmocka_unit_test(bound_is_the_promise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
