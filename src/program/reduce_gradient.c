/* Gradients of reductions: as those of sums over the same axes.
 *
 * Seen from one element v of a reduction, each kind has the same gradient as a sum of
 *
 *   mean               v / n
 *   maximum, minimum   v (v == result) / how many elements are equal to it
 *   variance           (v - mean)^2 / n
 *
 * in which result, count and mean are numbers that do not depend on v. Of the variance's mean that
 * is true too: its part of the gradient is a multiple of the sum of v - mean, which is 0. */
#include <fenv.h>
#include <string.h>

#include "program/build.h"
#include "program/mode.h"
#include "program/reduce.h"

/* Leaves while building. */
enum {
  LEAF_OF_RESULT = CVY_PROGRAM_INPUTS,
  LEAF_OF_STATISTIC = LEAF_OF_RESULT + CVY_PROGRAM_RESULTS,
  OPERANDS = CVY_OPERAND_CONSTANT + CVY_PROGRAM_CONSTANTS
};

typedef struct reducer {
  const cvy_program *program;
  const cvy_reduction *how;
  float share; /* of one element in a mean */
  cvy_build build;
  cvy_value value[OPERANDS];
  cvy_value statistic[CVY_PROGRAM_RESULTS], term[CVY_PROGRAM_RESULTS];
  cvy_reduction statistics, terms;
} reducer;

static cvy_value op2(reducer *r, cvy_program_op op, cvy_value a, cvy_value b) {
  return cvy_build_op(&r->build, op, a, b, 0);
}

static cvy_value multiply(reducer *r, cvy_value a, cvy_value b) {
  return op2(r, CVY_PROGRAM_MULTIPLY, a, b);
}

static cvy_value value_of(const reducer *r, int result) {
  return r->value[r->program->result[r->how->result[result].value]];
}

/* Each result asks for one at most, so there is room. */
static cvy_value statistic(reducer *r, cvy_reduce_kind kind, cvy_value of) {
  int i = 0, count = r->statistics.results;
  while (i < count && (r->statistic[i] != of || r->statistics.result[i].kind != kind)) i++;
  if (i == count) {
    r->statistic[i] = of;
    r->statistics.result[i].kind = (uint8_t)kind;
    r->statistics.result[i].value = (uint8_t)i;
    r->statistics.results++;
  }
  return cvy_build_input(&r->build, LEAF_OF_STATISTIC + i);
}

/* Read again where the reduction has made it. */
static cvy_value mean_of(reducer *r, cvy_value v) {
  for (int k = 0; k < r->how->results; k++)
    if (r->how->result[k].kind == CVY_REDUCE_MEAN && value_of(r, k) == v)
      return cvy_build_input(&r->build, LEAF_OF_RESULT + k);
  return statistic(r, CVY_REDUCE_MEAN, v);
}

/* ------------------------------------------------------------------------------------- terms */

static cvy_value term_of_sum(reducer *r, int result) {
  return value_of(r, result);
}

static cvy_value term_of_mean(reducer *r, int result) {
  return multiply(r, value_of(r, result), cvy_build_constant(&r->build, r->share));
}

static cvy_value term_of_extreme(reducer *r, int result) {
  cvy_value v = value_of(r, result);
  cvy_value extreme = cvy_build_input(&r->build, LEAF_OF_RESULT + result);
  cvy_value equal = op2(r, CVY_PROGRAM_EQUAL, v, extreme);
  cvy_value count = statistic(r, CVY_REDUCE_SUM, equal);
  return multiply(r, v, op2(r, CVY_PROGRAM_DIVIDE, equal, count));
}

static cvy_value term_of_variance(reducer *r, int result) {
  cvy_value v = value_of(r, result), share = cvy_build_constant(&r->build, r->share);
  cvy_value distance = op2(r, CVY_PROGRAM_SUBTRACT, v, mean_of(r, v));
  return multiply(r, multiply(r, distance, distance), share);
}

