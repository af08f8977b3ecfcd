#include "gradient_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/program64.h"
#include "problem/program/program.h"

enum { NUMBERS = 1 << 16 }; /* of all arrays of a check */

/* ------------------------------------------------------------------------------- definitions */

/* In the definition's arithmetic, which takes float32 numbers. */
static void evaluate_elements(const cvy_problem *problem, const double *const *in, double *out) {
  static float numbers[NUMBERS];
  cvy_values values = {{NULL}};
  float *next = numbers;
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++) {
    cvy_array array = cvy_problem_input(problem, i);
    values.in[i] = next;
    for (int64_t k = 0; k < cvy_array_reach(&array); k++, next++) {
      int32_t number = (int32_t)in[i][k];
      *next = (float)in[i][k];
      assert_true((double)*next == in[i][k]);
      if (array.dtype == CONVOY_INT32) memcpy(next, &number, sizeof number);
    }
  }
  cvy_array result = cvy_problem_output(problem, 0);
  for (int64_t k = 0; k < cvy_array_count(&result); k++)
    out[k] = cvy_problem_element(problem, &values, 0, k).value;
}

static cvy_program_place evaluate_element(const cvy_program_problem *of, const double *const *in,
                                          int64_t index, double *results) {
  double value[CVY_PROGRAM_INPUTS];
  cvy_program_place place = cvy_program_place_of(of, index);
  for (int i = 0; i < of->program.inputs; i++)
    value[i] = in[i][cvy_program_offset(&of->input[i], &place)];
  test_program_element(&of->program, value, &place, results);
  return place;
}

static void evaluate_program(const cvy_program_problem *of, const double *const *in,
                             double *const *out) {
  double results[CVY_PROGRAM_RESULTS];
  for (int64_t i = 0; i < cvy_program_count(of->extent); i++) {
    evaluate_element(of, in, i, results);
    for (int k = 0; k < of->program.results; k++) out[k][i] = results[k];
  }
}

static double joined(int kind, double a, double b) {
  if (kind == CVY_REDUCE_MAX) return b > a || isnan(b) ? b : a;
  if (kind == CVY_REDUCE_MIN) return b < a || isnan(b) ? b : a;
  return a + b;
}

/* Of squares of distances from `mean`, where it is not NULL. */
static void reduce(const cvy_reduce_problem *problem, const double *const *in, int result,
                   const double *mean, double *out) {
  static const double nothing[CVY_REDUCE_KINDS] = {
      [CVY_REDUCE_MAX] = -INFINITY, [CVY_REDUCE_MIN] = INFINITY};
  int kind = problem->how.result[result].kind;
  double length = (double)cvy_reduce_length(problem->of.extent, problem->how.axes);
  int64_t kept = cvy_reduce_kept(problem->of.extent, problem->how.axes);
  for (int64_t k = 0; k < kept; k++) out[k] = nothing[kind];
  for (int64_t i = 0; i < cvy_program_count(problem->of.extent); i++) {
    double results[CVY_PROGRAM_RESULTS];
    cvy_program_place place = evaluate_element(&problem->of, in, i, results);
    int64_t at = cvy_program_offset(&problem->of.result[result], &place);
    double value = results[problem->how.result[result].value];
    if (mean) value = (value - mean[at]) * (value - mean[at]);
    out[at] = joined(kind, out[at], value);
  }
  bool divided = kind == CVY_REDUCE_MEAN || kind == CVY_REDUCE_VARIANCE;
  for (int64_t k = 0; k < kept && divided; k++) out[k] /= length;
}

static void evaluate_reduce(const cvy_reduce_problem *problem, const double *const *in,
                            double *const *out) {
  for (int k = 0; k < problem->how.results; k++) {
    static double mean[NUMBERS];
    bool variance = problem->how.result[k].kind == CVY_REDUCE_VARIANCE;
    if (variance) reduce(problem, in, k, NULL, mean);
    reduce(problem, in, k, variance ? mean : NULL, out[k]);
  }
}

/* Of no images nothing is computed: there is what was there, or 0. */
static void evaluate_nothing(const cvy_problem *problem, const double *const *in,
                             double *const *out) {
  for (int32_t k = 0; k < cvy_problem_outputs(problem); k++) {
    cvy_array array = cvy_problem_output(problem, k);
    const double *prior = problem->accumulate && k == 0 ? in[cvy_problem_inputs(problem)] : NULL;
    for (int64_t i = 0; i < cvy_array_count(&array); i++) out[k][i] = prior ? prior[i] : 0.0;
  }
}

