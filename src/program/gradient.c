/* Gradients as programs, instruction by instruction from the last to the first.
 *
 * docs/programs_language.md has the rules and what is done at ties. A value that the program has
 * computed and that may be read again takes the place of its instructions where that costs less. */
#include <fenv.h>
#include <string.h>

#include "program/build.h"
#include "program/mode.h"

/* Leaves while building: inputs, then results, then gradients of results. */
enum {
  LEAF_RESULT = CVY_PROGRAM_INPUTS,
  LEAF_GRADIENT = LEAF_RESULT + CVY_PROGRAM_RESULTS,
  OPERANDS = CVY_OPERAND_CONSTANT + CVY_PROGRAM_CONSTANTS
};

/* Reading an array again costs about as much as so many operations. */
enum { READ_WORK = 8 };

typedef struct differ {
  const cvy_program *program;
  uint32_t given, again; /* bits of results: they have a gradient, they are read again */
  cvy_build build;
  cvy_value value[OPERANDS];    /* of each operand */
  cvy_value gradient[OPERANDS]; /* CVY_NO_VALUE: 0 */
} differ;

/* What an instruction's rule sees: its operands, its value, and the gradient of that. */
typedef struct term {
  differ *d;
  const cvy_instruction *code;
  cvy_value a, b, c, y, g;
} term;

static cvy_value op1(differ *d, cvy_program_op op, cvy_value a) {
  return cvy_build_op(&d->build, op, a, 0, 0);
}

static cvy_value op2(differ *d, cvy_program_op op, cvy_value a, cvy_value b) {
  return cvy_build_op(&d->build, op, a, b, 0);
}

static cvy_value multiply(differ *d, cvy_value a, cvy_value b) {
  return op2(d, CVY_PROGRAM_MULTIPLY, a, b);
}

static cvy_value constant(differ *d, float value) {
  return cvy_build_constant(&d->build, value);
}

static cvy_value choose(differ *d, cvy_value condition, cvy_value a, cvy_value b) {
  return cvy_build_op(&d->build, CVY_PROGRAM_SELECT, condition, a, b);
}

static bool is_constant(const term *t, int k) {
  return t->code->in[k] >= CVY_OPERAND_CONSTANT;
}

/* Adds to the gradient of operand number `k`. */
static void give(const term *t, int k, cvy_value gradient) {
  if (is_constant(t, k)) return;
  cvy_value *sum = &t->d->gradient[t->code->in[k]];
  *sum = *sum < 0 ? gradient : op2(t->d, CVY_PROGRAM_ADD, *sum, gradient);
}

/* ------------------------------------------------------------------------------------- rules */

static void of_add(const term *t) {
  give(t, 0, t->g);
  give(t, 1, t->g);
}

static void of_subtract(const term *t) {
  give(t, 0, t->g);
  give(t, 1, op1(t->d, CVY_PROGRAM_NEGATE, t->g));
}

static void of_multiply(const term *t) {
  give(t, 0, multiply(t->d, t->g, t->b));
  give(t, 1, multiply(t->d, t->g, t->a));
}

static void of_divide(const term *t) {
  cvy_value part = op2(t->d, CVY_PROGRAM_DIVIDE, t->g, t->b);
  give(t, 0, part);
  give(t, 1, op1(t->d, CVY_PROGRAM_NEGATE, multiply(t->d, part, t->y)));
}

static void of_negate(const term *t) {
  give(t, 0, op1(t->d, CVY_PROGRAM_NEGATE, t->g));
}

static void of_select(const term *t) {
  cvy_value zero = constant(t->d, 0.0f);
  give(t, 1, choose(t->d, t->a, t->g, zero));
  give(t, 2, choose(t->d, t->a, zero, t->g));
}

static void of_fma(const term *t) {
  of_multiply(t);
  give(t, 2, t->g);
}

/* The winner gets all, each of two equals half, a NaN on either side both. Against a constant the
 * gradient is 0 at the tie. */
static void of_extreme(const term *t, cvy_value a_loses, cvy_value b_loses) {
  const cvy_value lost[2] = {a_loses, b_loses}, zero = constant(t->d, 0.0f);
  cvy_value tie = op2(t->d, CVY_PROGRAM_EQUAL, t->a, t->b);
  cvy_value half = multiply(t->d, t->g, constant(t->d, 0.5f));
  for (int k = 0; k < 2; k++) {
    if (is_constant(t, k)) continue;
    if (is_constant(t, 1 - k)) {
      cvy_program_op op = CVY_PROGRAM_LESS_EQUAL;
      bool least = t->code->op == CVY_PROGRAM_MIN;
      cvy_value mine = k ? t->b : t->a, other = k ? t->a : t->b;
      give(t, k,
           choose(t->d, least ? op2(t->d, op, other, mine) : op2(t->d, op, mine, other), zero,
                  t->g));
    } else {
      give(t, k, choose(t->d, tie, half, choose(t->d, lost[k], zero, t->g)));
    }
  }
}

