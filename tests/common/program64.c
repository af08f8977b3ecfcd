/* One element of a program in float64, with the C library's functions. */
#include "common/program64.h"

#include <math.h>

#include "program/ops.h"

static double add(double a, double b) {
  return a + b;
}

static double subtract(double a, double b) {
  return a - b;
}

static double multiply(double a, double b) {
  return a * b;
}

static double divide(double a, double b) {
  return a / b;
}

static double negate(double a) {
  return -a;
}

static double less(double a, double b) {
  return a < b;
}

static double less_equal(double a, double b) {
  return a <= b;
}

static double equal(double a, double b) {
  return a == b;
}

static double not_equal(double a, double b) {
  return a != b;
}

static double choose(double a, double b, double c) {
  return a == 0.0 ? c : b;
}

static double least(double a, double b) {
  return a < b || isnan(a) ? a : b;
}

static double largest(double a, double b) {
  return a > b || isnan(a) ? a : b;
}

static double rsqrt(double a) {
  return 1.0 / sqrt(a);
}

static double sigmoid(double a) {
  return 1.0 / (1.0 + exp(-a));
}

typedef union apply64 {
  double (*one)(double);
  double (*two)(double, double);
  double (*three)(double, double, double);
} apply64;

static const apply64 functions[CVY_PROGRAM_OPS] = {
    [CVY_PROGRAM_ADD].two = add,
    [CVY_PROGRAM_SUBTRACT].two = subtract,
    [CVY_PROGRAM_MULTIPLY].two = multiply,
    [CVY_PROGRAM_DIVIDE].two = divide,
    [CVY_PROGRAM_NEGATE].one = negate,
    [CVY_PROGRAM_LESS].two = less,
    [CVY_PROGRAM_LESS_EQUAL].two = less_equal,
    [CVY_PROGRAM_EQUAL].two = equal,
    [CVY_PROGRAM_NOT_EQUAL].two = not_equal,
    [CVY_PROGRAM_SELECT].three = choose,
    [CVY_PROGRAM_FMA].three = fma,
    [CVY_PROGRAM_MIN].two = least,
    [CVY_PROGRAM_MAX].two = largest,
    [CVY_PROGRAM_ABS].one = fabs,
    [CVY_PROGRAM_EXP].one = exp,
    [CVY_PROGRAM_LOG].one = log,
    [CVY_PROGRAM_TANH].one = tanh,
    [CVY_PROGRAM_ERF].one = erf,
    [CVY_PROGRAM_SQRT].one = sqrt,
    [CVY_PROGRAM_RSQRT].one = rsqrt,
    [CVY_PROGRAM_SIGMOID].one = sigmoid,
    [CVY_PROGRAM_FLOOR].one = floor,
};

static double apply(cvy_program_op op, const double in[3]) {
  if (cvy_op_rows[op].operands == 1) return functions[op].one(in[0]);
  if (cvy_op_rows[op].operands == 2) return functions[op].two(in[0], in[1]);
  return functions[op].three(in[0], in[1], in[2]);
}

void test_program_element(const cvy_program *program, const double *inputs,
                          const cvy_program_place *place, double *results) {
  double value[CVY_OPERAND_CONSTANT + CVY_PROGRAM_CONSTANTS];
  for (int i = 0; i < program->inputs; i++) value[CVY_OPERAND_INPUT + i] = inputs[i];
  for (int i = 0; i < program->constants; i++)
    value[CVY_OPERAND_CONSTANT + i] = program->constant[i];
  for (int i = 0; i < program->instructions; i++) {
    cvy_instruction code = program->code[i];
    double in[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < cvy_op_rows[code.op].operands; k++) in[k] = value[code.in[k]];
    if (code.op == CVY_PROGRAM_INDEX)
      value[i] = place->axis[code.in[0]];
    else if (code.op == CVY_PROGRAM_RANDOM)
      value[i] = cvy_program_random(&place->stream, code.in[0], place->index);
    else
      value[i] = apply(code.op, in);
  }
  for (int i = 0; i < program->results; i++) results[i] = value[program->result[i]];
}