static void define(const cvy_problem *problem, const double *const *in, double *const *out) {
  if (cvy_problem_empty(problem))
    evaluate_nothing(problem, in, out);
  else if (problem->operation == CVY_PROGRAM)
    evaluate_program(&problem->program, in, out);
  else if (problem->operation == CVY_REDUCE)
    evaluate_reduce(&problem->reduce, in, out);
  else
    evaluate_elements(problem, in, out[0]);
}

/* ------------------------------------------------------------------------------------ arrays */

typedef struct numbers {
  double *at;
  int64_t count;
} numbers;

typedef struct check {
  const cvy_problem *problem;
  uint32_t given;
  numbers in[CVY_MOST_READ], out[CVY_MAX_OUTPUTS], above[CVY_MAX_OUTPUTS];
  numbers made[CVY_GRADIENT_STEPS][CVY_MAX_OUTPUTS];
  double space[4 * NUMBERS];
  int64_t used;
  cvy_gradient gradient;
} check;

static numbers room_for(check *c, cvy_array array) {
  numbers room = {c->space + c->used, cvy_array_reach(&array)};
  c->used += room.count;
  assert_true(c->used <= (int64_t)CVY_COUNT(c->space));
  return room;
}

/* Programs are computed in float64. The others' numbers have few enough bits that all products and
 * sums are exact. */
static void fill(test_random *random, const cvy_problem *problem, const numbers *to) {
  bool exact = problem->operation != CVY_PROGRAM && problem->operation != CVY_REDUCE;
  for (int64_t k = 0; k < to->count; k++)
    to->at[k] = exact ? (double)test_between(random, -16, 16) / 8
                      : (double)test_between(random, -2000, 2000) / 1000 + 1e-4 / 3;
}

static void find_arrays(test_random *random, check *c) {
  for (int32_t i = 0; i < cvy_problem_reads(c->problem); i++) {
    c->in[i] = room_for(c, cvy_problem_input(c->problem, i));
    fill(random, c->problem, &c->in[i]);
    bool integers = cvy_problem_input(c->problem, i).dtype != CONVOY_FLOAT32;
    for (int64_t k = 0; k < c->in[i].count && integers; k++)
      c->in[i].at[k] = fabs(floor(c->in[i].at[k]));
  }
  for (int32_t k = 0; k < cvy_problem_outputs(c->problem); k++) {
    c->out[k] = room_for(c, cvy_problem_output(c->problem, k));
    c->above[k] = room_for(c, cvy_problem_output(c->problem, k));
    fill(random, c->problem, &c->above[k]);
  }
}

static void evaluate(const cvy_problem *problem, const numbers *in, const numbers *out) {
  const double *inputs[CVY_MOST_READ];
  double *outputs[CVY_MAX_OUTPUTS];
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++) inputs[i] = in[i].at;
  for (int32_t k = 0; k < cvy_problem_outputs(problem); k++) outputs[k] = out[k].at;
  define(problem, inputs, outputs);
}

/* ------------------------------------------------------------------------------------- steps */

static numbers operand_of(const check *c, cvy_gradient_operand from, int32_t steps) {
  const cvy_problem *p = c->problem;
  switch (from.source) {
    case CVY_GRADIENT_INPUT:
      assert_in_range(from.number, 0, cvy_problem_reads(p) - 1);
      return c->in[from.number];
    case CVY_GRADIENT_OUTPUT:
      assert_in_range(from.number, 0, cvy_problem_outputs(p) - 1);
      return c->out[from.number];
    case CVY_GRADIENT_OF_OUTPUT:
      assert_in_range(from.number, 0, cvy_problem_outputs(p) - 1);
      assert_true(c->given >> from.number & 1);
      return c->above[from.number];
    default:
      assert_int_equal(from.source, CVY_GRADIENT_STEP);
      assert_in_range(from.number, 0, steps - 1);
      assert_in_range(from.output, 0,
                      cvy_problem_outputs(&c->gradient.step[from.number].problem) - 1);
      return c->made[from.number][from.output];
  }
}

static void assert_read_back(const cvy_problem *problem) {
  char text[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], again[CVY_CLASS_TEXT];
  cvy_shape_class(problem, class, sizeof class);
  cvy_class_example(problem, text, sizeof text);
  const cvy_family *family = cvy_family_of(problem);
  if (family->readable && !family->readable(problem)) return; /* too long for a text */
  if (!cvy_class_of_example(text, again, sizeof again)) fail_msg("not read back: %s", text);
  assert_string_equal(class, again);
}

