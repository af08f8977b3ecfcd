/* Values of a program that is being made. Every rule here keeps each result's bits, for NaN,
 * infinities and zeros of both signs too, as long as no denormal number is met. */
#include "program/build.h"

#include <math.h>
#include <string.h>

/* The value, as an earlier equal one where there is one. */
static cvy_value add(cvy_build *build, const cvy_build_value *value) {
  for (int i = 0; i < build->count; i++)
    if (memcmp(&build->value[i], value, sizeof *value) == 0) return (cvy_value)i;
  if (build->count == CVY_BUILD_VALUES) {
    build->full = true;
    return CVY_NO_VALUE;
  }
  build->value[build->count] = *value;
  return (cvy_value)build->count++;
}

/* Bytes between the fields are compared too. */
static cvy_build_value blank(int op, int number) {
  cvy_build_value value;
  memset(&value, 0, sizeof value);
  value.op = (uint8_t)op;
  value.number = (uint8_t)number;
  for (int i = 0; i < 3; i++) value.in[i] = CVY_NO_VALUE;
  return value;
}

cvy_value cvy_build_input(cvy_build *build, int number) {
  cvy_build_value value = blank(CVY_VALUE_INPUT, number);
  return add(build, &value);
}

cvy_value cvy_build_constant(cvy_build *build, float constant) {
  cvy_build_value value = blank(CVY_VALUE_CONSTANT, 0);
  value.constant = isnan(constant) ? NAN : constant; /* one NaN is as good as another */
  return add(build, &value);
}

cvy_value cvy_build_number(cvy_build *build, cvy_program_op op, int number) {
  cvy_build_value value = blank(op, number);
  return add(build, &value);
}

bool cvy_build_is(const cvy_build *build, cvy_value value, float constant) {
  return value >= 0 && build->value[value].op == CVY_VALUE_CONSTANT &&
         memcmp(&build->value[value].constant, &constant, sizeof constant) == 0;
}

/* The operand of a negation; CVY_NO_VALUE if it is none. */
static cvy_value negated(const cvy_build *build, cvy_value value) {
  const cvy_build_value *of = &build->value[value];
  return of->op == CVY_PROGRAM_NEGATE ? of->in[0] : CVY_NO_VALUE;
}

/* Constants alone: computed now, unless engines might differ. */
static cvy_value fold(cvy_build *build, cvy_program_op op, const cvy_value in[3]) {
  float value[3] = {0.0f, 0.0f, 0.0f};
  for (int i = 0; i < 3 && i < cvy_op_rows[op].operands; i++) {
    if (build->value[in[i]].op != CVY_VALUE_CONSTANT) return CVY_NO_VALUE;
    value[i] = build->value[in[i]].constant;
    if (cvy_is_denormal(value[i])) return CVY_NO_VALUE;
  }
  float result = cvy_program_apply(op, value[0], value[1], value[2]);
  return cvy_is_denormal(result) ? CVY_NO_VALUE : cvy_build_constant(build, result);
}

static cvy_value simpler_sum(cvy_build *build, const cvy_value in[3]) {
  cvy_value a = in[0], b = in[1], minus_a = negated(build, a), minus_b = negated(build, b);
  if (cvy_build_is(build, a, -0.0f)) return b;
  if (cvy_build_is(build, b, -0.0f)) return a;
  if (minus_b >= 0) return cvy_build_op(build, CVY_PROGRAM_SUBTRACT, a, minus_b, 0);
  if (minus_a >= 0) return cvy_build_op(build, CVY_PROGRAM_SUBTRACT, b, minus_a, 0);
  return CVY_NO_VALUE;
}

static cvy_value simpler_difference(cvy_build *build, const cvy_value in[3]) {
  cvy_value minus_b = negated(build, in[1]);
  if (cvy_build_is(build, in[1], 0.0f)) return in[0];
  return minus_b >= 0 ? cvy_build_op(build, CVY_PROGRAM_ADD, in[0], minus_b, 0) : CVY_NO_VALUE;
}

