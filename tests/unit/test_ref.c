/* The reference itself, against values worked out by hand. */
#include "ref/ref.h"

#include "common/cmocka.h"

static void expect_values(const ref_value *got, const double *expected, int count) {
  for (int i = 0; i < count; i++)
    if (!(got[i].value == expected[i]))
      fail_msg("element %d is %g, by hand it is %g", i, got[i].value, expected[i]);
}

/* x = 1 2 3 4, w = 10 1, stride 2: y = (1*10 + 2*1) (3*10 + 4*1). */
static void forward_of_rank_1(void **state) {
  (void)state;
  convoy_conv conv = CONVOY_CONV_INIT(1);
  conv.stride[0] = 2;
  const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
  const float x[] = {1, 2, 3, 4}, w[] = {10, 1};
  ref_value y[2];
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  expect_values(y, (const double[]){12, 34}, 2);
  assert_int_equal(y[0].terms, 2);
}

/* Padding 1 in front only, dilation 2: taps at i - 1 and i + 1. */
static void padding_is_counted_per_side(void **state) {
  (void)state;
  convoy_conv conv = CONVOY_CONV_INIT(1);
  conv.pad_begin[0] = 1;
  conv.dilation[0] = 2;
  const int64_t x_shape[] = {1, 1, 3}, w_shape[] = {1, 1, 2};
  const float x[] = {1, 2, 3}, w[] = {10, -1};
  int64_t y_shape[3];
  ref_value y[2];
  ref_output_shape(&conv, x_shape, w_shape, y_shape);
  assert_int_equal(y_shape[2], 2);
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  expect_values(y, (const double[]){-2, 7}, 2);
  assert_int_equal(y[0].terms, 1);
  assert_true(y[1].magnitude == 13.0);
}

/* Height and width differ in everything. x = 1 2 3 / 4 5 6, w (1 high, 2 wide) = 1 10, stride 1,2,
 * padding of the width 0:1: rows (1 + 20) (3 + 0) / (4 + 50) (6 + 0). */
static void forward_of_rank_2(void **state) {
  (void)state;
  convoy_conv conv = CONVOY_CONV_INIT(2);
  conv.stride[1] = 2;
  conv.pad_end[1] = 1;
  const int64_t x_shape[] = {1, 1, 2, 3}, w_shape[] = {1, 1, 1, 2};
  const float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 10};
  ref_value y[4];
  assert_int_equal(ref_output_count(&conv, CONVOY_FORWARD, x_shape, w_shape), 4);
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  expect_values(y, (const double[]){21, 3, 54, 6}, 4);
}

/* A filter of 2 along z only, over two batches of 2 x 1 x 2. */
static void forward_of_rank_3(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(3);
  const int64_t x_shape[] = {2, 1, 2, 1, 2}, w_shape[] = {1, 1, 2, 1, 1};
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, w[] = {1, 100};
  ref_value y[4];
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  expect_values(y, (const double[]){301, 402, 705, 806}, 4);
}

/* Two groups, multiplier 2: outputs 0 and 1 see channel 0, outputs 2 and 3 see channel 1. */
static void groups_stay_apart(void **state) {
  (void)state;
  convoy_conv conv = CONVOY_CONV_INIT(1);
  conv.groups = 2;
  const int64_t x_shape[] = {1, 2, 1}, w_shape[] = {4, 1, 1};
  const float x[] = {3, 5}, w[] = {1, 10, 100, 1000}, dy[] = {1, 2, 3, 4};
  ref_value y[4], dx[2], dw[4];
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  expect_values(y, (const double[]){3, 30, 500, 5000}, 4);
  ref_run(&conv, CONVOY_BACKWARD_DATA, x_shape, w_shape, dy, w, dx);
  expect_values(dx, (const double[]){21, 4300}, 2);
  ref_run(&conv, CONVOY_BACKWARD_WEIGHTS, x_shape, w_shape, x, dy, dw);
  expect_values(dw, (const double[]){3, 6, 15, 20}, 4);
}