static void carry_out(check *c, int32_t number) {
  const cvy_gradient_step *step = &c->gradient.step[number];
  numbers in[CVY_MOST_READ];
  assert_true(cvy_problem_legal(&step->problem));
  assert_int_equal(step->problem.accumulate, 0);
  assert_read_back(&step->problem);
  assert_in_range(cvy_problem_reads(&step->problem), 1, CVY_MAX_INPUTS);
  for (int32_t i = 0; i < cvy_problem_reads(&step->problem); i++) {
    cvy_array array = cvy_problem_input(&step->problem, i);
    in[i] = operand_of(c, step->in[i], number);
    assert_int_equal(cvy_array_reach(&array), in[i].count);
    if (step->in[i].source == CVY_GRADIENT_INPUT)
      assert_int_equal(array.dtype, cvy_problem_input(c->problem, step->in[i].number).dtype);
    else
      assert_int_equal(array.dtype, CONVOY_FLOAT32);
  }
  for (int32_t k = 0; k < cvy_problem_outputs(&step->problem); k++)
    c->made[number][k] = room_for(c, cvy_problem_output(&step->problem, k));
  evaluate(&step->problem, in, c->made[number]);
}

/* ------------------------------------------------------------------------------- differences */

/* Of the loss, to the operation with this element `h` away. */
static double loss(check *c, double *element, double h) {
  numbers out[CVY_MAX_OUTPUTS];
  double before = *element, sum = 0;
  int64_t used = c->used;
  for (int32_t k = 0; k < cvy_problem_outputs(c->problem); k++)
    out[k] = room_for(c, cvy_problem_output(c->problem, k));
  *element = before + h;
  evaluate(c->problem, c->in, out);
  *element = before;
  c->used = used;
  for (int32_t k = 0; k < cvy_problem_outputs(c->problem); k++)
    for (int64_t i = 0; i < out[k].count && (c->given >> k & 1); i++)
      sum += c->above[k].at[i] * out[k].at[i];
  return sum;
}

/* The central difference, how far slopes on both sides are apart, and what a sum that is so large
 * rounds away of them. */
typedef struct difference {
  double slope, bend, rounding;
} difference;

static difference difference_of(check *c, double *element, double h) {
  double here = loss(c, element, 0), up = loss(c, element, h), down = loss(c, element, -h);
  return (difference){(up - down) / (2 * h), ((up - here) - (here - down)) / h,
                      0x1p-53 * fabs(here) / h};
}

/* A bend that is of the second derivative halves with the step; at a kink it stays. */
static void check_element(check *c, int32_t input, int64_t index, test_gradient_counts *counts) {
  double *element = &c->in[input].at[index], got = 0;
  difference coarse = difference_of(c, element, 0x1p-13), fine = difference_of(c, element, 0x1p-14);
  double size = 1 + fabs(fine.slope);
  double noise =
      fabs(coarse.slope - fine.slope) + fabs(2 * fine.bend - coarse.bend) + fine.rounding;
  const cvy_gradient_operand of = c->gradient.of[input];
  if (of.source != CVY_GRADIENT_NONE) {
    numbers gradient = operand_of(c, of, c->gradient.steps);
    assert_int_equal(gradient.count, c->in[input].count);
    got = gradient.at[index];
  }
  if (!(noise < 1e-5 * size) || fabs(fine.slope) > 1e6 || isnan(got)) {
    counts->skipped++;
    return;
  }
  counts->checked++;
  if (fabs(got - fine.slope) <= 4 * noise + 1e-6 * size) return;
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(c->problem, text, sizeof text);
  fail_msg("%s, given 0x%x: %s[%lld] has gradient %g, expected %g", text, c->given,
           cvy_problem_input_name(c->problem, input), (long long)index, got, fine.slope);
}

static convoy_status check_gradient(test_random *random, check *c, uint32_t wanted, int elements,
                                    test_gradient_counts *counts) {
  convoy_status status = cvy_problem_gradient(c->problem, wanted, c->given, &c->gradient);
  if (status) return status;
  evaluate(c->problem, c->in, c->out);
  assert_in_range(c->gradient.steps, 0, CVY_GRADIENT_STEPS);
  for (int32_t s = 0; s < c->gradient.steps; s++) carry_out(c, s);
  counts->steps += c->gradient.steps;
  for (int32_t i = 0; i < cvy_problem_reads(c->problem); i++) {
    if (!(wanted >> i & 1)) assert_int_equal(c->gradient.of[i].source, CVY_GRADIENT_NONE);
    for (int e = 0; e < elements && c->in[i].count && (wanted >> i & 1); e++)
      check_element(c, i, test_between(random, 0, c->in[i].count - 1), counts);
  }
  return CONVOY_OK;
}

convoy_status test_check_gradient(test_random *random, const cvy_problem *problem, uint32_t wanted,
                                  uint32_t given, int elements, test_gradient_counts *counts) {
  check *c = calloc(1, sizeof *c);
  if (!c) abort();
  c->problem = problem;
  c->given = given;
  find_arrays(random, c);
  convoy_status status = check_gradient(random, c, wanted, elements, counts);
  free(c);
  return status;
}
