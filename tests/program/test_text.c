/* src/program: texts, both ways, and what is refused. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "program/literal.h"
#include "program/random_program.h"

static cvy_program parsed(const char *text) {
  cvy_program program;
  if (cvy_program_parse(text, &program, NULL)) fail_msg("'%s': %s", text, cvy_last_error());
  if (cvy_program_check(&program)) fail_msg("'%s': %s", text, cvy_last_error());
  return program;
}

static void assert_same_program(const char *a, const char *b) {
  cvy_program first = parsed(a), second = parsed(b);
  if (memcmp(&first, &second, sizeof first) != 0) fail_msg("'%s' is not '%s'", a, b);
}

static void is_flat_and_small(void **state) {
  (void)state;
  assert_true(sizeof(cvy_program) <= 512);
  /* Its members fill it. */
  assert_int_equal(sizeof(cvy_program),
                   16 + CVY_PROGRAM_INSTRUCTIONS * 4 + CVY_PROGRAM_CONSTANTS * 4);
}

static void canonical_texts(void **state) {
  (void)state;
  static const struct {
    const char *text, *canonical;
  } cases[] = {
      {"let t = (x - mean) * scale + shift; y = t * sigmoid(t)",
       "let t0 = (x - mean) * scale + shift; y = t0 * sigmoid(t0)"},
      {"v = m*v + g; w = w - lr*v",
       "let t0 = m * v + g; let t1 = t0; let t2 = w - lr * t0; v = t1; w = t2"},
      {"y=max(x,0)", "y = max(x, 0)"},
      {"y = x > 0 ? x : a*x", "y = 0 < x ? x : a * x"},
      {"y = x >= a", "input x, a; y = a <= x"},
      {"y = a - (b - c) - d", "y = a - (b - c) - d"},
      {"y = a / (b * c) / d", "y = a / (b * c) / d"},
      {"y = (a < b) == (c != d)", "y = (a < b) == (c != d)"},
      {"y = (a ? b : c) ? d : e ? f : g", "y = (a ? b : c) ? d : e ? f : g"},
      {"y = -(a + b) * -c", "y = -(a + b) * -c"},
      {"y = ---a", "y = -a"},
      {"y = a + -b; z = -a + b; u = a - -b", "y = a - b; z = b - a; u = a + b"},
      {"y = 1*a + a*1 + a/1 + (a - 0)", "y = a + a + a + a"},
      {"y = a + 0", "y = a + 0"}, /* -0 + 0 is 0 */
      {"y = a - -0", "y = a - -0"},
      {"y = 2*3 + 1/4 + a", "y = 6.25 + a"},
      {"y = a*b + b*a", "let t0 = a * b; y = t0 + t0"},
      {"let unused = exp(a); y = b", "input a, b; y = b"},
      {"y = 0 ? a : b", "input a, b; y = b"},
      {"y = nan ? a : b", "input a, b; y = a"},
      {"y = max(a, a) + min(b, b) + (c ? d : d)", "input a, b, c, d; y = a + b + d"},
      {"y = random() + random() + random(7) + random() + random(0)",
       "let t0 = random(0); y = t0 + random(1) + random(7) + random(8) + t0"},
      {"y = index(n) + index(4) * index( z )", "y = index(n) + index(w) * index(z)"},
      {"y = 1/0 + a; z = 0/0", "y = inf + a; z = nan"},
      {"y = -1/0 * a", "y = -inf * a"},
      {"a = b; b = a", "let t0 = b; let t1 = b; a = t0; b = t1"},
      {"input q, p; y = p - q;", "input q, p; y = p - q"},
      {" \t\r\n y\n=\tfma ( a , b , c ) ; ", "y = fma(a, b, c)"},
      {"t0 = exp(t1) + exp(t1)", "let t2 = exp(t1); t0 = t2 + t2"},
      {"y = 1e-3 + x * 16777216 - 3.4028235e38 * 0.1", "y = 0.001 + x * 16777216 - 3.4028235e37"},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program program;
    cvy_program_names names;
    char text[CVY_PROGRAM_TEXT];
    if (cvy_program_parse(cases[i].text, &program, &names)) fail_msg("%s", cvy_last_error());
    assert_int_equal(cvy_program_text(&program, &names, text, sizeof text), CONVOY_OK);
    assert_string_equal(text, cases[i].canonical);
    assert_same_program(text, cases[i].text);
  }
}