static cvy_value simpler_product(cvy_build *build, const cvy_value in[3]) {
  cvy_value a = in[0], b = in[1];
  if (cvy_build_is(build, a, 1.0f)) return b;
  if (cvy_build_is(build, b, 1.0f)) return a;
  if (cvy_build_is(build, a, -1.0f)) return cvy_build_op(build, CVY_PROGRAM_NEGATE, b, 0, 0);
  if (cvy_build_is(build, b, -1.0f)) return cvy_build_op(build, CVY_PROGRAM_NEGATE, a, 0, 0);
  return CVY_NO_VALUE;
}

static cvy_value simpler_quotient(cvy_build *build, const cvy_value in[3]) {
  return cvy_build_is(build, in[1], 1.0f) ? in[0] : CVY_NO_VALUE;
}

static cvy_value simpler_sign(cvy_build *build, const cvy_value in[3]) {
  return negated(build, in[0]);
}

static cvy_value simpler_choice(cvy_build *build, const cvy_value in[3]) {
  const cvy_build_value *condition = &build->value[in[0]];
  if (in[1] == in[2]) return in[1];
  if (condition->op != CVY_VALUE_CONSTANT || cvy_is_denormal(condition->constant))
    return CVY_NO_VALUE;
  return condition->constant == 0.0f ? in[2] : in[1];
}

static cvy_value simpler_extreme(cvy_build *build, const cvy_value in[3]) {
  (void)build;
  return in[0] == in[1] ? in[0] : CVY_NO_VALUE;
}

/* A value that is the same to the bit and needs less, or CVY_NO_VALUE. */
typedef cvy_value simpler(cvy_build *build, const cvy_value in[3]);
static simpler *const simplifiers[CVY_PROGRAM_OPS] = {
    [CVY_PROGRAM_ADD] = simpler_sum,          [CVY_PROGRAM_SUBTRACT] = simpler_difference,
    [CVY_PROGRAM_MULTIPLY] = simpler_product, [CVY_PROGRAM_DIVIDE] = simpler_quotient,
    [CVY_PROGRAM_NEGATE] = simpler_sign,      [CVY_PROGRAM_SELECT] = simpler_choice,
    [CVY_PROGRAM_MIN] = simpler_extreme,      [CVY_PROGRAM_MAX] = simpler_extreme,
};

/* An equal value whose operands are the other way round. */
static cvy_value commuted(const cvy_build *build, const cvy_build_value *value) {
  cvy_build_value other = *value;
  other.in[0] = value->in[1];
  other.in[1] = value->in[0];
  for (int i = 0; i < build->count; i++)
    if (memcmp(&build->value[i], &other, sizeof other) == 0) return (cvy_value)i;
  return CVY_NO_VALUE;
}

cvy_value cvy_build_op(cvy_build *build, cvy_program_op op, cvy_value a, cvy_value b, cvy_value c) {
  const cvy_value in[3] = {a, b, c};
  cvy_build_value value = blank(op, 0);
  for (int i = 0; i < 3 && i < cvy_op_rows[op].operands; i++) {
    if (in[i] < 0) return CVY_NO_VALUE;
    value.in[i] = in[i];
  }
  cvy_value known = fold(build, op, in);
  if (known < 0 && simplifiers[op]) known = simplifiers[op](build, in);
  if (known < 0 && cvy_op_rows[op].commutes) known = commuted(build, &value);
  return known >= 0 ? known : add(build, &value);
}

cvy_value cvy_build_instruction(cvy_build *build, cvy_instruction code, const cvy_value *value) {
  cvy_program_op op = (cvy_program_op)code.op;
  if (cvy_op_rows[op].numbers) return cvy_build_number(build, op, code.in[0]);
  return cvy_build_op(build, op, value[code.in[0]], value[code.in[1]], value[code.in[2]]);
}

