/* src/program/gradient.c: against central differences in float64, and what is done at ties. */
#include <math.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/program64.h"
#include "program/random_program.h"

static cvy_program parsed(const char *text) {
  cvy_program program;
  if (cvy_program_parse(text, &program, NULL)) fail_msg("'%s': %s", text, cvy_last_error());
  return program;
}

static cvy_program_gradient gradient_of(const cvy_program *program, uint32_t wanted, uint32_t given,
                                        uint32_t readable) {
  cvy_program_gradient gradient;
  if (cvy_program_gradient_of(program, wanted, given, readable, &gradient))
    fail_msg("%s", cvy_last_error());
  assert_int_equal(cvy_program_check(&gradient.program), CONVOY_OK);
  return gradient;
}

/* The inputs of a gradient's program. */
static void sources_of(const cvy_program_gradient *gradient, const double *inputs,
                       const double *results, const double *above, double *out) {
  const double *const kinds[] = {inputs, results, above};
  for (int i = 0; i < gradient->program.inputs; i++)
    out[i] = kinds[gradient->source[i].kind][gradient->source[i].number];
}

/* Sum of above[r] times the difference of result r when input k goes h up and down. */
static double difference(const cvy_program *program, const cvy_program_place *place,
                         const double *inputs, const double *above, int k, double h) {
  double at[CVY_PROGRAM_INPUTS], up[CVY_PROGRAM_RESULTS], down[CVY_PROGRAM_RESULTS], sum = 0;
  memcpy(at, inputs, sizeof at);
  at[k] = inputs[k] + h;
  test_program_element(program, at, place, up);
  at[k] = inputs[k] - h;
  test_program_element(program, at, place, down);
  for (int r = 0; r < program->results; r++) sum += above[r] * (up[r] - down[r]) / (2 * h);
  return sum;
}

/* -1: the difference says nothing here, since it depends on its step, or there is a NaN on the way,
 * which 0 times it is too; else whether they agree. */
static int agrees(const cvy_program *program, const cvy_program_gradient *gradient,
                  const cvy_program_place *place, const double *inputs, const double *above,
                  int k) {
  double results[CVY_PROGRAM_RESULTS], sources[CVY_PROGRAM_INPUTS], got[CVY_PROGRAM_RESULTS];
  test_program_element(program, inputs, place, results);
  sources_of(gradient, inputs, results, above, sources);
  test_program_element(&gradient->program, sources, place, got);
  double coarse = difference(program, place, inputs, above, k, 1e-4);
  double fine = difference(program, place, inputs, above, k, 5e-5);
  double size = 1 + fabs(fine), noise = fabs(coarse - fine);
  if (!(noise < 1e-5 * size) || fabs(fine) > 1e6 || isnan(got[0])) return -1;
  return fabs(got[0] - fine) <= 4 * noise + 1e-6 * size;
}

static void check_random(test_program_kind kind, uint64_t seed, int *checked, int *skipped) {
  test_random random = {seed};
  for (int i = 0; i < 3000; i++) {
    cvy_program program;
    cvy_program_gradient gradient;
    cvy_program_place place = test_random_place(&random);
    double inputs[CVY_PROGRAM_INPUTS], above[CVY_PROGRAM_RESULTS];
    test_random_program(&random, kind, (int)test_between(&random, 1, 12), &program);
    for (int k = 0; k < CVY_PROGRAM_INPUTS; k++)
      inputs[k] = (double)test_between(&random, -2000, 2000) / 1000 + 1e-4 / 3;
    for (int k = 0; k < CVY_PROGRAM_RESULTS; k++)
      above[k] = (double)test_between(&random, -2000, 2000) / 1000;
    uint32_t given = (1u << program.results) - 1, readable = (uint32_t)test_between(&random, 0, 15);
    int k = (int)test_between(&random, 0, program.inputs - 1);
    if (cvy_program_gradient_of(&program, 1u << k, given, readable, &gradient)) {
      ++*skipped; /* too long */
      continue;
    }
    int agreed = agrees(&program, &gradient, &place, inputs, above, k);
    if (!agreed) {
      char text[CVY_PROGRAM_TEXT];
      cvy_program_text(&program, NULL, text, sizeof text);
      fail_msg("gradient of '%s' by x%d", text, k);
    }
    ++*(agreed > 0 ? checked : skipped);
  }
}

