/* src/conv: from the public call to a problem of rank 3 that is never transposed; its counts, work
 * and key. */
#include "conv/problem.h"

#include <string.h>

#include "common/cmocka.h"
#include "common/random_case.h"
#include "ref/ref.h"

/* n2c6h17w14 k4r3s5 stride2,5 pad1:0,3 dil4,2 groups2: y is 5 x 3. */
static void make_example(convoy_direction direction, int32_t transposed, cvy_problem *out) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  conv.groups = 2;
  conv.transposed = transposed;
  conv.stride[0] = 2;
  conv.stride[1] = 5;
  conv.dilation[0] = 4;
  conv.dilation[1] = 2;
  conv.pad_begin[0] = 1;
  conv.pad_begin[1] = conv.pad_end[1] = 3;
  const int64_t x[] = {2, 6, 17, 14}, y[] = {2, 4, 5, 3}, w[] = {4, 3, 3, 5};
  assert_int_equal(
      cvy_problem_make(&conv, direction, transposed ? y : x, w, 0.0f, false, NULL, out), CONVOY_OK);
}

static void missing_axes_are_ones_in_front(void **state) {
  (void)state;
  cvy_problem p;
  make_example(CONVOY_FORWARD, 0, &p);
  const int64_t in[] = {1, 17, 14}, filter[] = {1, 3, 5}, out[] = {1, 5, 3};
  const int64_t stride[] = {1, 2, 5}, dilation[] = {1, 4, 2}, pad[] = {0, 1, 3};
  assert_memory_equal(p.in, in, sizeof in);
  assert_memory_equal(p.filter, filter, sizeof filter);
  assert_memory_equal(p.out, out, sizeof out);
  assert_memory_equal(p.stride, stride, sizeof stride);
  assert_memory_equal(p.dilation, dilation, sizeof dilation);
  assert_memory_equal(p.pad, pad, sizeof pad);
  assert_int_equal(p.rank, 2);
}

/* The transposed problem of y to x is the ordinary one of x to y, read the other way. */
static void transposed_is_the_same_problem_backwards(void **state) {
  (void)state;
  static const convoy_direction mirrored[CONVOY_DIRECTIONS] = {
      CONVOY_BACKWARD_DATA, CONVOY_FORWARD, CONVOY_BACKWARD_WEIGHTS, CONVOY_BACKWARD_BIAS};
  for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_WEIGHTS; d++) {
    cvy_problem transposed, ordinary;
    make_example((convoy_direction)d, 1, &transposed);
    make_example(mirrored[d], 0, &ordinary);
    assert_int_equal(transposed.direction, ordinary.direction);
    assert_int_equal(transposed.c, ordinary.c);
    assert_int_equal(transposed.k, ordinary.k);
    assert_memory_equal(transposed.out, ordinary.out, sizeof ordinary.out);
  }
}

static void bias_of_transposed_sums_over_its_own_output(void **state) {
  (void)state;
  cvy_problem p;
  make_example(CONVOY_BACKWARD_BIAS, 1, &p);
  assert_int_equal(p.direction, CONVOY_BACKWARD_BIAS);
  assert_int_equal(p.k, 6);
  assert_int_equal(cvy_problem_count(&p, CVY_BIAS), 6);
}

static void bias_problem_needs_only_dy(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(2);
  const int64_t dy[] = {2, 4, 5, 3}, flat[] = {2, 4, 0, 3};
  cvy_problem p;
  assert_int_equal(cvy_problem_bias(&conv, dy, 1.0f, &p), CONVOY_OK);
  assert_int_equal(p.accumulate, 1);
  assert_int_equal(cvy_problem_count(&p, CVY_Y), 120);
  assert_int_equal(cvy_problem_count(&p, CVY_BIAS), 4);
  assert_int_equal(cvy_problem_bias(&conv, flat, 1.0f, &p), CONVOY_ERR_SHAPE);
  assert_int_equal(cvy_problem_bias(&conv, dy, 2.0f, &p), CONVOY_ERR_ARGUMENT);
}

