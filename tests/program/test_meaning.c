/* src/program: what programs compute, element by element. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/cmocka.h"
#include "program/random.h"
#include "program/random_program.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

static cvy_program parsed(const char *text) {
  cvy_program program;
  if (cvy_program_parse(text, &program, NULL)) fail_msg("'%s': %s", text, cvy_last_error());
  return program;
}

static float result(const char *text, float a, float b, float c) {
  cvy_program program = parsed(text);
  float inputs[CVY_PROGRAM_INPUTS] = {a, b, c}, results[CVY_PROGRAM_RESULTS];
  cvy_program_element(&program, inputs, NULL, results);
  return results[0];
}

static void zeros_nan_and_infinities(void **state) {
  (void)state;
  static const struct {
    const char *text;
    float a, b, c, expected;
  } cases[] = {
      {"y = min(a, b)", NAN, 1, 0, NAN},
      {"y = min(a, b)", 1, NAN, 0, NAN},
      {"y = max(a, b)", NAN, 1, 0, NAN},
      {"y = max(a, b)", 1, NAN, 0, NAN},
      {"y = max(a, b)", 0.0f, -0.0f, 0, -0.0f}, /* of equals the second */
      {"y = max(a, b)", -0.0f, 0.0f, 0, 0.0f},
      {"y = min(a, b)", 0.0f, -0.0f, 0, -0.0f},
      {"y = min(a, b)", -0.0f, 0.0f, 0, 0.0f},
      {"y = max(a, b)", -INFINITY, 3, 0, 3},
      {"y = a ? b : c", NAN, 1, 2, 1},
      {"y = a ? b : c", -0.0f, 1, 2, 2},
      {"y = a ? b : c", 0.5f, NAN, 2, NAN},
      {"y = a < b", NAN, 1, 0, 0},
      {"y = a <= b", 1, 1, 0, 1},
      {"y = a >= b", NAN, NAN, 0, 0},
      {"y = a == b", 0.0f, -0.0f, 0, 1},
      {"y = a != b", NAN, NAN, 0, 1},
      {"y = a > b", 2, 1, 0, 1},
      {"y = a + 0", -0.0f, 0, 0, 0.0f},
      {"y = -a", 0.0f, 0, 0, -0.0f},
      {"y = abs(a)", -0.0f, 0, 0, 0.0f},
      {"y = abs(a)", -INFINITY, 0, 0, INFINITY},
      {"y = a / b", 1, -0.0f, 0, -INFINITY},
      {"y = a / b", 0, 0, 0, NAN},
      {"y = floor(a)", -0.5f, 0, 0, -1},
      {"y = floor(a)", -0.0f, 0, 0, -0.0f},
      {"y = floor(a)", 0x1p30f, 0, 0, 0x1p30f},
      {"y = floor(a)", -2.5f, 0, 0, -3},
      {"y = exp(a)", -INFINITY, 0, 0, 0},
      {"y = exp(a)", INFINITY, 0, 0, INFINITY},
      {"y = exp(a)", NAN, 0, 0, NAN},
      {"y = exp(a)", 0, 0, 0, 1},
      {"y = exp(a)", 88.73f, 0, 0, INFINITY},
      {"y = exp(a)", 3e38f, 0, 0, INFINITY},
      {"y = exp(a)", -3e38f, 0, 0, 0},
      {"y = exp(a)", -86.995f, 0, 0, 0}, /* below 2^-125.5 */
      {"y = log(a)", 0, 0, 0, -INFINITY},
      {"y = log(a)", -0.0f, 0, 0, -INFINITY},
      {"y = log(a)", -1, 0, 0, NAN},
      {"y = log(a)", -INFINITY, 0, 0, NAN},
      {"y = log(a)", INFINITY, 0, 0, INFINITY},
      {"y = log(a)", NAN, 0, 0, NAN},
      {"y = log(a)", 1, 0, 0, 0},
      {"y = tanh(a)", INFINITY, 0, 0, 1},
      {"y = tanh(a)", -100, 0, 0, -1},
      {"y = tanh(a)", NAN, 0, 0, NAN},
      {"y = tanh(a)", -0.0f, 0, 0, -0.0f},
      {"y = erf(a)", -INFINITY, 0, 0, -1},
      {"y = erf(a)", 4, 0, 0, 1},
      {"y = erf(a)", NAN, 0, 0, NAN},
      {"y = erf(a)", -0.0f, 0, 0, -0.0f},
      {"y = sigmoid(a)", -INFINITY, 0, 0, 0},
      {"y = sigmoid(a)", INFINITY, 0, 0, 1},
      {"y = sigmoid(a)", 0, 0, 0, 0.5f},
      {"y = sigmoid(a)", NAN, 0, 0, NAN},
      {"y = sqrt(a)", -0.0f, 0, 0, -0.0f},
      {"y = sqrt(a)", -1, 0, 0, NAN},
      {"y = rsqrt(a)", 0, 0, 0, INFINITY},
      {"y = rsqrt(a)", -0.0f, 0, 0, -INFINITY},
      {"y = rsqrt(a)", INFINITY, 0, 0, 0},
      {"y = rsqrt(a)", 4, 0, 0, 0.5f},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    float got = result(cases[i].text, cases[i].a, cases[i].b, cases[i].c);
    if (!test_same_bits(got, cases[i].expected)) {
      fail_msg("%s of %a, %a, %a is %a", cases[i].text, (double)cases[i].a, (double)cases[i].b,
               (double)cases[i].c, (double)got);
    }
  }
}