static void names_make_no_difference(void **state) {
  (void)state;
  assert_same_program("y = a*b + c", "result = first * second+third");
  assert_same_program("let t = a*b; let u = t + c; y = u", "y = a*b + c");
}

static void refusals_name_the_column(void **state) {
  (void)state;
  static const struct {
    const char *text, *sentence;
  } cases[] = {
      {"", "column 1: no result"},
      {"let t = a", "column 10: no result"},
      {"y", "column 2: expected '=', but the text ends"},
      {"y = ", "column 5: expected a value, but the text ends"},
      {"y = a b", "column 7: expected an operator or ';', not \"b\""},
      {"y = a $", "column 7: expected an operator or ';', not '$'"},
      {"y = a \x80", "column 7: expected an operator or ';', not the byte 128"},
      {"y = (a", "column 7: expected ')', but the text ends"},
      {"y = fma(a, b)", "column 13: expected ',', not ')'"},
      {"y = exp a", "column 9: expected '(', not \"a\""},
      {"y = silu(a)", "column 5: there is no function \"silu\""},
      {"y = a < b < c", "column 11: comparisons cannot be chained"},
      {"y = a; y = b", "column 8: \"y\" is assigned twice"},
      {"let y = a; y = b", "column 12: \"y\" is assigned twice"},
      {"exp = a", "column 1: \"exp\" is a word of the language"},
      {"let input = a", "column 5: \"input\" is a word of the language"},
      {"y = let", "column 5: \"let\" is a word of the language"},
      {"3 = a", "column 1: expected a name to assign to, not '3'"},
      {"y = 1e39", "column 5: 1e39 is too large for float32"},
      {"y = a + 1e-39", "column 9: 1e-39 is less than the smallest normal float32"},
      {"y = 1x", "column 6: a number cannot go on with 'x'"},
      {"y = 1.2.3", "column 8: a number cannot go on with '.'"},
      {"y = index(q)", "column 11: expected an axis"},
      {"y = index(5)", "column 11: expected an axis"},
      {"y = index(nn)", "column 11: expected an axis"},
      {"y = random(64)", "column 12: random numbers are numbered from 0 to 63"},
      {"y = random(x)", "column 12: expected ')', not \"x\""},
      {"input a, a; y = a", "column 10: \"a\" is listed twice"},
      {"input a; y = b", "column 14: \"b\" is no listed input"},
      {"input a y = a", "column 9: expected ',' or ';', not \"y\""},
      {"y = a ? b", "column 10: expected ':', but the text ends"},
      {"y = abcdefghijabcdefghijabcdefghijab", "column 5: a name has 32 characters, at most 31"},
      {"y=a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q",
       "column 35: \"q\" would be input number 17, at most 16"},
      {"a=x;b=x;c=x;d=x;e=x;f=x;g=x;h=x;i=x",
       "column 33: \"i\" would be result number 9, at most 8"},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program program, before;
    memset(&program, 0x5a, sizeof program);
    before = program;
    assert_int_equal(cvy_program_parse(cases[i].text, &program, NULL), CONVOY_ERR_ARGUMENT);
    assert_memory_equal(&program, &before, sizeof program);
    if (!strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("'%s': '%s', not '%s'", cases[i].text, cvy_last_error(), cases[i].sentence);
  }
}

/* `count` copies of `piece` between `head` and `tail`; the caller frees. */
static char *repeated(const char *head, const char *piece, int count, const char *tail) {
  size_t size = strlen(head) + strlen(piece) * (size_t)count + strlen(tail) + 1;
  char *text = malloc(size);
  assert_non_null(text);
  strcpy(text, head);
  for (int i = 0; i < count; i++) strcat(text, piece);
  strcat(text, tail);
  return text;
}

static void assert_refused(char *text, const char *sentence) {
  cvy_program program;
  assert_int_equal(cvy_program_parse(text, &program, NULL), CONVOY_ERR_ARGUMENT);
  if (!strstr(cvy_last_error(), sentence)) fail_msg("'%s', not '%s'", cvy_last_error(), sentence);
  free(text);
}

static void everything_is_bounded(void **state) {
  (void)state;
  assert_refused(repeated("y = ", "(", 1000, "x"), "nested more than 128 deep");
  assert_refused(repeated("y = ", "exp(", 1000, "x"), "nested more than 128 deep");
  assert_refused(repeated("y = ", "x ? x : ", 1000, "x"), "nested more than 128 deep");
  assert_refused(repeated("y = x", " + exp(x)", 65, ""),
                 "the program has 66 instructions, at most 64");
  assert_refused(repeated("y = x", " * x", 1200, ""), "the program has more than 1024 values");
  assert_refused(repeated("", " ", 20000, ""), "the program's text has more than 16383 characters");
  char *text = repeated("y = ", "-", 16000, "x");
  assert_same_program(text, "y = x");
  free(text);
  text = repeated("y = ", "exp(", 64, "x");
  char *closed = repeated(text, ")", 64, "");
  assert_int_equal(parsed(closed).instructions, 64);
  free(closed);
  free(text);
}

static void constants_are_counted(void **state) {
  (void)state;
  char text[1024] = "y = x";
  for (int i = 0; i < 33; i++) snprintf(text + strlen(text), 32, " * x + %d", i + 2);
  cvy_program program;
  assert_int_equal(cvy_program_parse(text, &program, NULL), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "instructions"));
  strcpy(text, "y = x");
  for (int i = 0; i < 33; i++) snprintf(text + strlen(text), 32, " + %d.5", i);
  assert_int_equal(cvy_program_parse(text, &program, NULL), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "the program has 33 constants, at most 32"));
}

