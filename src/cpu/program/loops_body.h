/* The loops of programs. The including file sets WIDTH and what the set is called, SIMD and
 * SIMD_NAME, and is compiled with the flags of its instruction set. Each loop is one of the drivers
 * below with an operation, which the compiler puts into it. */
#include "cpu/program/simd.h"
#include "cpu/program/vector.h"
#include "cpu/program/vector_random.h"

typedef real one_operand(real);
typedef real two_operands(real, real);
typedef real three_operands(real, real, real);
typedef real four_operands(real, real, real, real);

/* ------------------------------------------------------------------------------------ drivers */

ALWAYS void each_of_one(float *out, const cvy_vector_operand *in, int64_t count, one_operand *f) {
  const float *a = in[0].at;
  int64_t advance = in[0].advance;
  for (int64_t i = 0; i < count; i += WIDTH, a += advance) store(out + i, f(load(a)));
}

/* One number is loaded once: the compiler does not know that the result lies elsewhere. */
ALWAYS void each_of_two(float *out, const cvy_vector_operand *in, int64_t count, two_operands *f) {
  const float *a = in[0].at, *b = in[1].at;
  if (!in[1].advance) {
    real y = load(b);
    for (int64_t i = 0; i < count; i += WIDTH) store(out + i, f(load(a + i), y));
  } else if (!in[0].advance) {
    real x = load(a);
    for (int64_t i = 0; i < count; i += WIDTH) store(out + i, f(x, load(b + i)));
  } else {
    for (int64_t i = 0; i < count; i += WIDTH) store(out + i, f(load(a + i), load(b + i)));
  }
}

ALWAYS void each_of_three(float *out, const cvy_vector_operand *in, int64_t count,
                          three_operands *f) {
  const float *a = in[0].at, *b = in[1].at, *c = in[2].at;
  if (!in[1].advance && !in[2].advance) {
    real y = load(b), z = load(c);
    for (int64_t i = 0; i < count; i += WIDTH) store(out + i, f(load(a + i), y, z));
    return;
  }
  int64_t advance[3] = {in[0].advance, in[1].advance, in[2].advance};
  for (int64_t i = 0; i < count; i += WIDTH) {
    store(out + i, f(load(a), load(b), load(c)));
    a += advance[0];
    b += advance[1];
    c += advance[2];
  }
}

ALWAYS void each_of_four(float *out, const cvy_vector_operand *in, int64_t count,
                         four_operands *f) {
  const float *a = in[0].at, *b = in[1].at, *c = in[2].at, *d = in[3].at;
  if (!in[1].advance && !in[2].advance && !in[3].advance) {
    real y = load(b), z = load(c), w = load(d);
    for (int64_t i = 0; i < count; i += WIDTH) store(out + i, f(load(a + i), y, z, w));
    return;
  }
  int64_t advance[4] = {in[0].advance, in[1].advance, in[2].advance, in[3].advance};
  for (int64_t i = 0; i < count; i += WIDTH) {
    store(out + i, f(load(a), load(b), load(c), load(d)));
    a += advance[0];
    b += advance[1];
    c += advance[2];
    d += advance[3];
  }
}

/* ----------------------------------------------------------------------------------- operations */

static void loop_add(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_add);
}

static void loop_subtract(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_subtract);
}

static void loop_multiply(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_multiply);
}

static void loop_divide(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_divide);
}

static void loop_negate(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_negate);
}

static void loop_less(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_less);
}

static void loop_less_equal(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_less_equal);
}

static void loop_equal(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_equal);
}

static void loop_not_equal(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_not_equal);
}

static void loop_select(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, program_select);
}

static void loop_fma(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, program_fma);
}

static void loop_min(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_min);
}

static void loop_max(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_two(out, in, count, program_max);
}

static void loop_abs(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_abs);
}

static void loop_exp(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_exp);
}

static void loop_log(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_log);
}

static void loop_tanh(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_tanh);
}

static void loop_erf(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_erf);
}

static void loop_sqrt(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_sqrt);
}

static void loop_rsqrt(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_rsqrt);
}

static void loop_sigmoid(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_sigmoid);
}

static void loop_floor(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, program_floor);
}

/* ------------------------------------------------------------------------- several operations */

ALWAYS real add_add(real a, real b, real c) {
  return (a + b) + c;
}

ALWAYS real add_subtract(real a, real b, real c) {
  return (a + b) - c;
}

ALWAYS real add_from(real a, real b, real c) {
  return c - (a + b);
}

ALWAYS real add_multiply(real a, real b, real c) {
  return (a + b) * c;
}

ALWAYS real subtract_add(real a, real b, real c) {
  return (a - b) + c;
}

ALWAYS real subtract_subtract(real a, real b, real c) {
  return (a - b) - c;
}

ALWAYS real subtract_from(real a, real b, real c) {
  return c - (a - b);
}

ALWAYS real subtract_multiply(real a, real b, real c) {
  return (a - b) * c;
}

ALWAYS real multiply_add_apart(real a, real b, real c) {
  return a * b + c;
}

ALWAYS real multiply_subtract(real a, real b, real c) {
  return a * b - c;
}

ALWAYS real multiply_from(real a, real b, real c) {
  return c - a * b;
}

ALWAYS real multiply_multiply(real a, real b, real c) {
  return a * b * c;
}

ALWAYS real normalise(real a, real b, real c, real d) {
  return (a - b) * c + d;
}

