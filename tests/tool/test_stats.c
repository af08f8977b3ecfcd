/* Statistics against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/stats.h"

static void assert_stats(stats got, double min, double median, double max) {
  assert_true(got.min == min);
  assert_true(got.median == median);
  assert_true(got.max == max);
}

static void odd_count(void **state) {
  (void)state;
  const double values[] = {3, 2, 1};
  stats got = stats_of(values, 3);
  assert_stats(got, 1, 2, 3);
  assert_int_equal(got.count, 3);
  assert_true(got.spread == 1.0);
}

static void even_count(void **state) {
  (void)state;
  const double values[] = {10, 1, 4, 2};
  assert_stats(stats_of(values, 4), 1, 3, 10);
}

static void one_value(void **state) {
  (void)state;
  double value = 7;
  stats got = stats_of(&value, 1);
  assert_stats(got, 7, 7, 7);
  assert_true(got.spread == 0.0);
}

static void equal_and_negative_values(void **state) {
  (void)state;
  const double values[] = {-2, 5, -2, 5, -2};
  assert_stats(stats_of(values, 5), -2, -2, 5);
}

static void order_does_not_matter(void **state) {
  (void)state;
  double values[9];
  for (int start = 0; start < 9; start++) {
    for (int i = 0; i < 9; i++) values[i] = (double)((start + 4 * i) % 9);
    assert_stats(stats_of(values, 9), 0, 4, 8);
  }
}

static void values_stay_as_they_are(void **state) {
  (void)state;
  const double values[] = {3, 1, 2};
  stats_of(values, 3);
  assert_true(values[0] == 3 && values[1] == 1 && values[2] == 2);
}

static void no_value_gives_nan(void **state) {
  (void)state;
  double unused = 0;
  stats got = stats_of(&unused, 0);
  assert_true(isnan(got.min) && isnan(got.median) && isnan(got.max) && isnan(got.spread));
  assert_int_equal(got.count, 0);
}

static void a_nan_spoils_everything(void **state) {
  (void)state;
  for (int at = 0; at < 3; at++) {
    double values[] = {1, 2, 3};
    values[at] = NAN;
    stats got = stats_of(values, 3);
    assert_true(isnan(got.min) && isnan(got.median) && isnan(got.max) && isnan(got.spread));
    assert_int_equal(got.count, 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(odd_count),
      cmocka_unit_test(even_count),
      cmocka_unit_test(one_value),
      cmocka_unit_test(equal_and_negative_values),
      cmocka_unit_test(order_does_not_matter),
      cmocka_unit_test(values_stay_as_they_are),
      cmocka_unit_test(no_value_gives_nan),
      cmocka_unit_test(a_nan_spoils_everything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
