/* src/problem: the gradients of programs and reductions as steps. */
#include <math.h>

#include "common/cmocka.h"
#include "problem/program/program.h"
#include "program/random_program.h"
#include "unit/gradient_check.h"

enum { AXES = CVY_PROGRAM_AXES };

/* ------------------------------------------------------------------------------------- random */

/* As many elements as are soon computed; sometimes none. */
static void random_extents(test_random *random, int64_t *extent) {
  for (int axis = 0; axis < AXES; axis++)
    extent[axis] = test_between(random, 0, 2) ? test_between(random, 2, 4) : 1;
  if (test_between(random, 0, 49) == 0) extent[test_between(random, 0, AXES - 1)] = 0;
}

/* One element for all along some axes. */
static cvy_program_view random_view(test_random *random, const int64_t *extent) {
  uint32_t axes = test_between(random, 0, 2) ? (uint32_t)test_between(random, 0, 31) : 31;
  cvy_program_view view = {.type = CONVOY_FLOAT32};
  int64_t stride = 1;
  for (int axis = AXES - 1; axis >= 0; axis--) {
    if (!(axes >> axis & 1) || extent[axis] <= 1) continue;
    view.stride[axis] = stride;
    stride *= extent[axis];
  }
  return view;
}

static void random_operands(test_random *random, cvy_program_problem *of) {
  for (int i = 0; i < of->program.inputs; i++) of->input[i] = random_view(random, of->extent);
  if (!cvy_program_uses_of(&of->program).random) return;
  of->seed = test_next(random);
  of->run = test_next(random);
  of->node = test_next(random);
}

static void random_program(test_random *random, cvy_problem *out) {
  static const cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  int64_t extent[AXES];
  cvy_program program;
  memset(out, 0, sizeof *out);
  random_extents(random, extent);
  test_random_program(random, test_between(random, 0, 3) ? TEST_SMOOTH : TEST_TAME,
                      (int)test_between(random, 1, 8), &program);
  cvy_program_problem_init(&program, extent, full, &out->program);
  random_operands(random, &out->program);
  if (cvy_program_make(&out->program, out)) fail_msg("%s", cvy_last_error());
}

static void random_reduction(test_random *random, cvy_problem *out) {
  cvy_problem program;
  cvy_reduction how = {.axes = (uint8_t)test_between(random, 1, 31),
                       .results = (uint8_t)test_between(random, 1, CVY_PROGRAM_RESULTS)};
  static const cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  random_program(random, &program);
  for (int k = 0; k < how.results; k++) {
    how.result[k].kind = (uint8_t)test_between(random, 0, CVY_REDUCE_KINDS - 1);
    how.result[k].value = (uint8_t)test_between(random, 0, program.program.program.results - 1);
  }
  memset(out, 0, sizeof *out);
  cvy_reduce_problem_init(&program.program.program, &how, program.program.extent, full,
                          &out->reduce);
  random_operands(random, &out->reduce.of);
  if (cvy_reduce_make(&out->reduce, out)) fail_msg("%s", cvy_last_error());
}

/* Of some inputs for some results, mostly all. */
static void check_random(uint64_t seed, void make(test_random *, cvy_problem *)) {
  test_random random = {seed};
  test_gradient_counts counts = {0};
  int refused = 0;
  for (int i = 0; i < 1500; i++) {
    cvy_problem p;
    make(&random, &p);
    uint32_t all = (1u << cvy_problem_inputs(&p)) - 1;
    uint32_t outputs = (1u << cvy_problem_outputs(&p)) - 1;
    uint32_t wanted = test_between(&random, 0, 2) ? all : (uint32_t)test_next(&random) & all;
    uint32_t given = test_between(&random, 0, 2) ? outputs : (uint32_t)test_next(&random) & outputs;
    if (test_check_gradient(&random, &p, wanted, given, 3, &counts)) refused++;
  }
  print_message("%d checked, %d skipped, %d steps, %d refused\n", counts.checked, counts.skipped,
                counts.steps, refused);
  assert_true(refused < 150 && counts.checked > 9 * counts.skipped && counts.steps > 1000);
}

static void programs_against_differences(void **state) {
  (void)state;
  check_random(41, random_program);
}

static void reductions_against_differences(void **state) {
  (void)state;
  check_random(42, random_reduction);
}

