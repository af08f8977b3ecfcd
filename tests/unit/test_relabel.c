/* src/problem/conv: from the public call to a problem of rank 3 that is never transposed; its
 * counts, work and the call it stands for. */
#include "problem/conv/conv.h"

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
  assert_int_equal(cvy_conv_make(&conv, direction, transposed ? y : x, w, 0.0f, false, NULL, out),
                   CONVOY_OK);
}

static void missing_axes_are_ones_in_front(void **state) {
  (void)state;
  cvy_problem p;
  make_example(CONVOY_FORWARD, 0, &p);
  const int64_t in[] = {1, 17, 14}, filter[] = {1, 3, 5}, out[] = {1, 5, 3};
  const int64_t stride[] = {1, 2, 5}, dilation[] = {1, 4, 2}, pad[] = {0, 1, 3};
  assert_memory_equal(p.conv.in, in, sizeof in);
  assert_memory_equal(p.conv.filter, filter, sizeof filter);
  assert_memory_equal(p.conv.out, out, sizeof out);
  assert_memory_equal(p.conv.stride, stride, sizeof stride);
  assert_memory_equal(p.conv.dilation, dilation, sizeof dilation);
  assert_memory_equal(p.conv.pad, pad, sizeof pad);
  assert_int_equal(p.conv.rank, 2);
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
    assert_int_equal(transposed.operation, ordinary.operation);
    assert_int_equal(transposed.conv.c, ordinary.conv.c);
    assert_int_equal(transposed.conv.k, ordinary.conv.k);
    assert_memory_equal(transposed.conv.out, ordinary.conv.out, sizeof ordinary.conv.out);
  }
}

static void bias_of_transposed_sums_over_its_own_output(void **state) {
  (void)state;
  cvy_problem p;
  make_example(CONVOY_BACKWARD_BIAS, 1, &p);
  assert_int_equal(p.operation, CONVOY_BACKWARD_BIAS);
  assert_int_equal(p.conv.k, 6);
  assert_int_equal(cvy_conv_count(&p, CVY_BIAS), 6);
}

static void bias_problem_needs_only_dy(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(2);
  const int64_t dy[] = {2, 4, 5, 3}, flat[] = {2, 4, 0, 3};
  cvy_problem p;
  assert_int_equal(cvy_conv_make_bias(&conv, dy, 1.0f, &p), CONVOY_OK);
  assert_int_equal(p.accumulate, 1);
  assert_int_equal(cvy_conv_count(&p, CVY_Y), 120);
  assert_int_equal(cvy_conv_count(&p, CVY_BIAS), 4);
  assert_int_equal(cvy_conv_make_bias(&conv, flat, 1.0f, &p), CONVOY_ERR_SHAPE);
  assert_int_equal(cvy_conv_make_bias(&conv, dy, 2.0f, &p), CONVOY_ERR_ARGUMENT);
}

static void epilogue_is_carried_along(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const convoy_epilogue leaky = {sizeof leaky, CONVOY_LEAKY_RELU, 0.25f, 0};
  const convoy_epilogue relu = {sizeof relu, CONVOY_RELU, 0.25f, 0};
  const int64_t x[] = {1, 1, 5}, w[] = {1, 1, 2};
  cvy_problem p;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x, w, 0, true, &leaky, &p), CONVOY_OK);
  assert_true(p.conv.has_bias && p.conv.activation == CONVOY_LEAKY_RELU && p.conv.slope == 0.25f);
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x, w, 0, false, &relu, &p), CONVOY_OK);
  assert_true(!p.conv.has_bias && p.conv.activation == CONVOY_RELU && p.conv.slope == 0.0f);
}

