/* Sampling, comparing with the reference, and the data that are compared. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/check.h"

/* 40 x 41 elements of y, of which 64 are sampled. */
static problem big_problem(void) {
  problem out = {.conv = CONVOY_CONV_INIT(2), .x_shape = {1, 1, 40, 41}, .w_shape = {1, 1, 1, 1}};
  assert_int_equal(convoy_output_shape(&out.conv, out.x_shape, out.w_shape, out.y_shape),
                   CONVOY_OK);
  return out;
}

static bool sampled(const reference *exact, int64_t index) {
  for (int64_t i = 0; i < exact->count; i++)
    if (exact->points[i].index == index) return true;
  return false;
}

static void corners_are_sampled_and_errors_seen(void **state) {
  (void)state;
  problem about = big_problem();
  operands data;
  reference exact;
  assert_true(operands_make(&about, fill_integer, false, &data));
  assert_true(reference_make(&about, &data, 64, &exact));
  assert_int_equal(exact.count, 64);
  const int64_t corners[] = {0, 40, 39 * 41, 40 * 41 - 1};
  for (int i = 0; i < 4; i++) assert_true(sampled(&exact, corners[i]));
  for (int64_t i = 0; i < data.out_count; i++) data.out[i] = data.a[i] * data.b[0];
  verdict result = reference_compare(&exact, data.out, data.out_count, 0.0);
  assert_true(verdict_good(&result));

  data.out[39 * 41] += 1.0f;
  result = reference_compare(&exact, data.out, data.out_count, 4.0);
  assert_false(verdict_good(&result));
  assert_int_equal(result.index, 39 * 41);
  assert_true(result.error == 1.0 && result.share > 1.0);
  reference_free(&exact);
  operands_free(&data);
}

/* Of an error of 16 units, where 12 are promised, 32 times more by rows that mix neighbours. */
static void a_row_is_held_to_its_own_bound(void **state) {
  (void)state;
  problem about = big_problem();
  convoy_plan common = {.error_growth = 0}, mixing = {.error_growth = 32, .error_reach = 3};
  operands data;
  reference exact;
  verdict result;
  assert_true(operands_make(&about, fill_integer, false, &data));
  data.a[0] = 3.0f, data.b[0] = 2.0f;
  assert_true(reference_make(&about, &data, 64, &exact));
  for (int64_t i = 0; i < data.out_count; i++) data.out[i] = data.a[i] * data.b[0];
  data.out[0] *= 1.0f + 0x1p-20f;
  assert_true(reference_compare_promised(&about, &data, &exact, &common, &result));
  assert_true(result.wrong > 0);
  assert_true(reference_compare_promised(&about, &data, &exact, &mixing, &result));
  assert_true(verdict_good(&result));
  reference_free(&exact);
  operands_free(&data);
}

static void a_nan_anywhere_is_seen(void **state) {
  (void)state;
  problem about = big_problem();
  operands data;
  reference exact;
  assert_true(operands_make(&about, fill_integer, false, &data));
  assert_true(reference_make(&about, &data, 64, &exact));
  for (int64_t i = 0; i < data.out_count; i++) data.out[i] = data.a[i] * data.b[0];
  int64_t unsampled = 1;
  while (sampled(&exact, unsampled)) unsampled++;
  data.out[unsampled] = NAN;
  verdict result = reference_compare(&exact, data.out, data.out_count, 4.0);
  assert_int_equal(result.wrong, 0);
  assert_int_equal(result.not_finite, 1);
  assert_false(verdict_good(&result));

  operands_poison(&data);
  result = reference_compare(&exact, data.out, data.out_count, 4.0);
  assert_int_equal(result.wrong, 64);
  assert_int_equal(result.not_finite, data.out_count);
  assert_true(isnan(result.error));
  reference_free(&exact);
  operands_free(&data);
}

static void data_are_never_zero(void **state) {
  (void)state;
  double total = 0.0;
  for (uint64_t i = 0; i < 100000; i++) {
    float real = fill_real(i), integer = fill_integer(i);
    assert_true(real > -1.0f && real < 1.0f && real != 0.0f);
    assert_true(integer >= -3.0f && integer <= 3.0f && integer != 0.0f);
    total += (double)real;
  }
  assert_true(fabs(total / 100000.0) < 0.01);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(corners_are_sampled_and_errors_seen),
      cmocka_unit_test(a_row_is_held_to_its_own_bound),
      cmocka_unit_test(a_nan_anywhere_is_seen),
      cmocka_unit_test(data_are_never_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