static void random_programs_come_back(void **state) {
  (void)state;
  test_random random = {11};
  int longest = 0;
  for (int i = 0; i < 3000; i++) {
    cvy_program program, again;
    char text[CVY_PROGRAM_TEXT];
    test_random_program(&random, TEST_ANY, (int)test_between(&random, 1, 90), &program);
    assert_int_equal(cvy_program_check(&program), CONVOY_OK);
    assert_int_equal(cvy_program_text(&program, NULL, text, sizeof text), CONVOY_OK);
    if (cvy_program_parse(text, &again, NULL)) fail_msg("'%s': %s", text, cvy_last_error());
    if (memcmp(&program, &again, sizeof program) != 0) fail_msg("'%s' came back changed", text);
    if (program.instructions > longest) longest = program.instructions;
  }
  assert_true(longest > 60);
}

static void numbers_are_rounded_correctly(void **state) {
  (void)state;
  static const struct {
    const char *text;
    float value;
  } cases[] = {
      {"1.00000005960464477539062499", 1.0f}, /* around 1 + 2^-24 */
      {"1.0000000596046447753906250", 1.0f},
      {"1.00000005960464477539062501", 0x1.000002p0f},
      {"1."
       "0000000596046447753906250000000000000000000000000000000000000000000000000000000000000000000"
       "00"
       "00000000000000000000000000000000000000000000000000000000000000000000000000000001",
       0x1.000002p0f},
      {"340282356779733661637539395458142568447.9", FLT_MAX}, /* below FLT_MAX + half */
      {"1.1754943508222875e-38", FLT_MIN},
      {"0.000000000000000000000000000000000000011754943508222875", FLT_MIN},
      {"117549435082228750796873653722224568e-73", FLT_MIN},
      {"1e+10", 1e10f},
      {".5", 0.5f},
      {"5.", 5.0f},
      {"0e999999999999", 0.0f},
      {"16777217", 16777216.0f},
      {"16777219", 16777220.0f},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    const char *at = cases[i].text;
    float value;
    assert_null(cvy_number_read(&at, &value));
    assert_int_equal(*at, 0);
    if (value != cases[i].value) fail_msg("%s became %a", cases[i].text, (double)value);
  }
}

