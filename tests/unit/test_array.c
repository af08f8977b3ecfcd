/* Canaries and seals notice what they are for; the data generator keeps its limits. */
#include "common/array.h"

#include <math.h>

#include "common/cmocka.h"
#include "common/random.h"

#define COUNT 100

static void canaries_notice_one_float_too_far(void **state) {
  (void)state;
  test_array array = test_array_new(COUNT);
  float *volatile values = array.values; /* volatile: the compiler may not see the overrun */
  test_fill_nan(array.values, COUNT);
  assert_true(test_array_intact(&array));
  const float before = values[-1], behind = values[COUNT];
  values[-1] = 0.0f;
  assert_false(test_array_intact(&array));
  values[-1] = before;
  assert_true(test_array_intact(&array));
  values[COUNT] = 0.0f;
  assert_false(test_array_intact(&array));
  values[COUNT] = behind;
  assert_true(test_array_intact(&array));
  test_array_free(&array);
}

static void seal_notices_one_changed_sign(void **state) {
  (void)state;
  test_array array = test_array_new(COUNT);
  for (int i = 0; i < COUNT; i++) array.values[i] = 0.0f;
  test_array_seal(&array);
  assert_true(test_array_unchanged(&array));
  array.values[COUNT - 1] = -0.0f;
  assert_false(test_array_unchanged(&array));
  test_array_free(&array);
}

static void integers_stay_small_and_take_every_value(void **state) {
  (void)state;
  test_random random = {1};
  float values[1000];
  int seen[2 * TEST_INTEGER_LIMIT + 1] = {0};
  test_fill_integers(&random, values, 1000);
  for (int i = 0; i < 1000; i++) {
    assert_true(values[i] == rintf(values[i]) && fabsf(values[i]) <= TEST_INTEGER_LIMIT);
    seen[(int)values[i] + TEST_INTEGER_LIMIT]++;
  }
  for (int i = 0; i < 2 * TEST_INTEGER_LIMIT + 1; i++) assert_true(seen[i] > 0);
}

static void same_seed_gives_the_same_reals(void **state) {
  (void)state;
  test_random first = {7}, second = {7}, other = {8};
  float a[COUNT], b[COUNT], c[COUNT];
  test_fill_reals(&first, a, COUNT);
  test_fill_reals(&second, b, COUNT);
  test_fill_reals(&other, c, COUNT);
  assert_memory_equal(a, b, sizeof a);
  assert_memory_not_equal(a, c, sizeof a);
  for (int i = 0; i < COUNT; i++) assert_true(a[i] >= -1.0f && a[i] < 1.0f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(canaries_notice_one_float_too_far),
      cmocka_unit_test(seal_notices_one_changed_sign),
      cmocka_unit_test(integers_stay_small_and_take_every_value),
      cmocka_unit_test(same_seed_gives_the_same_reals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
