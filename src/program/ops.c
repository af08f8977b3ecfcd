/* The table of operations, and each as a function of floats. */
#include "program/ops.h"

#include <float.h>

#include "program/scalar.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float arithmetic must round to float");

const cvy_op_row cvy_op_rows[CVY_PROGRAM_OPS] = {
    [CVY_PROGRAM_ADD] = {"+", "add", 2, 1, 0, true, CVY_BINDS_SUM},
    [CVY_PROGRAM_SUBTRACT] = {"-", "subtract", 2, 1, 0, false, CVY_BINDS_SUM},
    [CVY_PROGRAM_MULTIPLY] = {"*", "multiply", 2, 1, 0, true, CVY_BINDS_PRODUCT},
    [CVY_PROGRAM_DIVIDE] = {"/", "divide", 2, 10, 0, false, CVY_BINDS_PRODUCT},
    [CVY_PROGRAM_NEGATE] = {"-", "negate", 1, 1, 0, false, CVY_BINDS_SIGN},
    [CVY_PROGRAM_LESS] = {"<", "less", 2, 1, 0, false, CVY_BINDS_COMPARISON},
    [CVY_PROGRAM_LESS_EQUAL] = {"<=", "less_equal", 2, 1, 0, false, CVY_BINDS_COMPARISON},
    [CVY_PROGRAM_EQUAL] = {"==", "equal", 2, 1, 0, true, CVY_BINDS_COMPARISON},
    [CVY_PROGRAM_NOT_EQUAL] = {"!=", "not_equal", 2, 1, 0, true, CVY_BINDS_COMPARISON},
    [CVY_PROGRAM_SELECT] = {"?", "select", 3, 1, 0, false, CVY_BINDS_CHOICE},
    [CVY_PROGRAM_FMA] = {NULL, "fma", 3, 2, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_MIN] = {NULL, "min", 2, 1, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_MAX] = {NULL, "max", 2, 1, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_ABS] = {NULL, "abs", 1, 1, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_EXP] = {NULL, "exp", 1, 20, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_LOG] = {NULL, "log", 1, 30, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_TANH] = {NULL, "tanh", 1, 45, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_ERF] = {NULL, "erf", 1, 50, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_SQRT] = {NULL, "sqrt", 1, 10, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_RSQRT] = {NULL, "rsqrt", 1, 20, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_SIGMOID] = {NULL, "sigmoid", 1, 30, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_FLOOR] = {NULL, "floor", 1, 1, 0, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_INDEX] = {NULL, "index", 0, 1, CVY_PROGRAM_AXES, false, CVY_BINDS_TIGHT},
    [CVY_PROGRAM_RANDOM] = {NULL, "random", 0, 30, CVY_PROGRAM_RANDOMS, false, CVY_BINDS_TIGHT},
};

const char cvy_axis_letters[CVY_PROGRAM_AXES + 1] = "nczhw";

typedef union apply {
  float (*one)(float);
  float (*two)(float, float);
  float (*three)(float, float, float);
} apply;

static const apply functions[CVY_PROGRAM_OPS] = {
    [CVY_PROGRAM_ADD].two = program_add,
    [CVY_PROGRAM_SUBTRACT].two = program_subtract,
    [CVY_PROGRAM_MULTIPLY].two = program_multiply,
    [CVY_PROGRAM_DIVIDE].two = program_divide,
    [CVY_PROGRAM_NEGATE].one = program_negate,
    [CVY_PROGRAM_LESS].two = program_less,
    [CVY_PROGRAM_LESS_EQUAL].two = program_less_equal,
    [CVY_PROGRAM_EQUAL].two = program_equal,
    [CVY_PROGRAM_NOT_EQUAL].two = program_not_equal,
    [CVY_PROGRAM_SELECT].three = program_select,
    [CVY_PROGRAM_FMA].three = program_fma,
    [CVY_PROGRAM_MIN].two = program_min,
    [CVY_PROGRAM_MAX].two = program_max,
    [CVY_PROGRAM_ABS].one = program_abs,
    [CVY_PROGRAM_EXP].one = program_exp,
    [CVY_PROGRAM_LOG].one = program_log,
    [CVY_PROGRAM_TANH].one = program_tanh,
    [CVY_PROGRAM_ERF].one = program_erf,
    [CVY_PROGRAM_SQRT].one = program_sqrt,
    [CVY_PROGRAM_RSQRT].one = program_rsqrt,
    [CVY_PROGRAM_SIGMOID].one = program_sigmoid,
    [CVY_PROGRAM_FLOOR].one = program_floor,
};

float cvy_program_apply(cvy_program_op op, float a, float b, float c) {
  if (cvy_op_rows[op].operands == 1) return functions[op].one(a);
  if (cvy_op_rows[op].operands == 2) return functions[op].two(a, b);
  return functions[op].three(a, b, c);
}

/* By its bits: a thread's mode may make a comparison take it for 0. */
bool cvy_is_denormal(float value) {
  uint32_t magnitude = to_bits(value) & 0x7fffffffu;
  return magnitude != 0 && magnitude <= 0x00800000u;
}