/* Bytes that no text gives: results that are the same, inputs that are not read, long programs. */
static void random_bytes(test_random *random, cvy_problem *out) {
  do {
    cvy_program *program = &out->program.program;
    bool reduces = test_between(random, 0, 1);
    if (reduces) {
      random_reduction(random, out);
      program = &out->reduce.of.program;
    } else {
      random_program(random, out);
    }
    cvy_program_problem *of = reduces ? &out->reduce.of : &out->program;
    test_raw_program(random, program);
    memset(of->input, 0, sizeof of->input);
    of->seed = of->run = of->node = 0;
    random_operands(random, of);
    if (reduces) continue;
    memset(of->result, 0, sizeof of->result);
    for (int k = 0; k < program->results; k++)
      of->result[k] = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, of->extent);
  } while (!cvy_problem_legal(out));
}

static void steps_of_any_bytes(void **state) {
  (void)state;
  test_random random = {43};
  test_gradient_counts counts = {0};
  int refused = 0;
  for (int i = 0; i < 3000; i++) {
    cvy_problem p;
    random_bytes(&random, &p);
    uint32_t all = (1u << cvy_problem_inputs(&p)) - 1;
    uint32_t outputs = (1u << cvy_problem_outputs(&p)) - 1;
    convoy_status status = test_check_gradient(&random, &p, (uint32_t)test_next(&random) & all,
                                               (uint32_t)test_next(&random) & outputs, 0, &counts);
    if (status) assert_int_equal(status, CONVOY_ERR_UNSUPPORTED);
    refused += status != CONVOY_OK;
  }
  print_message("%d steps, %d refused\n", counts.steps, refused);
  assert_true(refused < 30 && counts.steps > 500);
}

/* ---------------------------------------------------------------------------------- one by one */

static cvy_gradient g;

static cvy_problem gradient_of(const char *text, uint32_t wanted, uint32_t given) {
  cvy_problem p;
  cvy_program_names names;
  if (cvy_program_read_named(text, &p, &names)) fail_msg("'%s': %s", text, cvy_last_error());
  if (cvy_problem_gradient(&p, wanted, given, &g)) fail_msg("'%s': %s", text, cvy_last_error());
  return p;
}

static void assert_steps(int32_t count) {
  if (g.steps != count) fail_msg("%d steps, expected %d", (int)g.steps, (int)count);
}

static void assert_of(int input, int32_t source, int32_t number, int32_t output) {
  const cvy_gradient_operand *of = &g.of[input];
  if (of->source != source || of->number != number || of->output != output)
    fail_msg("the gradient of input %d is at %d %d %d", input, of->source, of->number, of->output);
}

/* A step's text, and its operands: x and y are those of the operation, d is for y, s a step's. */
static void assert_step(int32_t number, const char *expected, const char *sources) {
  static const char letters[] = {[CVY_GRADIENT_NONE] = '-',
                                 [CVY_GRADIENT_INPUT] = 'x',
                                 [CVY_GRADIENT_OUTPUT] = 'y',
                                 [CVY_GRADIENT_OF_OUTPUT] = 'd',
                                 [CVY_GRADIENT_STEP] = 's'};
  char text[CONVOY_PROBLEM_TEXT], from[64];
  const cvy_gradient_step *step = &g.step[number];
  cvy_text to = cvy_text_in(from, sizeof from);
  cvy_problem_text(&step->problem, text, sizeof text);
  assert_string_equal(text, expected);
  for (int32_t i = 0; i < cvy_problem_inputs(&step->problem); i++)
    cvy_text_add(&to, "%s%c%d", i ? " " : "", letters[step->in[i].source], (int)step->in[i].number);
  assert_string_equal(from, sources);
}

static void what_is_known_needs_no_step(void **state) {
  (void)state;
  gradient_of("y = a + b on n2c3h4", 3, 1);
  assert_steps(0);
  for (int i = 0; i < 2; i++) assert_of(i, CVY_GRADIENT_OF_OUTPUT, 0, 0);
  gradient_of("y = floor(a) + (b < 2) * 0 on n2c3h4", 3, 1);
  assert_steps(0);
  for (int i = 0; i < 2; i++) assert_of(i, CVY_GRADIENT_NONE, 0, 0);
  gradient_of("y = a * b; z = a + b on n2c3h4", 3, 2);
  assert_steps(0);
  for (int i = 0; i < 2; i++) assert_of(i, CVY_GRADIENT_OF_OUTPUT, 1, 0);
  gradient_of("y = a * b on n2c3h4", 2, 1);
  assert_steps(1);
  assert_step(0, "input x0, x1; y0 = x1 * x0 on n2c3h4", "x0 d0");
  assert_of(0, CVY_GRADIENT_NONE, 0, 0);
  assert_of(1, CVY_GRADIENT_STEP, 0, 0);
  gradient_of("s = sum over h of x on n2c3", 1, 1); /* of one element each */
  assert_steps(0);
  assert_of(0, CVY_GRADIENT_OF_OUTPUT, 0, 0);
  gradient_of("v = variance over n of floor(x) on n4c3", 1, 1);
  assert_steps(0);
  assert_of(0, CVY_GRADIENT_NONE, 0, 0);
  gradient_of("v = variance over n of random(); s = sum over n of x on n4c3", 1, 3);
  assert_steps(1);
  assert_of(0, CVY_GRADIENT_STEP, 0, 0);
  gradient_of("s = sum over n of x on n0c3", 1, 1);
  assert_steps(0);
  assert_of(0, CVY_GRADIENT_NONE, 0, 0);
}

