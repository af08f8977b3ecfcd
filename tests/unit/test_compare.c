/* The comparator: above all that a NaN fails wherever it stands. */
#include "common/compare.h"

#include <math.h>

#include "common/cmocka.h"

#define COUNT 5

static const ref_value expected[COUNT] = {
    {1.0, 1.0, 2}, {-2.0, 2.0, 2}, {0.0, 0.0, 0}, {8.0, 8.0, 2}, {5.0, 5.0, 2}};

static void copy_expected(float *got) {
  for (int i = 0; i < COUNT; i++) got[i] = (float)expected[i].value;
}

static void equal_arrays_pass(void **state) {
  (void)state;
  float got[COUNT];
  copy_expected(got);
  const test_difference d = test_compare(got, expected, COUNT, TEST_EXACT);
  assert_int_equal(d.bad, 0);
  assert_int_equal(d.worst, -1);
}

static void not_a_number_fails_at_every_place(void **state) {
  (void)state;
  for (int place = 0; place < COUNT; place++) {
    float got[COUNT];
    copy_expected(got);
    got[(place + 1) % COUNT] += 100.0f; /* a large error must not hide it, nor be hidden */
    got[place] = NAN;
    const test_difference d = test_compare(got, expected, COUNT, TEST_ROUNDED);
    assert_int_equal(d.bad, 2);
    assert_int_equal(d.worst, place);
    assert_true(isnan(d.got));
  }
}

static void infinity_fails(void **state) {
  (void)state;
  float got[COUNT];
  copy_expected(got);
  got[2] = INFINITY;
  assert_int_equal(test_compare(got, expected, COUNT, TEST_ROUNDED).worst, 2);
}

static void tolerance_scales_with_terms_and_magnitude(void **state) {
  (void)state;
  float got[COUNT];
  copy_expected(got);
  const double tolerance = test_tolerance(&expected[3], TEST_ROUNDED);
  assert_true(tolerance == 4.0 * 4.0 * 0x1p-24 * 8.0);
  got[3] = (float)(8.0 + tolerance);
  assert_int_equal(test_compare(got, expected, COUNT, TEST_ROUNDED).bad, 0);
  got[3] = nextafterf(got[3], INFINITY);
  assert_int_equal(test_compare(got, expected, COUNT, TEST_ROUNDED).bad, 1);
}

static void nothing_but_zero_is_allowed_where_nothing_is_summed(void **state) {
  (void)state;
  float got[COUNT];
  copy_expected(got);
  got[2] = 1e-40f;
  assert_int_equal(test_compare(got, expected, COUNT, TEST_ROUNDED).bad, 1);
}

static void the_worst_element_is_named(void **state) {
  (void)state;
  float got[COUNT];
  char text[256];
  copy_expected(got);
  got[0] = 2.0f;
  got[4] = 9.0f;
  const test_difference d = test_compare(got, expected, COUNT, TEST_EXACT);
  test_describe(&d, COUNT, text, sizeof text);
  assert_string_equal(text, "2 of 5 elements wrong, worst [4]: got 9, expected 5 (tolerance 0)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_arrays_pass),
      cmocka_unit_test(not_a_number_fails_at_every_place),
      cmocka_unit_test(infinity_fails),
      cmocka_unit_test(tolerance_scales_with_terms_and_magnitude),
      cmocka_unit_test(nothing_but_zero_is_allowed_where_nothing_is_summed),
      cmocka_unit_test(the_worst_element_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