static void of_min(const term *t) {
  of_extreme(t, op2(t->d, CVY_PROGRAM_LESS, t->b, t->a), op2(t->d, CVY_PROGRAM_LESS, t->a, t->b));
}

static void of_max(const term *t) {
  of_extreme(t, op2(t->d, CVY_PROGRAM_LESS, t->a, t->b), op2(t->d, CVY_PROGRAM_LESS, t->b, t->a));
}

static void of_abs(const term *t) {
  cvy_value zero = constant(t->d, 0.0f), minus = op1(t->d, CVY_PROGRAM_NEGATE, t->g);
  cvy_value side = choose(t->d, op2(t->d, CVY_PROGRAM_LESS, t->a, zero), minus, t->g);
  give(t, 0, choose(t->d, t->a, side, zero));
}

static void of_exp(const term *t) {
  give(t, 0, multiply(t->d, t->g, t->y));
}

static void of_log(const term *t) {
  give(t, 0, op2(t->d, CVY_PROGRAM_DIVIDE, t->g, t->a));
}

static void of_tanh(const term *t) {
  cvy_value square = multiply(t->d, t->y, t->y);
  give(t, 0, multiply(t->d, t->g, op2(t->d, CVY_PROGRAM_SUBTRACT, constant(t->d, 1.0f), square)));
}

/* 2 / sqrt(pi) e^(-x^2) */
static void of_erf(const term *t) {
  cvy_value square = multiply(t->d, t->a, t->a);
  cvy_value bell = op1(t->d, CVY_PROGRAM_EXP, op1(t->d, CVY_PROGRAM_NEGATE, square));
  give(t, 0, multiply(t->d, multiply(t->d, t->g, constant(t->d, 0x1.20dd76p+0f)), bell));
}

static void of_sqrt(const term *t) {
  cvy_value half = multiply(t->d, t->g, constant(t->d, 0.5f));
  give(t, 0, op2(t->d, CVY_PROGRAM_DIVIDE, half, t->y));
}

/* -1/2 y^3 */
static void of_rsqrt(const term *t) {
  cvy_value half = multiply(t->d, t->g, constant(t->d, -0.5f));
  give(t, 0, multiply(t->d, half, multiply(t->d, multiply(t->d, t->y, t->y), t->y)));
}

static void of_sigmoid(const term *t) {
  cvy_value rest = op2(t->d, CVY_PROGRAM_SUBTRACT, constant(t->d, 1.0f), t->y);
  give(t, 0, multiply(t->d, t->g, multiply(t->d, rest, t->y)));
}

/* NULL: steps, whose gradient is 0, and what has no operands. */
static void (*const rules[CVY_PROGRAM_OPS])(const term *) = {
    [CVY_PROGRAM_ADD] = of_add,           [CVY_PROGRAM_SUBTRACT] = of_subtract,
    [CVY_PROGRAM_MULTIPLY] = of_multiply, [CVY_PROGRAM_DIVIDE] = of_divide,
    [CVY_PROGRAM_NEGATE] = of_negate,     [CVY_PROGRAM_SELECT] = of_select,
    [CVY_PROGRAM_FMA] = of_fma,           [CVY_PROGRAM_MIN] = of_min,
    [CVY_PROGRAM_MAX] = of_max,           [CVY_PROGRAM_ABS] = of_abs,
    [CVY_PROGRAM_EXP] = of_exp,           [CVY_PROGRAM_LOG] = of_log,
    [CVY_PROGRAM_TANH] = of_tanh,         [CVY_PROGRAM_ERF] = of_erf,
    [CVY_PROGRAM_SQRT] = of_sqrt,         [CVY_PROGRAM_RSQRT] = of_rsqrt,
    [CVY_PROGRAM_SIGMOID] = of_sigmoid,
};

/* ------------------------------------------------------------------------------ forward again */

/* The program's own values, of which those that are read again are leaves. */
static void add_values(differ *d) {
  const cvy_program *program = d->program;
  for (int i = 0; i < program->inputs; i++)
    d->value[CVY_OPERAND_INPUT + i] = cvy_build_input(&d->build, i);
  for (int i = 0; i < program->constants; i++)
    d->value[CVY_OPERAND_CONSTANT + i] = constant(d, program->constant[i]);
  for (int i = 0; i < program->instructions; i++) {
    d->value[i] = cvy_build_instruction(&d->build, program->code[i], d->value);
    for (int r = 0; r < program->results; r++) {
      if (program->result[r] == i && (d->again >> r & 1))
        d->value[i] = cvy_build_input(&d->build, LEAF_RESULT + r);
    }
  }
}