static void numbers_come_back(void **state) {
  (void)state;
  test_random random = {5};
  for (int i = 0; i < 20000; i++) {
    float value = fabsf(test_hostile(&random)), again;
    char text[64];
    cvy_text out = cvy_text_in(text, sizeof text);
    const char *at = text;
    if (!isfinite(value)) continue;
    cvy_number_write(&out, value);
    assert_null(cvy_number_read(&at, &again));
    if (*at || memcmp(&again, &value, sizeof value) != 0)
      fail_msg("%a became %s, then %a", (double)value, text, (double)again);
  }
}

static void bytes_from_elsewhere_are_checked(void **state) {
  (void)state;
  cvy_program good = parsed("y = fma(a, b, 2) * index(w) + random(); z = a"), bad;
  assert_int_equal(cvy_program_check(&good), CONVOY_OK);
  const struct {
    size_t at;
    uint8_t byte;
    const char *sentence;
  } cases[] = {
      {offsetof(cvy_program, instructions), 65, "65 instructions"},
      {offsetof(cvy_program, inputs), 17, "17 inputs"},
      {offsetof(cvy_program, results), 0, "0 results"},
      {offsetof(cvy_program, results), 9, "9 results"},
      {offsetof(cvy_program, constants), 33, "33 constants"},
      {offsetof(cvy_program, result), 5, "result 0 is operand 5"},
      {offsetof(cvy_program, result) + 1, CVY_OPERAND_INPUT + 2, "result 1 is operand 66"},
      {offsetof(cvy_program, result) + 2, 1, "what is not used is not 0"},
      {offsetof(cvy_program, code), CVY_PROGRAM_OPS, "instruction 0 has operation 24"},
      {offsetof(cvy_program, code) + 1, 0, "operand 0 of instruction 0 is 0"},
      {offsetof(cvy_program, code) + 3, CVY_OPERAND_CONSTANT + 1,
       "operand 2 of instruction 0 is 97"},
      {offsetof(cvy_program, code) + 5, 5, "operand 0 of instruction 1 is 5"},
      {offsetof(cvy_program, code) + 6, 1, "operand 1 of instruction 1 is 1"},
      {offsetof(cvy_program, code) + 200, 1, "what is not used is not 0"},
      {sizeof good - 1, 1, "what is not used is not 0"},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    bad = good;
    ((uint8_t *)&bad)[cases[i].at] = cases[i].byte;
    assert_int_equal(cvy_program_check(&bad), CONVOY_ERR_ARGUMENT);
    if (!strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("case %zu: '%s', not '%s'", i, cvy_last_error(), cases[i].sentence);
  }
}

static void a_text_that_does_not_fit_is_refused(void **state) {
  (void)state;
  cvy_program program = parsed("y = a + b");
  char text[12];
  assert_int_equal(cvy_program_text(&program, NULL, text, sizeof text), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "12 bytes"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_flat_and_small),
      cmocka_unit_test(canonical_texts),
      cmocka_unit_test(names_make_no_difference),
      cmocka_unit_test(refusals_name_the_column),
      cmocka_unit_test(everything_is_bounded),
      cmocka_unit_test(constants_are_counted),
      cmocka_unit_test(random_programs_come_back),
      cmocka_unit_test(numbers_are_rounded_correctly),
      cmocka_unit_test(numbers_come_back),
      cmocka_unit_test(bytes_from_elsewhere_are_checked),
      cmocka_unit_test(a_text_that_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