static void smooth_programs(void **state) {
  (void)state;
  int checked = 0, skipped = 0;
  check_random(TEST_SMOOTH, 21, &checked, &skipped);
  print_message("%d checked, %d skipped\n", checked, skipped);
  assert_true(checked > 2700);
}

static void all_programs(void **state) {
  (void)state;
  int checked = 0, skipped = 0;
  check_random(TEST_TAME, 22, &checked, &skipped);
  print_message("%d checked, %d skipped\n", checked, skipped);
  assert_true(checked > 2400);
}

/* dx for gradient `g` of y = text. */
static double slope(const char *text, int k, double a, double b, double g) {
  cvy_program program = parsed(text);
  cvy_program_gradient gradient = gradient_of(&program, 1u << k, 1, 1);
  double inputs[CVY_PROGRAM_INPUTS] = {a, b}, results[CVY_PROGRAM_RESULTS],
         out[CVY_PROGRAM_RESULTS];
  double sources[CVY_PROGRAM_INPUTS];
  test_program_element(&program, inputs, NULL, results);
  sources_of(&gradient, inputs, results, &g, sources);
  test_program_element(&gradient.program, sources, NULL, out);
  return out[0];
}

static void every_function(void **state) {
  (void)state;
  assert_true(fabs(slope("y = exp(a)", 0, 0.5, 0, 2) - 2 * exp(0.5)) < 1e-12);
  assert_true(fabs(slope("y = log(a)", 0, 0.5, 0, 2) - 4) < 1e-12);
  assert_true(fabs(slope("y = sqrt(a)", 0, 4, 0, 2) - 0.5) < 1e-12);
  assert_true(fabs(slope("y = rsqrt(a)", 0, 4, 0, 2) + 0.125) < 1e-12);
  assert_true(fabs(slope("y = a / b", 0, 3, 4, 2) - 0.5) < 1e-12);
  assert_true(fabs(slope("y = a / b", 1, 3, 4, 2) + 0.375) < 1e-12);
  assert_true(slope("y = floor(a)", 0, 3.5, 0, 2) == 0);
  assert_true(slope("y = a < b", 0, 3.5, 0, 2) == 0);
}

static void ties(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int of;
    double a, b, expected;
  } cases[] = {
      {"y = max(a, 0)", 0, 0, 0, 0}, /* as PyTorch's relu */
      {"y = max(0, a)", 0, 0, 0, 0},
      {"y = max(a, 0)", 0, 1, 0, 2},
      {"y = max(a, 0)", 0, NAN, 0, 2},
      {"y = min(max(a, 0), 6)", 0, 6, 0, 0}, /* relu6, hardtanh */
      {"y = max(a, b)", 0, 1, 1, 1},         /* torch.maximum: half each */
      {"y = max(a, b)", 1, 1, 1, 1},
      {"y = max(a, b)", 0, 2, 1, 2},
      {"y = max(a, b)", 1, 2, 1, 0},
      {"y = min(a, b)", 0, 1, 1, 1},
      {"y = min(a, b)", 0, 2, 1, 0},
      {"y = min(a, b)", 1, 2, 1, 2},
      {"y = max(a, b)", 0, NAN, 1, 2},
      {"y = max(a, b)", 1, NAN, 1, 2},
      {"y = abs(a)", 0, 0, 0, 0},
      {"y = abs(a)", 0, -3, 0, -2},
      {"y = abs(a)", 0, 3, 0, 2},
      {"y = a > 0 ? a : 0.1*a", 0, 0, 0, 0.2}, /* a selection takes one side */
      {"y = a < b ? b : a", 0, 1, 1, 2},       /* clamp: passes at the limit */
      {"y = a ? b : a", 1, 0, 5, 0},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    double got = slope(cases[i].text, cases[i].of, cases[i].a, cases[i].b, 2);
    if (!(fabs(got - cases[i].expected) < 1e-7))
      fail_msg("%s at %g, %g by %d: %g", cases[i].text, cases[i].a, cases[i].b, cases[i].of, got);
  }
}