static void epilogue_is_carried_along(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const convoy_epilogue leaky = {sizeof leaky, CONVOY_LEAKY_RELU, 0.25f, 0};
  const convoy_epilogue relu = {sizeof relu, CONVOY_RELU, 0.25f, 0};
  const int64_t x[] = {1, 1, 5}, w[] = {1, 1, 2};
  cvy_problem p;
  assert_int_equal(cvy_problem_make(&conv, CONVOY_FORWARD, x, w, 0, true, &leaky, &p), CONVOY_OK);
  assert_true(p.has_bias && p.activation == CONVOY_LEAKY_RELU && p.slope == 0.25f);
  assert_int_equal(cvy_problem_make(&conv, CONVOY_FORWARD, x, w, 0, false, &relu, &p), CONVOY_OK);
  assert_true(!p.has_bias && p.activation == CONVOY_RELU && p.slope == 0.0f);
}

static cvy_array public_array(const convoy_conv *conv, cvy_array array) {
  if (!conv->transposed) return array;
  return array == CVY_X ? CVY_Y : array == CVY_Y ? CVY_X : array;
}

static int64_t product(const int64_t *shape, int dims) {
  int64_t count = 1;
  for (int i = 0; i < dims; i++) count *= shape[i];
  return count;
}

static void counts_are_those_of_the_shapes(void **state) {
  (void)state;
  test_random random = {2};
  for (int i = 0; i < 2000; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
    cvy_problem p;
    test_random_conv(&random, &conv, x, w);
    if (cvy_problem_make(&conv, CONVOY_FORWARD, x, w, 0, false, NULL, &p)) continue;
    ref_output_shape(&conv, x, w, y);
    const int dims = conv.rank + 2;
    assert_int_equal(cvy_problem_count(&p, public_array(&conv, CVY_X)), product(x, dims));
    assert_int_equal(cvy_problem_count(&p, public_array(&conv, CVY_Y)), product(y, dims));
    assert_int_equal(cvy_problem_count(&p, CVY_W), product(w, dims));
    assert_int_equal(cvy_problem_count(&p, CVY_BIAS), y[1]);
  }
}

/* 2 * (n 2 * k 4 * 15 positions) * (3 channels * 15 taps); 15 positions * 8 sums for the bias. */
static void work_of_the_example(void **state) {
  (void)state;
  cvy_problem p;
  for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_WEIGHTS; d++) {
    make_example((convoy_direction)d, 0, &p);
    assert_true(cvy_problem_flops(&p) == 2.0 * 120 * 45);
    assert_true(cvy_problem_bytes(&p) == 4.0 * (2 * 6 * 17 * 14 + 4 * 45 + 120));
  }
  make_example(CONVOY_BACKWARD_BIAS, 0, &p);
  assert_true(cvy_problem_flops(&p) == 120.0);
  assert_true(cvy_problem_bytes(&p) == 4.0 * (120 + 4));
  p.accumulate = 1;
  assert_true(cvy_problem_bytes(&p) == 4.0 * (120 + 4 + 4));
}

static void key_is_one_word_and_tells_problems_apart(void **state) {
  (void)state;
  char key[CONVOY_PROBLEM_TEXT], other[CONVOY_PROBLEM_TEXT];
  cvy_problem p;
  make_example(CONVOY_BACKWARD_DATA, 0, &p);
  cvy_problem_key(&p, key, sizeof key);
  assert_null(strpbrk(key, " \t\n|"));
  int64_t *const fields[] = {&p.n,         &p.c,      &p.k,      &p.groups,    &p.in[1],
                             &p.filter[2], &p.out[0], &p.pad[1], &p.stride[2], &p.dilation[0]};
  for (size_t i = 0; i < CVY_COUNT(fields); i++) {
    ++*fields[i];
    cvy_problem_key(&p, other, sizeof other);
    assert_string_not_equal(key, other);
    --*fields[i];
  }
  p.direction = CONVOY_FORWARD;
  cvy_problem_key(&p, other, sizeof other);
  assert_string_not_equal(key, other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_axes_are_ones_in_front),
      cmocka_unit_test(transposed_is_the_same_problem_backwards),
      cmocka_unit_test(bias_of_transposed_sums_over_its_own_output),
      cmocka_unit_test(bias_problem_needs_only_dy),
      cmocka_unit_test(epilogue_is_carried_along),
      cmocka_unit_test(counts_are_those_of_the_shapes),
      cmocka_unit_test(work_of_the_example),
      cmocka_unit_test(key_is_one_word_and_tells_problems_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