typedef cvy_value term_fn(reducer *r, int result);
static term_fn *const terms[CVY_REDUCE_KINDS] = {
    [CVY_REDUCE_SUM] = term_of_sum,           [CVY_REDUCE_MEAN] = term_of_mean,
    [CVY_REDUCE_MAX] = term_of_extreme,       [CVY_REDUCE_MIN] = term_of_extreme,
    [CVY_REDUCE_VARIANCE] = term_of_variance,
};

/* --------------------------------------------------------------------------------- the stages */

/* A program and four terms are far from CVY_BUILD_VALUES. */
static void add_values(reducer *r) {
  const cvy_program *program = r->program;
  for (int i = 0; i < program->inputs; i++)
    r->value[CVY_OPERAND_INPUT + i] = cvy_build_input(&r->build, i);
  for (int i = 0; i < program->constants; i++)
    r->value[CVY_OPERAND_CONSTANT + i] = cvy_build_constant(&r->build, program->constant[i]);
  for (int i = 0; i < program->instructions; i++)
    r->value[i] = cvy_build_instruction(&r->build, program->code[i], r->value);
}

static convoy_status finish(const reducer *r, const cvy_value *results, const cvy_reduction *how,
                            cvy_reduce_stage *out) {
  uint8_t place[CVY_BUILD_LEAVES], leaf[CVY_PROGRAM_INPUTS];
  int inputs = cvy_build_places(&r->build, results, how->results, place, leaf);
  out->how = *how;
  for (int i = 0; i < inputs && i < CVY_PROGRAM_INPUTS; i++) {
    bool input = leaf[i] < LEAF_OF_RESULT, result = leaf[i] < LEAF_OF_STATISTIC;
    out->source[i].kind = input    ? CVY_REDUCE_FROM_INPUT
                          : result ? CVY_REDUCE_FROM_RESULT
                                   : CVY_REDUCE_FROM_STATISTIC;
    out->source[i].number = (uint8_t)(leaf[i] - (input    ? 0
                                                 : result ? LEAF_OF_RESULT
                                                          : LEAF_OF_STATISTIC));
  }
  if (inputs > CVY_PROGRAM_INPUTS) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "the gradient has %d inputs, at most %d are possible",
                    inputs, CVY_PROGRAM_INPUTS);
  }
  if (cvy_build_program(&r->build, results, how->results, inputs, place, &out->program))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "gradient: %s", cvy_last_error());
  return CONVOY_OK;
}

static void add_terms(reducer *r, uint32_t wanted, uint32_t given, cvy_reduce_gradient *out) {
  for (int k = 0; k < r->how->results; k++) {
    cvy_value v = value_of(r, k);
    if (!(given >> k & 1) || !(cvy_build_leaves(&r->build, &v, 1) & wanted)) continue;
    int term = r->terms.results++;
    r->terms.result[term].value = (uint8_t)term;
    r->term[term] = terms[r->how->result[k].kind](r, k);
    out->result[term] = (uint8_t)k;
  }
}

static __attribute__((noinline)) convoy_status make(const cvy_program *program,
                                                    const cvy_reduction *how, int64_t length,
                                                    uint32_t wanted, uint32_t given,
                                                    cvy_reduce_gradient *out) {
  reducer r = {.program = program, .how = how, .share = (float)(1.0 / (double)length)};
  r.statistics.axes = r.terms.axes = how->axes;
  memset(out, 0, sizeof *out);
  add_values(&r);
  add_terms(&r, wanted, given, out);
  convoy_status status = CONVOY_OK;
  if (r.statistics.results) status = finish(&r, r.statistic, &r.statistics, &out->statistics);
  if (!status && r.terms.results) status = finish(&r, r.term, &r.terms, &out->terms);
  return status;
}

convoy_status cvy_reduce_gradient_of(const cvy_program *program, const cvy_reduction *how,
                                     int64_t length, uint32_t wanted, uint32_t given,
                                     cvy_reduce_gradient *out) {
  fenv_t before;
  cvy_default_mode(&before);
  convoy_status status = make(program, how, length, wanted, given, out);
  cvy_restore_mode(&before);
  return status;
}
