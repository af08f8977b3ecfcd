/* The programs that were compiled ahead, and how one is found. */
#include <string.h>

#include "cpu/program/simd.h"
#include "program/ops.h"

const cvy_fused_program cvy_fused_programs[] = {
#include "cpu/program/fused_programs.h"
};

const int cvy_fused_count = CVY_COUNT(cvy_fused_programs);

/* A comparison on its way through two programs. */
typedef struct comparison {
  const cvy_program *program;
  const cvy_fused_program *fused;
  int32_t constant; /* of the program, for which the fused one has an input; -1: not met yet */
} comparison;

static bool same_operand(comparison *c, int operand, int of_fused) {
  const cvy_program *fused = &c->fused->program;
  if (c->fused->given && of_fused == CVY_OPERAND_INPUT + fused->inputs - 1) {
    int32_t constant = operand - CVY_OPERAND_CONSTANT;
    if (c->constant < 0 && operand >= CVY_OPERAND_CONSTANT) c->constant = constant;
    return c->constant >= 0 && constant == c->constant;
  }
  if (operand < CVY_OPERAND_CONSTANT || of_fused < CVY_OPERAND_CONSTANT) return operand == of_fused;
  return memcmp(&c->program->constant[operand - CVY_OPERAND_CONSTANT],
                &fused->constant[of_fused - CVY_OPERAND_CONSTANT], sizeof(float)) == 0;
}

static bool same_program(comparison *c) {
  const cvy_program *program = c->program, *fused = &c->fused->program;
  if (program->inputs != fused->inputs - c->fused->given || program->results != fused->results ||
      program->instructions != fused->instructions)
    return false;
  for (int i = 0; i < program->instructions; i++) {
    cvy_instruction code = program->code[i], other = fused->code[i];
    if (code.op != other.op) return false;
    for (int k = 0; k < cvy_op_rows[code.op].operands; k++)
      if (!same_operand(c, code.in[k], other.in[k])) return false;
  }
  for (int i = 0; i < program->results; i++)
    if (!same_operand(c, program->result[i], fused->result[i])) return false;
  return true;
}

int cvy_fused_find(const cvy_program *program, uint32_t single, int32_t *constant) {
  for (int i = 0; i < cvy_fused_count; i++) {
    const cvy_fused_program *fused = &cvy_fused_programs[i];
    uint32_t given = (uint32_t)fused->given << (fused->program.inputs - 1);
    comparison c = {program, fused, -1};
    if (fused->single != (single | given) || !same_program(&c)) continue;
    *constant = c.constant;
    return i;
  }
  return -1;
}