ALWAYS real silu(real a) {
  return a * program_sigmoid(a);
}

ALWAYS real select_less(real a, real b, real c, real d) {
  return choose(less(a, b), c, d);
}

ALWAYS real select_less_equal(real a, real b, real c, real d) {
  return choose(less_equal(a, b), c, d);
}

ALWAYS real itself(real a) {
  return a;
}

static void loop_add_add(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, add_add);
}

static void loop_add_subtract(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, add_subtract);
}

static void loop_add_from(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, add_from);
}

static void loop_add_multiply(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, add_multiply);
}

static void loop_subtract_add(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, subtract_add);
}

static void loop_subtract_subtract(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, subtract_subtract);
}

static void loop_subtract_from(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, subtract_from);
}

static void loop_subtract_multiply(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, subtract_multiply);
}

static void loop_multiply_add(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, multiply_add_apart);
}

static void loop_multiply_subtract(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, multiply_subtract);
}

static void loop_multiply_from(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, multiply_from);
}

static void loop_multiply_multiply(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_three(out, in, count, multiply_multiply);
}

static void loop_normalise(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_four(out, in, count, normalise);
}

static void loop_silu(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, silu);
}

static void loop_select_less(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_four(out, in, count, select_less);
}

static void loop_select_less_equal(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_four(out, in, count, select_less_equal);
}

static void loop_copy(float *out, const cvy_vector_operand *in, int64_t count) {
  each_of_one(out, in, count, itself);
}

/* -------------------------------------------------------------------------------- conversions */

static void loop_from_int32(float *out, const cvy_vector_operand *in, int64_t count) {
  const int32_t *from = (const int32_t *)(const void *)in[0].at;
  for (int64_t i = 0; i < count; i++) out[i] = (float)from[i];
}

static void loop_from_uint8(float *out, const cvy_vector_operand *in, int64_t count) {
  const uint8_t *from = (const uint8_t *)(const void *)in[0].at;
  for (int64_t i = 0; i < count; i++) out[i] = (float)from[i];
}

/* ------------------------------------------------------------------ programs compiled ahead */

ALWAYS real repeat(const float *from) {
  return number(*from);
}

#include "cpu/program/fused_loops.h"
#include "cpu/program/reduce_body.h"

/* ------------------------------------------------------------------------------------ the table */

const cvy_program_simd SIMD = {
    .name = SIMD_NAME,
    .width = WIDTH,
    .fused = fused_loops,
    .random = loop_random,
    .rows = {[CVY_PART_SUM] = rows_sum,
             [CVY_PART_MAX] = rows_max,
             [CVY_PART_MIN] = rows_min,
             [CVY_PART_MOMENTS] = rows_moments},
    .join = {[CVY_PART_SUM] = join_sum,
             [CVY_PART_MAX] = join_max,
             [CVY_PART_MIN] = join_min,
             [CVY_PART_MOMENTS] = join_moments},
    .loop =
        {
            [CVY_PROGRAM_ADD] = loop_add,
            [CVY_PROGRAM_SUBTRACT] = loop_subtract,
            [CVY_PROGRAM_MULTIPLY] = loop_multiply,
            [CVY_PROGRAM_DIVIDE] = loop_divide,
            [CVY_PROGRAM_NEGATE] = loop_negate,
            [CVY_PROGRAM_LESS] = loop_less,
            [CVY_PROGRAM_LESS_EQUAL] = loop_less_equal,
            [CVY_PROGRAM_EQUAL] = loop_equal,
            [CVY_PROGRAM_NOT_EQUAL] = loop_not_equal,
            [CVY_PROGRAM_SELECT] = loop_select,
            [CVY_PROGRAM_FMA] = loop_fma,
            [CVY_PROGRAM_MIN] = loop_min,
            [CVY_PROGRAM_MAX] = loop_max,
            [CVY_PROGRAM_ABS] = loop_abs,
            [CVY_PROGRAM_EXP] = loop_exp,
            [CVY_PROGRAM_LOG] = loop_log,
            [CVY_PROGRAM_TANH] = loop_tanh,
            [CVY_PROGRAM_ERF] = loop_erf,
            [CVY_PROGRAM_SQRT] = loop_sqrt,
            [CVY_PROGRAM_RSQRT] = loop_rsqrt,
            [CVY_PROGRAM_SIGMOID] = loop_sigmoid,
            [CVY_PROGRAM_FLOOR] = loop_floor,
            [CVY_VECTOR_COPY] = loop_copy,
            [CVY_VECTOR_FROM_INT32] = loop_from_int32,
            [CVY_VECTOR_FROM_UINT8] = loop_from_uint8,
            /* in the order of cvy_vector_pair */
            [CVY_VECTOR_PAIR] = loop_add_add,
            loop_add_subtract,
            loop_add_from,
            loop_add_multiply,
            loop_subtract_add,
            loop_subtract_subtract,
            loop_subtract_from,
            loop_subtract_multiply,
            loop_multiply_add,
            loop_multiply_subtract,
            loop_multiply_from,
            loop_multiply_multiply,
            [CVY_VECTOR_NORMALISE] = loop_normalise,
            [CVY_VECTOR_SILU] = loop_silu,
            [CVY_VECTOR_SELECT_LESS] = loop_select_less,
            [CVY_VECTOR_SELECT_LESS_EQUAL] = loop_select_less_equal,
        },
};