static cvy_conv_array public_array(const convoy_conv *conv, cvy_conv_array array) {
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
    if (cvy_conv_make(&conv, CONVOY_FORWARD, x, w, 0, false, NULL, &p)) continue;
    ref_output_shape(&conv, x, w, y);
    const int dims = conv.rank + 2;
    assert_int_equal(cvy_conv_count(&p, public_array(&conv, CVY_X)), product(x, dims));
    assert_int_equal(cvy_conv_count(&p, public_array(&conv, CVY_Y)), product(y, dims));
    assert_int_equal(cvy_conv_count(&p, CVY_W), product(w, dims));
    assert_int_equal(cvy_conv_count(&p, CVY_BIAS), y[1]);
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

static void same(const cvy_problem *a, const cvy_problem *b, bool wanted) {
  if (cvy_problem_same(a, b) != wanted) fail_msg("taken for %s", wanted ? "another" : "the same");
}

static void every_number_tells_problems_apart(void **state) {
  (void)state;
  cvy_problem p, q;
  make_example(CONVOY_BACKWARD_DATA, 0, &p);
  q = p;
  int64_t *const fields[] = {&q.conv.n,         &q.conv.c,          &q.conv.k,      &q.conv.groups,
                             &q.conv.in[1],     &q.conv.filter[2],  &q.conv.out[0], &q.conv.pad[1],
                             &q.conv.stride[2], &q.conv.dilation[0]};
  same(&p, &q, true);
  for (size_t i = 0; i < CVY_COUNT(fields); i++) {
    ++*fields[i];
    same(&p, &q, false);
    --*fields[i];
  }
  q.operation = CONVOY_FORWARD;
  same(&p, &q, false);
}

/* What a record of tuning says of one must hold for the others. */
static void how_it_is_put_and_what_comes_on_top_do_not(void **state) {
  (void)state;
  const convoy_conv flat = CONVOY_CONV_INIT(1), deep = CONVOY_CONV_INIT(2);
  convoy_conv wasteful = deep;
  const int64_t x1[] = {2, 3, 9}, w1[] = {4, 3, 2}, x2[] = {2, 3, 1, 9}, w2[] = {4, 3, 1, 2};
  cvy_problem p, q;
  assert_int_equal(cvy_conv_make(&flat, CONVOY_FORWARD, x1, w1, 0, true, NULL, &p), CONVOY_OK);
  assert_int_equal(cvy_conv_make(&deep, CONVOY_FORWARD, x2, w2, 0, false, NULL, &q), CONVOY_OK);
  same(&p, &q, true);
  const int64_t x[] = {2, 3, 1, 10}, y[] = {2, 4, 1, 5};
  wasteful.stride[1] = 2;
  assert_int_equal(cvy_conv_make(&wasteful, CONVOY_FORWARD, x, w2, 0, 0, NULL, &p), CONVOY_OK);
  wasteful.pad_end[1] = 1; /* which no window reaches */
  assert_int_equal(cvy_conv_make(&wasteful, CONVOY_FORWARD, x, w2, 0, 0, NULL, &q), CONVOY_OK);
  same(&p, &q, true);
  wasteful.transposed = 1; /* maps y to x */
  wasteful.output_padding[1] = 1;
  assert_int_equal(cvy_conv_make(&wasteful, CONVOY_BACKWARD_DATA, y, w2, 0, 0, NULL, &q),
                   CONVOY_OK);
  same(&p, &q, true);
}

/* Also transposed ones whose output padding no ordinary convolution has. */
static void its_text_is_that_of_the_call(void **state) {
  (void)state;
  test_random random = {7};
  int checked = 0;
  for (int i = 0; i < 5000; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
    cvy_problem p;
    char text[CONVOY_PROBLEM_TEXT], wanted[CONVOY_PROBLEM_TEXT];
    const convoy_direction direction = (convoy_direction)test_between(&random, 0, 2);
    test_random_conv(&random, &conv, x, w);
    if (cvy_conv_make(&conv, direction, x, w, 0, true, NULL, &p)) continue;
    assert_int_equal(cvy_format_problem(&conv, x, w, direction, wanted, sizeof wanted), CONVOY_OK);
    cvy_problem_text(&p, text, sizeof text);
    assert_string_equal(text, wanted);
    checked++;
  }
  assert_true(checked > 1000);
}

static void text_of_a_bias_has_what_dy_says(void **state) {
  (void)state;
  cvy_problem p;
  char text[CONVOY_PROBLEM_TEXT];
  make_example(CONVOY_BACKWARD_BIAS, 0, &p);
  cvy_problem_text(&p, text, sizeof text);
  assert_string_equal(text, "n2c1h5w3 k4r1s1 backward_bias");
  make_example(CONVOY_BACKWARD_BIAS, 1, &p);
  cvy_problem_text(&p, text, sizeof text);
  assert_string_equal(text, "n2c1h16w13 k6r1s1 backward_bias");
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
      cmocka_unit_test(every_number_tells_problems_apart),
      cmocka_unit_test(how_it_is_put_and_what_comes_on_top_do_not),
      cmocka_unit_test(its_text_is_that_of_the_call),
      cmocka_unit_test(text_of_a_bias_has_what_dy_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