/* y0 = x0 w0 + x1 w1, y1 = x2 w0 + x3 w1; x4 is reached by no position. */
static void backward_of_rank_1(void **state) {
  (void)state;
  convoy_conv conv = CONVOY_CONV_INIT(1);
  conv.stride[0] = 2;
  const int64_t x_shape[] = {1, 1, 5}, w_shape[] = {1, 1, 2};
  const float x[] = {1, 2, 3, 4, 5}, w[] = {10, 1}, dy[] = {2, 3};
  ref_value dx[5], dw[2], db[1];
  ref_run(&conv, CONVOY_BACKWARD_DATA, x_shape, w_shape, dy, w, dx);
  expect_values(dx, (const double[]){20, 2, 30, 3, 0}, 5);
  assert_int_equal(dx[4].terms, 0);
  ref_run(&conv, CONVOY_BACKWARD_WEIGHTS, x_shape, w_shape, x, dy, dw);
  expect_values(dw, (const double[]){11, 16}, 2);
  ref_run(&conv, CONVOY_BACKWARD_BIAS, x_shape, w_shape, dy, NULL, db);
  expect_values(db, (const double[]){5}, 1);
  assert_int_equal(db[0].terms, 2);
}

/* Transposed: x0 lands on 0 and 1, x1 on 2 and 3; output padding adds a 0 at the end, padding 1 in
 * front takes the first one away. */
static void transposed_spreads(void **state) {
  (void)state;
  convoy_conv conv = CONVOY_CONV_INIT(1);
  conv.transposed = 1;
  conv.stride[0] = 2;
  conv.pad_begin[0] = 1;
  conv.output_padding[0] = 1;
  const int64_t x_shape[] = {1, 1, 2}, w_shape[] = {1, 1, 2};
  const float x[] = {3, 5}, w[] = {10, 1}, dy[] = {1, 2, 3, 4};
  int64_t y_shape[3];
  ref_value y[4], dx[2], dw[2];
  ref_output_shape(&conv, x_shape, w_shape, y_shape);
  assert_int_equal(y_shape[2], 4);
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  expect_values(y, (const double[]){3, 50, 5, 0}, 4);
  ref_run(&conv, CONVOY_BACKWARD_DATA, x_shape, w_shape, dy, w, dx);
  expect_values(dx, (const double[]){1, 23}, 2);
  ref_run(&conv, CONVOY_BACKWARD_WEIGHTS, x_shape, w_shape, x, dy, dw);
  expect_values(dw, (const double[]){10, 18}, 2);
}

/* Transposed weights are [C][K/groups]: w[0] leads from channel 0 to outputs 0 and 1. */
static void transposed_weights_are_laid_out_as_in_pytorch(void **state) {
  (void)state;
  convoy_conv conv = CONVOY_CONV_INIT(1);
  conv.transposed = 1;
  const int64_t x_shape[] = {1, 2, 1}, w_shape[] = {2, 3, 1};
  const float x[] = {1, 10}, w[] = {1, 2, 3, 4, 5, 6};
  ref_value y[3];
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  expect_values(y, (const double[]){41, 52, 63}, 3);
}

static void one_element_equals_the_run(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(2);
  const int64_t x_shape[] = {1, 2, 3, 4}, w_shape[] = {2, 2, 2, 3};
  float x[24], w[24];
  for (int i = 0; i < 24; i++) {
    x[i] = (float)(i - 7);
    w[i] = (float)(5 - i);
  }
  ref_value y[8];
  ref_run(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, y);
  for (int i = 0; i < 8; i++) {
    ref_value one;
    ref_element(&conv, CONVOY_FORWARD, x_shape, w_shape, x, w, i, &one.value, &one.magnitude,
                &one.terms);
    assert_memory_equal(&one, &y[i], sizeof one);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forward_of_rank_1),
      cmocka_unit_test(padding_is_counted_per_side),
      cmocka_unit_test(forward_of_rank_2),
      cmocka_unit_test(forward_of_rank_3),
      cmocka_unit_test(groups_stay_apart),
      cmocka_unit_test(backward_of_rank_1),
      cmocka_unit_test(transposed_spreads),
      cmocka_unit_test(transposed_weights_are_laid_out_as_in_pytorch),
      cmocka_unit_test(one_element_equals_the_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