static void add_gradients(differ *d) {
  const cvy_program *program = d->program;
  for (int i = 0; i < OPERANDS; i++) d->gradient[i] = CVY_NO_VALUE;
  for (int r = 0; r < program->results; r++) {
    if (!(d->given >> r & 1)) continue;
    cvy_value from = cvy_build_input(&d->build, LEAF_GRADIENT + r);
    cvy_value *sum = &d->gradient[program->result[r]];
    *sum = *sum < 0 ? from : op2(d, CVY_PROGRAM_ADD, *sum, from);
  }
  for (int i = program->instructions - 1; i >= 0; i--) {
    const cvy_instruction *code = &program->code[i];
    if (d->gradient[i] < 0 || !rules[code->op]) continue;
    term t = {d,
              code,
              d->value[code->in[0]],
              d->value[code->in[1]],
              d->value[code->in[2]],
              d->value[i],
              d->gradient[i]};
    rules[code->op](&t);
  }
}

/* ------------------------------------------------------------------------------- the program */

static convoy_status finish(const differ *d, const cvy_value *results, int count,
                            cvy_program_gradient *out) {
  uint8_t place[CVY_BUILD_LEAVES], leaf[CVY_PROGRAM_INPUTS];
  int inputs = cvy_build_places(&d->build, results, count, place, leaf);
  memset(out, 0, sizeof *out);
  for (int i = 0; i < inputs && i < CVY_PROGRAM_INPUTS; i++) {
    bool input = leaf[i] < LEAF_RESULT, result = leaf[i] < LEAF_GRADIENT;
    out->source[i].kind = input    ? CVY_SOURCE_INPUT
                          : result ? CVY_SOURCE_RESULT
                                   : CVY_SOURCE_GRADIENT;
    out->source[i].number = (uint8_t)(leaf[i] - (input ? 0 : result ? LEAF_RESULT : LEAF_GRADIENT));
  }
  if (inputs > CVY_PROGRAM_INPUTS) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "the gradient has %d inputs, at most %d are possible",
                    inputs, CVY_PROGRAM_INPUTS);
  }
  if (cvy_build_program(&d->build, results, count, inputs, place, &out->program))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "gradient: %s", cvy_last_error());
  return CONVOY_OK;
}

/* With these results read again. */
static convoy_status differentiate(const cvy_program *program, uint32_t wanted, uint32_t given,
                                   uint32_t again, cvy_program_gradient *out) {
  cvy_value results[CVY_PROGRAM_RESULTS];
  int count = 0;
  differ d = {.program = program, .given = given, .again = again};
  add_values(&d);
  add_gradients(&d);
  for (int i = 0; i < program->inputs; i++) {
    cvy_value gradient = d.gradient[CVY_OPERAND_INPUT + i];
    if (wanted >> i & 1) results[count++] = gradient < 0 ? constant(&d, 0.0f) : gradient;
  }
  if (d.build.full) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "the gradient has more than %d values",
                    CVY_BUILD_VALUES);
  }
  return finish(&d, results, count, out);
}

static int work_of(const cvy_program *program) {
  return cvy_program_uses_of(program).work + READ_WORK * program->inputs;
}

/* The cheapest of all choices of results to read again. */
static __attribute__((noinline)) convoy_status cheapest(const cvy_program *program, uint32_t wanted,
                                                        uint32_t given, uint32_t readable,
                                                        cvy_program_gradient *out) {
  cvy_program_gradient one;
  memset(&one, 0, sizeof one);
  memset(out, 0, sizeof *out);
  convoy_status best = differentiate(program, wanted, given, 0, out);
  for (uint32_t again = 1; again < 1u << program->results; again++) {
    if (again & ~readable) continue;
    if (differentiate(program, wanted, given, again, &one)) continue;
    if (best || work_of(&one.program) < work_of(&out->program)) *out = one;
    best = CONVOY_OK;
  }
  return best;
}

convoy_status cvy_program_gradient_of(const cvy_program *program, uint32_t wanted, uint32_t given,
                                      uint32_t readable, cvy_program_gradient *out) {
  fenv_t before;
  int count = __builtin_popcount(wanted);
  if (wanted >> program->inputs || count < 1 || count > CVY_PROGRAM_RESULTS) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "gradients of inputs 0x%x are asked for; the program has %d inputs, and at "
                    "most %d gradients come at once",
                    wanted, program->inputs, CVY_PROGRAM_RESULTS);
  }
  cvy_default_mode(&before);
  convoy_status status = cheapest(program, wanted, given, readable, out);
  cvy_restore_mode(&before);
  return status;
}