/* ------------------------------------------------------------------------------- the program */

enum { NOWHERE = -1 };

typedef struct writer {
  const cvy_build *build;
  const uint8_t *place;
  cvy_program *program;
  int instructions, constants;       /* how many are needed, which may be more than fit */
  int16_t operand[CVY_BUILD_VALUES]; /* where each value went; NOWHERE until it is written */
} writer;

/* Values are made of earlier ones, so the depth is bounded by their number. */
static int write_value(writer *w, cvy_value number) {
  const cvy_build_value *value = &w->build->value[number];
  if (w->operand[number] != NOWHERE) return w->operand[number];
  int operand;
  if (value->op == CVY_VALUE_INPUT) {
    operand = CVY_OPERAND_INPUT + w->place[value->number];
  } else if (value->op == CVY_VALUE_CONSTANT) {
    if (w->constants < CVY_PROGRAM_CONSTANTS) w->program->constant[w->constants] = value->constant;
    operand = CVY_OPERAND_CONSTANT + w->constants++;
  } else {
    cvy_instruction code = {.op = value->op};
    if (cvy_op_rows[value->op].numbers) code.in[0] = value->number;
    for (int i = 0; i < cvy_op_rows[value->op].operands; i++)
      code.in[i] = (uint8_t)write_value(w, value->in[i]);
    if (w->instructions < CVY_PROGRAM_INSTRUCTIONS) w->program->code[w->instructions] = code;
    operand = w->instructions++;
  }
  w->operand[number] = (int16_t)operand;
  return operand;
}

convoy_status cvy_build_program(const cvy_build *build, const cvy_value *results, int count,
                                int inputs, const uint8_t *place, cvy_program *out) {
  cvy_program program;
  memset(&program, 0, sizeof program);
  writer w = {.build = build, .place = place, .program = &program};
  for (int i = 0; i < CVY_BUILD_VALUES; i++) w.operand[i] = NOWHERE;
  for (int i = 0; i < count; i++) program.result[i] = (uint8_t)write_value(&w, results[i]);
  if (w.instructions > CVY_PROGRAM_INSTRUCTIONS) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the program has %d instructions, at most %d are possible",
                    w.instructions, CVY_PROGRAM_INSTRUCTIONS);
  }
  if (w.constants > CVY_PROGRAM_CONSTANTS) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the program has %d constants, at most %d are possible",
                    w.constants, CVY_PROGRAM_CONSTANTS);
  }
  program.instructions = (uint8_t)w.instructions;
  program.constants = (uint8_t)w.constants;
  program.inputs = (uint8_t)inputs;
  program.results = (uint8_t)count;
  *out = program;
  return CONVOY_OK;
}

uint32_t cvy_build_leaves(const cvy_build *build, const cvy_value *values, int count) {
  bool needed[CVY_BUILD_VALUES] = {false};
  uint32_t leaves = 0;
  for (int i = 0; i < count; i++) needed[values[i]] = true;
  for (int i = build->count - 1; i >= 0; i--) {
    const cvy_build_value *value = &build->value[i];
    if (!needed[i]) continue;
    if (value->op == CVY_VALUE_INPUT) leaves |= 1u << value->number;
    for (int k = 0; k < 3; k++)
      if (value->in[k] >= 0) needed[value->in[k]] = true;
  }
  return leaves;
}

int cvy_build_places(const cvy_build *build, const cvy_value *values, int count,
                     uint8_t place[CVY_BUILD_LEAVES], uint8_t leaf[CVY_PROGRAM_INPUTS]) {
  uint32_t leaves = cvy_build_leaves(build, values, count);
  int places = 0;
  for (int number = 0; number < CVY_BUILD_LEAVES; number++) {
    place[number] = (uint8_t)places;
    if (!(leaves >> number & 1)) continue;
    if (places < CVY_PROGRAM_INPUTS) leaf[places] = (uint8_t)number;
    places++;
  }
  return places;
}