/* (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 if the product is not rounded. */
static void products_and_sums_are_not_contracted(void **state) {
  (void)state;
  float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
  assert_true(result("y = a*a + c", a, c, 0) == 0.0f);
  assert_true(result("y = fma(a, a, c)", a, c, 0) == 0x1p-24f);
}

/* What is folded is what would have been computed. */
static void constants_fold_as_they_are_computed(void **state) {
  (void)state;
  static const char *const functions[] = {"exp", "log",   "tanh",  "erf",     "sqrt",
                                          "abs", "rsqrt", "floor", "sigmoid", "-"};
  test_random random = {3};
  for (int i = 0; i < 2000; i++) {
    float value = test_hostile(&random);
    char number[64], folded[128], computed[64];
    const char *function = functions[i % CVY_COUNT(functions)];
    cvy_program program = parsed("y = x");
    program.constants = 1; /* the number as text, from a program that is nothing else */
    program.result[0] = CVY_OPERAND_CONSTANT;
    program.constant[0] = value;
    assert_int_equal(cvy_program_text(&program, NULL, number, sizeof number), CONVOY_OK);
    snprintf(folded, sizeof folded, "input x; y = %s(%s)", function, strrchr(number, '=') + 1);
    snprintf(computed, sizeof computed, "y = %s(x)", function);
    float a = result(folded, 0, 0, 0), b = result(computed, value, 0, 0);
    if (!test_same_bits(a, b)) fail_msg("%s: %a, %a", folded, (double)a, (double)b);
  }
}

/* The answers of the authors' kat_vectors. */
static void philox_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], answer[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    uint32_t out[4];
    cvy_philox(cases[i].counter, cases[i].key, out);
    assert_memory_equal(out, cases[i].answer, sizeof out);
  }
}

static void random_numbers_depend_on_all_they_are_of(void **state) {
  (void)state;
  cvy_program_stream stream = cvy_program_stream_of(1, 2, 3);
  cvy_program_stream others[] = {cvy_program_stream_of(2, 2, 3), cvy_program_stream_of(1, 3, 3),
                                 cvy_program_stream_of(1, 2, 4),
                                 cvy_program_stream_of(1, 2, 3ull << 32)};
  float first = cvy_program_random(&stream, 0, 5);
  assert_true(first == cvy_program_random(&stream, 0, 5));
  assert_true(first != cvy_program_random(&stream, 1, 5));
  assert_true(first != cvy_program_random(&stream, 0, 6));
  assert_true(first != cvy_program_random(&stream, 0, 5 + (4ull << 32)));
  for (size_t i = 0; i < CVY_COUNT(others); i++)
    assert_true(first != cvy_program_random(&others[i], 0, 5));
}