static void results_are_read_again(void **state) {
  (void)state;
  gradient_of("y = sigmoid(x) on n2c3h4", 1, 1);
  assert_steps(1);
  assert_step(0, "input x0, x1; y0 = x1 * ((1 - x0) * x0) on n2c3h4", "y0 d0");
}

static void sums_over_what_is_shared(void **state) {
  (void)state;
  gradient_of("y = a * s + b on n2c3h4 s:channel b:channel", 7, 1);
  assert_steps(2);
  assert_step(0, "input x0, x1; y0 = x1 * x0 on n2c3h4 x0:channel", "x1 d0");
  assert_step(1, "input x0, x1; y0 = sum over n h of x1 * x0; y1 = sum over n h of x1 on n2c3h4",
              "x0 d0");
  assert_of(0, CVY_GRADIENT_STEP, 0, 0);
  assert_of(1, CVY_GRADIENT_STEP, 1, 0);
  assert_of(2, CVY_GRADIENT_STEP, 1, 1);
  gradient_of("y = a + b + c on n2c3h4 a:channel b:channel c:channel", 7, 1);
  assert_steps(1); /* that are equal are one */
  assert_step(0, "y0 = sum over n h of x0 on n2c3h4", "d0");
  for (int i = 0; i < 3; i++) assert_of(i, CVY_GRADIENT_STEP, 0, 0);
}

static void sixteen_inputs(void **state) {
  (void)state;
  gradient_of("y = a*b + c*d + e*f + g*h + i*j + k*l + m*n + o*p on n2c3h4", 0xffff, 1);
  assert_steps(2); /* eight at once */
  for (int i = 0; i < 16; i++) assert_of(i, CVY_GRADIENT_STEP, i / 8, i % 8);
  gradient_of("y = a*b*c*d*e*f*g*h*i*j*k*l*m*n*o*p on n2c3h4", 0xffff, 1);
  assert_steps(16); /* each reads all others */
  for (int i = 0; i < 16; i++) assert_of(i, CVY_GRADIENT_STEP, i, 0);
}

static void statistics_of_batch_norm(void **state) {
  (void)state;
  gradient_of("m = mean over n h w of x; v = variance over n h w of x on n2c3h4w4", 1, 3);
  assert_steps(1);
  assert_step(0,
              "input x0, x1, x2, x3; let t0 = x3 * 0.03125 * (x0 - x1); "
              "y0 = t0 + t0 + x2 * 0.03125 on n2c3h4w4 x1:channel x2:channel x3:channel",
              "x0 y0 d0 d1");
  gradient_of("m = mean over n h w of x; v = variance over n h w of x on n2c3h4w4", 1, 2);
  assert_steps(1); /* the mean has been made, whoever wants its gradient */
  gradient_of("v = variance over n h w of x on n2c3h4w4", 1, 1);
  assert_steps(2);
  assert_step(0, "y0 = mean over n h w of x0 on n2c3h4w4", "x0");
  assert_step(1,
              "input x0, x1, x2; let t0 = x2 * 0.03125 * (x0 - x1); y0 = t0 + t0 "
              "on n2c3h4w4 x1:channel x2:channel",
              "x0 s0 d0");
}

/* The gradient of input 0 in the arithmetic of programs, where d is 1. */
static void gradient_in_float(const cvy_problem *p, const float *x, float *out) {
  static const float ones[64] = {[0 ... 63] = 1.0f};
  static float made[CVY_GRADIENT_STEPS + 1][64];
  cvy_values values = {{x}};
  int64_t outputs = cvy_problem_output_bytes(p, 0) / 4;
  for (int64_t i = 0; i < outputs; i++)
    made[CVY_GRADIENT_STEPS][i] = (float)cvy_problem_element(p, &values, 0, i).value;
  for (int32_t s = 0; s < g.steps; s++) {
    const cvy_problem *step = &g.step[s].problem;
    cvy_values in = {{NULL}};
    for (int32_t i = 0; i < cvy_problem_inputs(step); i++) {
      const float *const arrays[] = {[CVY_GRADIENT_INPUT] = x,
                                     [CVY_GRADIENT_OUTPUT] = made[CVY_GRADIENT_STEPS],
                                     [CVY_GRADIENT_OF_OUTPUT] = ones,
                                     [CVY_GRADIENT_STEP] = made[g.step[s].in[i].number]};
      in.in[i] = arrays[g.step[s].in[i].source];
    }
    for (int64_t i = 0; i < cvy_problem_output_bytes(step, 0) / 4; i++)
      made[s][i] = (float)cvy_problem_element(step, &in, 0, i).value;
  }
  memcpy(out, made[g.of[0].number], (size_t)cvy_problem_input_bytes(p, 0));
}

