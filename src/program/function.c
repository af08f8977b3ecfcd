/* A program as a function in the words of program/functions.h: C for the loops that are compiled ahead,
 * OpenCL C for kernels. */
#include "program/ops.h"
#include "program/scalar.h"

static void write_operand(const cvy_program *program, int operand, cvy_text *to) {
  if (operand >= CVY_OPERAND_CONSTANT)
    cvy_text_add(to, "from_bits(pattern(0x%08xu))",
                 to_bits(program->constant[operand - CVY_OPERAND_CONSTANT]));
  else if (operand >= CVY_OPERAND_INPUT)
    cvy_text_add(to, "x%d", operand - CVY_OPERAND_INPUT);
  else
    cvy_text_add(to, "t%d", operand);
}

static bool is_one(const cvy_program *program, int operand) {
  return operand >= CVY_OPERAND_CONSTANT &&
         program->constant[operand - CVY_OPERAND_CONSTANT] == 1.0f;
}

static void write_instruction(const cvy_program *program, int number, cvy_text *to) {
  cvy_instruction code = program->code[number];
  const cvy_op_row *row = &cvy_op_rows[code.op];
  cvy_text_add(to, "  const real t%d = ", number);
  if (code.op == CVY_PROGRAM_INDEX) {
    cvy_text_add(to, "at.axis%d;\n", code.in[0]);
    return;
  }
  if (code.op == CVY_PROGRAM_RANDOM) {
    cvy_text_add(to, "program_random(at, %d);\n", code.in[0]);
    return;
  }
  bool inverse = code.op == CVY_PROGRAM_DIVIDE && is_one(program, code.in[0]);
  cvy_text_add(to, "program_%s(", inverse ? "reciprocal" : row->name);
  for (int i = inverse; i < row->operands; i++) {
    if (i > inverse) cvy_text_add(to, ", ");
    write_operand(program, code.in[i], to);
  }
  cvy_text_add(to, ");\n");
}

static void write_head(const cvy_program *program, const char *prefix, const char *name,
                       cvy_text *to) {
  cvy_program_uses uses = cvy_program_uses_of(program);
  cvy_text_add(to, "%s%sstatic void %s(", prefix, *prefix ? " " : "", name);
  for (int i = 0; i < program->inputs; i++) cvy_text_add(to, "real x%d, ", i);
  if (uses.axes || uses.random) cvy_text_add(to, "const program_place at, ");
  for (int i = 0; i < program->results; i++) cvy_text_add(to, "%sreal *y%d", i ? ", " : "", i);
  cvy_text_add(to, ") {\n");
}

void cvy_program_function(const cvy_program *program, const char *prefix, const char *name,
                          cvy_text *to) {
  write_head(program, prefix, name, to);
  for (int i = 0; i < program->instructions; i++) write_instruction(program, i, to);
  for (int i = 0; i < program->results; i++) {
    cvy_text_add(to, "  *y%d = ", i);
    write_operand(program, program->result[i], to);
    cvy_text_add(to, ";\n");
  }
  cvy_text_add(to, "}\n");
}