/* Mean, variance and neighbours of a million, within 5 standard deviations. */
static void random_numbers_are_uniform(void **state) {
  (void)state;
  enum { COUNT = 1000000 };
  cvy_program_stream stream = cvy_program_stream_of(7, 0, 0);
  double sum = 0, squares = 0, products = 0, before = 0;
  for (int i = 0; i < COUNT; i++) {
    double value = cvy_program_random(&stream, 0, (uint64_t)i) - 0.5;
    assert_true(value >= -0.5 && value < 0.5);
    sum += value;
    squares += value * value;
    products += value * before;
    before = value;
  }
  assert_true(fabs(sum / COUNT) < 5 * sqrt(1.0 / 12 / COUNT));
  assert_true(fabs(squares / COUNT - 1.0 / 12) < 5 * sqrt(1.0 / 180 / COUNT));
  assert_true(fabs(products / COUNT) < 5 * sqrt(1.0 / 144 / COUNT));
}

static void places_are_read(void **state) {
  (void)state;
  cvy_program program = parsed("y = index(n) + 10*index(c); z = random(3); u = index(w)");
  cvy_program_place place = {{1, 2, 3, 4, 16777217}, 99, cvy_program_stream_of(1, 2, 3)};
  float results[CVY_PROGRAM_RESULTS];
  assert_true(cvy_program_element(&program, NULL, &place, results));
  assert_true(results[0] == 21.0f);
  assert_true(results[1] == cvy_program_random(&place.stream, 3, 99));
  assert_true(results[2] == 16777216.0f);
  cvy_program_uses uses = cvy_program_uses_of(&program);
  assert_int_equal(uses.axes, 1 << 0 | 1 << 1 | 1 << 4);
  assert_true(uses.random);
  assert_int_equal(uses.inputs, 0);
}

static void denormal_numbers_are_told(void **state) {
  (void)state;
  static const struct {
    const char *text;
    float x;
    bool plain;
  } cases[] = {
      {"y = x * 2", 0x1p-130f, false},    {"y = x", 0x1p-130f, false},
      {"y = x * x", 0x1p-70f, false},     {"y = x * x", 0x1p-80f, true}, /* a plain 0 */
      {"y = x * x + 1", 0x1p-70f, false}, {"y = fma(x, x, 1)", 0x1p-70f, true},
      {"y = x + 1", 0x1p-125f, true},     {"y = sigmoid(x)", -88.0f, false},
      {"y = exp(x)", -87.2f, true},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program program = parsed(cases[i].text);
    float y;
    if (cvy_program_element(&program, &cases[i].x, NULL, &y) != cases[i].plain)
      fail_msg("%s of %a", cases[i].text, (double)cases[i].x);
  }
}

/* Programs and what they mean do not depend on the mode of the thread that asks. */
static void modes_make_no_difference(void **state) {
  (void)state;
  static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  test_random random = {9};
  for (int i = 0; i < 400; i++) {
    cvy_program program;
    cvy_program_place place = test_random_place(&random);
    float inputs[CVY_PROGRAM_INPUTS], expected[CVY_PROGRAM_RESULTS], got[CVY_PROGRAM_RESULTS];
    test_random_program(&random, TEST_ANY, 20, &program);
    for (int k = 0; k < CVY_PROGRAM_INPUTS; k++) inputs[k] = test_hostile(&random);
    bool plain = cvy_program_element(&program, inputs, &place, expected);
    fesetround(roundings[i % 4]);
#if defined(__SSE2__)
    if (i & 4) _mm_setcsr(_mm_getcsr() | 0x8040u);
    unsigned mode = _mm_getcsr();
#endif
    bool again = cvy_program_element(&program, inputs, &place, got);
    cvy_program third = parsed("y = 1/3 + 0.1");
#if defined(__SSE2__)
    assert_int_equal(_mm_getcsr() & ~0x3fu, mode & ~0x3fu);
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
    fesetround(FE_TONEAREST);
    assert_int_equal(plain, again);
    for (int k = 0; k < program.results; k++) assert_true(test_same_bits(expected[k], got[k]));
    assert_true(third.constant[0] == 1.0f / 3.0f + 0.1f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zeros_nan_and_infinities),
      cmocka_unit_test(products_and_sums_are_not_contracted),
      cmocka_unit_test(constants_fold_as_they_are_computed),
      cmocka_unit_test(philox_known_answers),
      cmocka_unit_test(random_numbers_depend_on_all_they_are_of),
      cmocka_unit_test(random_numbers_are_uniform),
      cmocka_unit_test(places_are_read),
      cmocka_unit_test(denormal_numbers_are_told),
      cmocka_unit_test(modes_make_no_difference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