static void assert_gradient_text(const char *text, uint32_t wanted, uint32_t readable,
                                 const char *expected, const char *sources) {
  cvy_program program = parsed(text);
  cvy_program_gradient gradient =
      gradient_of(&program, wanted, (1u << program.results) - 1, readable);
  char got[CVY_PROGRAM_TEXT], from[64];
  assert_int_equal(cvy_program_text(&gradient.program, NULL, got, sizeof got), CONVOY_OK);
  assert_string_equal(got, expected);
  cvy_text out = cvy_text_in(from, sizeof from);
  for (int i = 0; i < gradient.program.inputs; i++) {
    cvy_text_add(&out, "%s%c%d", i ? " " : "", "xyg"[gradient.source[i].kind],
                 gradient.source[i].number);
  }
  assert_string_equal(from, sources);
}

static void results_are_read_where_that_saves_work(void **state) {
  (void)state;
  const char *from_result = "input x0, x1; y0 = x1 * ((1 - x0) * x0)";
  assert_gradient_text("y = sigmoid(x)", 1, 1, from_result, "y0 g0");
  assert_gradient_text("y = sigmoid(x)", 1, 0, "let t0 = sigmoid(x0); y0 = x1 * ((1 - t0) * t0)",
                       "x0 g0");
  assert_gradient_text("y = exp(x); z = 2*y", 1, 3, "input x0, x1, x2; y0 = (x1 + x2 * 2) * x0",
                       "y0 g0 g1");
  assert_gradient_text("y = max(x, 0)", 1, 1, "y0 = x0 <= 0 ? 0 : x1", "x0 g0");
  assert_gradient_text("y = a*b + c", 7, 1, "input x0, x1, x2; y0 = x2 * x1; y1 = x2 * x0; y2 = x2",
                       "x0 x1 g0");
  assert_gradient_text("y = a - a; z = b", 3, 3, "y0 = x0 - x0; y1 = x1", "g0 g1");
  assert_gradient_text("y = floor(a)", 1, 1, "y0 = 0", "");
}

static void random_numbers_come_again(void **state) {
  (void)state;
  assert_gradient_text("y = random() < 0.9 ? x / 0.9 : 0", 1, 1,
                       "y0 = (random(0) < 0.9 ? x0 : 0) / 0.9", "g0");
}

static void impossible_gradients_are_refused(void **state) {
  (void)state;
  cvy_program_gradient gradient;
  cvy_program program = parsed("y = a*b*c*d*e*f*g*h*i; z = y");
  assert_int_equal(cvy_program_gradient_of(&program, 0, 1, 0, &gradient), CONVOY_ERR_ARGUMENT);
  assert_int_equal(cvy_program_gradient_of(&program, 511, 1, 0, &gradient), CONVOY_ERR_ARGUMENT);
  assert_int_equal(cvy_program_gradient_of(&program, 512, 1, 0, &gradient), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "0x200"));
  program = parsed("y = a*b*c*d*e*f*g*h*i*j*k*l*m*n*o*p");
  assert_int_equal(cvy_program_gradient_of(&program, 1, 1, 0, &gradient), CONVOY_OK);
  assert_int_equal(cvy_program_gradient_of(&program, 3, 1, 0, &gradient), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "the gradient has 17 inputs"));
  test_random random = {1};
  do test_random_program(&random, TEST_SMOOTH, 64, &program);
  while (program.instructions < 60);
  assert_int_equal(cvy_program_gradient_of(&program, 1, 1, 0, &gradient), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "at most 64"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(smooth_programs),
      cmocka_unit_test(all_programs),
      cmocka_unit_test(every_function),
      cmocka_unit_test(ties),
      cmocka_unit_test(results_are_read_where_that_saves_work),
      cmocka_unit_test(random_numbers_come_again),
      cmocka_unit_test(impossible_gradients_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
