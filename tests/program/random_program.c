#include "program/random_program.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/build.h"

enum { MOST_INPUTS = 5 };

static float from_word(uint32_t word) {
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static float special(test_random *random) {
  static const float values[] = {
      0.0f,      -0.0f,      INFINITY,    -INFINITY,      NAN,           FLT_MAX,   -FLT_MAX,
      0x1p-125f, -0x1p-125f, 0x1.8p-126f, 1.0f,           -1.0f,         0x1p23f,   0x1p24f,
      -0x1p31f,  88.7228f,   88.73f,      -87.34f,        -86.98f,       -103.9f,   0.6f,
      0.92f,     3.99f,      0x1p-64f,    0x1p64f,        0x1p126f,      0x1p-100f, 0.5f,
      2.5f,      3.5f,       0.70710678f, 0x1.fffffep-1f, 0x1.000002p0f, 0x1p127f,
  };
  return values[test_between(random, 0, (int64_t)CVY_COUNT(values) - 1)];
}

float test_hostile(test_random *random) {
  switch (test_between(random, 0, 4)) {
    case 0:
      return special(random);
    case 1:
      return (float)test_between(random, -8, 8);
    case 2: { /* any exponent but that of denormal numbers */
      uint32_t word = (uint32_t)test_next(random);
      return (word & 0x7f800000u) ? from_word(word) : from_word(word | 0x00800000u);
    }
    case 3: { /* next to a power of two */
      uint32_t exponent = (uint32_t)test_between(random, 120, 134);
      uint32_t sign = (uint32_t)test_between(random, 0, 1);
      return from_word((sign << 31) + (exponent << 23) + (uint32_t)test_between(random, -3, 3));
    }
    default:
      return (float)test_between(random, -(1 << 23), 1 << 23) / (float)(1 << 21);
  }
}

cvy_program_place test_random_place(test_random *random) {
  cvy_program_place place;
  memset(&place, 0, sizeof place);
  for (int i = 0; i < CVY_PROGRAM_AXES; i++) place.axis[i] = (int32_t)test_between(random, 0, 999);
  place.index = test_next(random) >> test_between(random, 0, 60);
  place.stream = cvy_program_stream_of(test_next(random), 1, 2);
  return place;
}

bool test_same_bits(float a, float b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* ------------------------------------------------------------------------------------ programs */

static const uint8_t smooth[] = {
    CVY_PROGRAM_ADD, CVY_PROGRAM_SUBTRACT, CVY_PROGRAM_MULTIPLY, CVY_PROGRAM_NEGATE,
    CVY_PROGRAM_FMA, CVY_PROGRAM_TANH,     CVY_PROGRAM_ERF,      CVY_PROGRAM_SIGMOID,
};

typedef struct pool {
  cvy_build build;
  cvy_value value[CVY_BUILD_VALUES];
  bool used[CVY_BUILD_VALUES];
  int count;
} pool;

static void keep(pool *p, cvy_value value) {
  for (int i = 0; i < p->count; i++)
    if (p->value[i] == value) return;
  p->used[p->count] = false;
  p->value[p->count++] = value;
}

/* Mostly one that nothing uses yet, so that little is left out in the end. */
static cvy_value pick(test_random *random, pool *p) {
  int at = (int)test_between(random, 0, p->count - 1);
  if (test_between(random, 0, 2))
    for (int i = 0; i < p->count && p->used[at]; i++) at = (at + 1) % p->count;
  p->used[at] = true;
  return p->value[at];
}

static float plain_constant(test_random *random, test_program_kind kind) {
  static const float values[] = {0.5f, 1.0f, 2.0f, 0.1f, -0.25f, 3.0f, 0.0f, 1e-3f};
  if (kind == TEST_ANY && test_between(random, 0, 3) == 0) return special(random);
  return values[test_between(random, 0, (int64_t)CVY_COUNT(values) - 1)];
}

static void grow(test_random *random, test_program_kind kind, pool *p) {
  int op = kind == TEST_SMOOTH ? smooth[test_between(random, 0, sizeof smooth - 1)]
                               : (int)test_between(random, 0, CVY_PROGRAM_OPS - 1);
  if (op == CVY_PROGRAM_INDEX || op == CVY_PROGRAM_RANDOM) {
    keep(p, cvy_build_number(&p->build, (cvy_program_op)op, (int)test_between(random, 0, 4)));
    return;
  }
  if (test_between(random, 0, 9) == 0)
    keep(p, cvy_build_constant(&p->build, plain_constant(random, kind)));
  cvy_value a = pick(random, p), b = pick(random, p), c = pick(random, p);
  keep(p, cvy_build_op(&p->build, (cvy_program_op)op, a, b, c));
}

/* The values that nothing uses are the results, the latest first. */
static int results_of(const pool *p, cvy_value results[CVY_PROGRAM_RESULTS]) {
  int count = 0;
  for (int i = p->count - 1; i >= 0 && count < CVY_PROGRAM_RESULTS; i--)
    if (!p->used[i]) results[count++] = p->value[i];
  if (!count) results[count++] = p->value[p->count - 1];
  return count;
}

void test_random_program(test_random *random, test_program_kind kind, int instructions,
                         cvy_program *out) {
  uint8_t place[CVY_BUILD_LEAVES];
  int inputs = (int)test_between(random, 1, MOST_INPUTS);
  pool *p = calloc(1, sizeof *p);
  if (!p) abort();
  for (int i = 0; i < CVY_BUILD_LEAVES; i++) place[i] = (uint8_t)i;
  for (int i = 0; i < inputs; i++) keep(p, cvy_build_input(&p->build, i));
  memset(out, 0, sizeof *out);
  for (int i = 0; i < instructions || !out->results; i++) {
    cvy_value results[CVY_PROGRAM_RESULTS];
    cvy_program longer;
    grow(random, kind, p);
    int count = results_of(p, results);
    if (cvy_build_program(&p->build, results, count, inputs, place, &longer)) break;
    *out = longer;
  }
  free(p);
}

static uint8_t raw_operand(test_random *random, const cvy_program *program, int instructions) {
  int kind = (int)test_between(random, 0, 3);
  if (kind == 0 && program->constants)
    return (uint8_t)(CVY_OPERAND_CONSTANT + test_between(random, 0, program->constants - 1));
  if (kind == 1 || !instructions)
    return (uint8_t)(CVY_OPERAND_INPUT + test_between(random, 0, program->inputs - 1));
  return (uint8_t)test_between(random, 0, instructions - 1);
}

void test_raw_program(test_random *random, cvy_program *out) {
  memset(out, 0, sizeof *out);
  out->inputs = (uint8_t)test_between(random, 1, CVY_PROGRAM_INPUTS);
  out->results = (uint8_t)test_between(random, 1, CVY_PROGRAM_RESULTS);
  out->constants = (uint8_t)test_between(random, 0, CVY_PROGRAM_CONSTANTS);
  out->instructions = (uint8_t)test_between(random, 0, CVY_PROGRAM_INSTRUCTIONS);
  for (int i = 0; i < out->constants; i++) out->constant[i] = test_hostile(random);
  for (int i = 0; i < out->instructions; i++) {
    cvy_instruction *code = &out->code[i];
    code->op = (uint8_t)test_between(random, 0, CVY_PROGRAM_OPS - 1);
    for (int k = 0; k < cvy_op_rows[code->op].operands; k++)
      code->in[k] = raw_operand(random, out, i);
    if (cvy_op_rows[code->op].numbers) code->in[0] = (uint8_t)test_between(random, 0, 4);
  }
  for (int i = 0; i < out->results; i++)
    out->result[i] = raw_operand(random, out, out->instructions);
}
