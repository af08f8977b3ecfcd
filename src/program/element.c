/* One element of a program. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "program/mode.h"
#include "program/ops.h"

/* The values operands may name, in the numbering of operands. */
enum { VALUES = CVY_OPERAND_CONSTANT + CVY_PROGRAM_CONSTANTS };

/* What operands and results of instructions become. */
typedef float treat_fn(float value);

static float kept(float value) {
  return value;
}

static float flushed(float value) {
  return cvy_is_denormal(value) && fabsf(value) < FLT_MIN ? copysignf(0.0f, value) : value;
}

static __attribute__((noinline)) bool compute(const cvy_program *program, treat_fn *treat,
                                              const float *inputs, const cvy_program_place *place,
                                              float *results) {
  float value[VALUES];
  bool plain = true;
  for (int i = 0; i < program->inputs; i++) value[CVY_OPERAND_INPUT + i] = inputs[i];
  for (int i = 0; i < program->constants; i++)
    value[CVY_OPERAND_CONSTANT + i] = program->constant[i];
  for (int i = 0; i < program->instructions; i++) {
    cvy_instruction code = program->code[i];
    float in[3] = {0.0f, 0.0f, 0.0f};
    for (int k = 0; k < cvy_op_rows[code.op].operands; k++) {
      plain &= !cvy_is_denormal(value[code.in[k]]);
      in[k] = treat(value[code.in[k]]);
    }
    if (code.op == CVY_PROGRAM_INDEX)
      value[i] = (float)place->axis[code.in[0]];
    else if (code.op == CVY_PROGRAM_RANDOM)
      value[i] = cvy_program_random(&place->stream, code.in[0], place->index);
    else
      value[i] = cvy_program_apply(code.op, in[0], in[1], in[2]);
    plain &= !cvy_is_denormal(value[i]);
    value[i] = treat(value[i]);
  }
  for (int i = 0; i < program->results; i++) {
    results[i] = value[program->result[i]];
    plain &= !cvy_is_denormal(results[i]);
    results[i] = treat(results[i]);
  }
  return plain;
}

bool cvy_program_element(const cvy_program *program, const float *inputs,
                         const cvy_program_place *place, float *results) {
  fenv_t before;
  cvy_default_mode(&before);
  bool plain = compute(program, kept, inputs, place, results);
  cvy_restore_mode(&before);
  return plain;
}

bool cvy_program_element_both(const cvy_program *program, const float *inputs,
                              const cvy_program_place *place, float *results, float *zeroed) {
  bool plain = compute(program, kept, inputs, place, results);
  if (plain)
    memcpy(zeroed, results, program->results * sizeof *results);
  else
    compute(program, flushed, inputs, place, zeroed);
  return plain;
}
