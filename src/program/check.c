/* What a program from elsewhere must be before it is run, and what a program uses. */
#include <string.h>

#include "program/ops.h"

static bool is_operand(const cvy_program *program, int operand, int instructions) {
  if (operand < CVY_OPERAND_INPUT) return operand < instructions;
  if (operand < CVY_OPERAND_CONSTANT) return operand - CVY_OPERAND_INPUT < program->inputs;
  return operand - CVY_OPERAND_CONSTANT < program->constants;
}

static bool is_good_place(const cvy_program *program, int number, int place) {
  cvy_instruction code = program->code[number];
  const cvy_op_row *row = &cvy_op_rows[code.op];
  if (place < row->operands) return is_operand(program, code.in[place], number);
  if (place == 0 && row->numbers) return code.in[0] < row->numbers;
  return code.in[place] == 0;
}

static convoy_status check_instruction(const cvy_program *program, int number) {
  cvy_instruction code = program->code[number];
  if (code.op >= CVY_PROGRAM_OPS) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "program: instruction %d has operation %d, there are %d",
                    number, code.op, CVY_PROGRAM_OPS);
  }
  for (int i = 0; i < 3; i++) {
    if (!is_good_place(program, number, i)) {
      return cvy_fail(CONVOY_ERR_ARGUMENT, "program: operand %d of instruction %d is %d", i, number,
                      code.in[i]);
    }
  }
  return CONVOY_OK;
}

static bool is_zero(const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++)
    if (at[i]) return false;
  return true;
}

convoy_status cvy_program_check(const cvy_program *program) {
  int instructions = program->instructions, constants = program->constants;
  if (instructions > CVY_PROGRAM_INSTRUCTIONS || program->inputs > CVY_PROGRAM_INPUTS ||
      program->results < 1 || program->results > CVY_PROGRAM_RESULTS ||
      constants > CVY_PROGRAM_CONSTANTS) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "program: %d instructions, %d inputs, %d results, %d constants", instructions,
                    program->inputs, program->results, constants);
  }
  for (int i = 0; i < instructions; i++) {
    convoy_status status = check_instruction(program, i);
    if (status) return status;
  }
  for (int i = 0; i < program->results; i++) {
    if (!is_operand(program, program->result[i], instructions)) {
      return cvy_fail(CONVOY_ERR_ARGUMENT, "program: result %d is operand %d", i,
                      program->result[i]);
    }
  }
  if (!is_zero(program->result + program->results, CVY_PROGRAM_RESULTS - program->results) ||
      !is_zero(program->reserved, sizeof program->reserved) ||
      !is_zero(program->code + instructions,
               (size_t)(CVY_PROGRAM_INSTRUCTIONS - instructions) * sizeof program->code[0]) ||
      !is_zero(program->constant + constants,
               (size_t)(CVY_PROGRAM_CONSTANTS - constants) * sizeof program->constant[0]))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "program: what is not used is not 0");
  return CONVOY_OK;
}

static void use(cvy_program_uses *uses, int operand) {
  if (operand >= CVY_OPERAND_INPUT && operand < CVY_OPERAND_CONSTANT)
    uses->inputs |= 1u << (operand - CVY_OPERAND_INPUT);
}

cvy_program_uses cvy_program_uses_of(const cvy_program *program) {
  cvy_program_uses uses = {.inputs = 0};
  for (int i = 0; i < program->instructions; i++) {
    cvy_instruction code = program->code[i];
    for (int k = 0; k < cvy_op_rows[code.op].operands; k++) use(&uses, code.in[k]);
    if (code.op == CVY_PROGRAM_INDEX) uses.axes |= 1u << code.in[0];
    if (code.op == CVY_PROGRAM_RANDOM) uses.random = true;
    uses.work += cvy_op_rows[code.op].work;
  }
  for (int i = 0; i < program->results; i++) use(&uses, program->result[i]);
  return uses;
}