static void largest_elements_share_evenly(void **state) {
  (void)state;
  const float x[] = {1, 3, 3, 3, 2, NAN, 2, -0.0f, 0, -1, 0, -5};
  const float expected[] = {0,   1.0f / 3, 1.0f / 3, 1.0f / 3, NAN,      NAN,
                            NAN, NAN,      1.0f / 2, 0,        1.0f / 2, 0};
  float got[12];
  cvy_problem p = gradient_of("m = maximum over w of x on n3w4", 1, 1);
  assert_steps(2);
  assert_step(0, "y0 = sum over w of x0 == x1 on n3w4 x1:image_channel", "x0 y0");
  gradient_in_float(&p, x, got);
  for (int i = 0; i < 12; i++)
    if (!test_same_bits(got[i], expected[i]) && got[i] != expected[i])
      fail_msg("element %d is %g, expected %g", i, (double)got[i], (double)expected[i]);
}

static void dropout_drops_the_same(void **state) {
  (void)state;
  float x[60], y[60], got[60];
  cvy_problem p;
  assert_true(cvy_program_read("y = random() < 0.5 ? x / 0.5 : 0 on n3c4h5", &p));
  p.program.seed = 11;
  p.program.run = 22;
  p.program.node = 33;
  assert_int_equal(cvy_problem_gradient(&p, 1, 1, &g), CONVOY_OK);
  assert_steps(1);
  for (int i = 0; i < 60; i++) x[i] = 1;
  cvy_values values = {{x}};
  for (int i = 0; i < 60; i++) y[i] = (float)cvy_problem_element(&p, &values, 0, i).value;
  gradient_in_float(&p, x, got);
  assert_memory_equal(got, y, sizeof y);
  int dropped = 0;
  for (int i = 0; i < 60; i++) dropped += y[i] == 0;
  assert_in_range(dropped, 15, 45);
}

static void assert_refused(const char *text, uint32_t wanted, const char *reason) {
  cvy_problem p;
  assert_true(cvy_program_read(text, &p));
  uint32_t given = (1u << cvy_problem_outputs(&p)) - 1;
  assert_int_equal(cvy_problem_gradient(&p, wanted, given, &g), CONVOY_ERR_UNSUPPORTED);
  if (!strstr(cvy_last_error(), reason)) fail_msg("%s", cvy_last_error());
}

static void what_has_none_is_refused(void **state) {
  (void)state;
  const char *slice = "y = x0 * x1 on n2c3h4 x1:strides=24,4,0,1,0";
  assert_refused(slice, 2, "x1 with strides 24 4 0 1 0 is not a whole array");
  assert_refused(slice, 2, slice + 1);
  gradient_of(slice, 1, 1); /* it may be read */
  assert_refused("s = sum over n of x0 * x1 on n2c3h4 x1:strides=1,2,0,6,0", 3, "x1 with strides");
  assert_refused("y = x0 * x1 on n2c3h4 x1:full:int32", 3, "x1 holds integers");
  gradient_of("y = x0 * x1 on n2c3h4 x1:full:int32", 1, 1);
  assert_refused(
      "a = maximum over n of x0 * x1 * x2; b = minimum over n of x0 * x1 * x2; "
      "c = maximum over n of x0 + x1 + x2; d = minimum over n of x0 + x1 + x2; "
      "e = maximum over n of x0 - x1 * x2 on n2c3",
      7, "the gradient has 18 inputs, at most 16 are possible: ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_against_differences),
      cmocka_unit_test(reductions_against_differences),
      cmocka_unit_test(steps_of_any_bytes),
      cmocka_unit_test(what_is_known_needs_no_step),
      cmocka_unit_test(results_are_read_again),
      cmocka_unit_test(sums_over_what_is_shared),
      cmocka_unit_test(sixteen_inputs),
      cmocka_unit_test(statistics_of_batch_norm),
      cmocka_unit_test(largest_elements_share_evenly),
      cmocka_unit_test(dropout_drops_the_same),
      cmocka_unit_test(what_has_none_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
