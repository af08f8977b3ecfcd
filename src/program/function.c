/* A program as a function in the words of program/program_functions.h: C for the loops that are
 * compiled ahead, OpenCL C for kernels. */
#include "program/ops.h"
#include "program/scalar.h"

/* A comparison that only chooses is written as a condition, without the 1 and 0 between. */
static const struct condition {
  const char *word;
  bool swapped; /* the choices are the other way round */
} conditions[CVY_PROGRAM_OPS] = {
    [CVY_PROGRAM_LESS] = {"less", false},
    [CVY_PROGRAM_LESS_EQUAL] = {"less_equal", false},
    [CVY_PROGRAM_EQUAL] = {"equal", false},
    [CVY_PROGRAM_NOT_EQUAL] = {"equal", true},
};

/* The comparison that decides this instruction; NULL: it is none that a comparison decides. */
static const cvy_instruction *decided_by(const cvy_program *program, cvy_instruction code) {
  if (code.op != CVY_PROGRAM_SELECT || code.in[0] >= CVY_OPERAND_INPUT) return NULL;
  const cvy_instruction *comparison = &program->code[code.in[0]];
  return conditions[comparison->op].word ? comparison : NULL;
}

void cvy_program_write_operand(const cvy_program *program, int operand, cvy_text *to) {
  if (operand >= CVY_OPERAND_CONSTANT) {
    cvy_text_add(to, "from_bits(pattern(0x%08xu))",
                 to_bits(program->constant[operand - CVY_OPERAND_CONSTANT]));
  } else if (operand >= CVY_OPERAND_INPUT) {
    cvy_text_add(to, "x%d", operand - CVY_OPERAND_INPUT);
  } else {
    cvy_text_add(to, "t%d", operand);
  }
}

/* The operands from `first` to `last`, with commas between. */
static void write_operands(const cvy_program *program, const uint8_t *in, int first, int last,
                           cvy_text *to) {
  for (int i = first; i <= last; i++) {
    if (i > first) cvy_text_add(to, ", ");
    cvy_program_write_operand(program, in[i], to);
  }
}

static bool is_one(const cvy_program *program, int operand) {
  return operand >= CVY_OPERAND_CONSTANT &&
         program->constant[operand - CVY_OPERAND_CONSTANT] == 1.0f;
}

static void write_choice(const cvy_program *program, cvy_instruction code,
                         const cvy_instruction *comparison, cvy_text *to) {
  const struct condition *condition = &conditions[comparison->op];
  cvy_text_add(to, "choose(%s(", condition->word);
  write_operands(program, comparison->in, 0, 1, to);
  cvy_text_add(to, "), ");
  cvy_program_write_operand(program, code.in[condition->swapped ? 2 : 1], to);
  cvy_text_add(to, ", ");
  cvy_program_write_operand(program, code.in[condition->swapped ? 1 : 2], to);
  cvy_text_add(to, ");\n");
}

static void write_instruction(const cvy_program *program, int number, cvy_text *to) {
  cvy_instruction code = program->code[number];
  const cvy_op_row *row = &cvy_op_rows[code.op];
  const cvy_instruction *comparison = decided_by(program, code);
  cvy_text_add(to, "real t%d = ", number);
  if (code.op == CVY_PROGRAM_INDEX) {
    cvy_text_add(to, "at->axis%d;\n", code.in[0]);
  } else if (code.op == CVY_PROGRAM_RANDOM) {
    cvy_text_add(to, "program_random(at, %d);\n", code.in[0]);
  } else if (comparison) {
    write_choice(program, code, comparison, to);
  } else {
    bool inverse = code.op == CVY_PROGRAM_DIVIDE && is_one(program, code.in[0]);
    cvy_text_add(to, "program_%s(", inverse ? "reciprocal" : row->name);
    write_operands(program, code.in, inverse, row->operands - 1, to);
    cvy_text_add(to, ");\n");
  }
}

/* Which instructions' values are named: not those of comparisons that only decide. */
static void find_named(const cvy_program *program, bool *named) {
  for (int i = 0; i < program->instructions; i++) {
    cvy_instruction code = program->code[i];
    for (int k = decided_by(program, code) ? 1 : 0; k < cvy_op_rows[code.op].operands; k++)
      if (code.in[k] < CVY_OPERAND_INPUT) named[code.in[k]] = true;
  }
  for (int i = 0; i < program->results; i++)
    if (program->result[i] < CVY_OPERAND_INPUT) named[program->result[i]] = true;
}

static void write_head(const cvy_program *program, const char *name, cvy_text *to) {
  cvy_program_uses uses = cvy_program_uses_of(program);
  cvy_text_add(to, "FUNCTION void %s(", name);
  for (int i = 0; i < program->inputs; i++) cvy_text_add(to, "real x%d, ", i);
  if (uses.axes || uses.random) cvy_text_add(to, "const program_place *at, ");
  for (int i = 0; i < program->results; i++) cvy_text_add(to, "%sreal *y%d", i ? ", " : "", i);
  cvy_text_add(to, ") {\n");
}

void cvy_program_write_values(const cvy_program *program, uint64_t which, const char *indent,
                              cvy_text *to) {
  bool named[CVY_OPERAND_INPUT] = {false};
  find_named(program, named);
  for (int i = 0; i < program->instructions; i++) {
    if (!named[i] || !(which >> i & 1)) continue;
    cvy_text_add(to, "%sconst ", indent);
    write_instruction(program, i, to);
  }
}

uint64_t cvy_program_steady(const cvy_program *program, uint32_t inputs) {
  uint64_t steady = 0;
  for (int i = 0; i < program->instructions; i++) {
    cvy_instruction code = program->code[i];
    bool is_steady = code.op != CVY_PROGRAM_INDEX && code.op != CVY_PROGRAM_RANDOM;
    for (int k = 0; k < cvy_op_rows[code.op].operands; k++) {
      int operand = code.in[k];
      if (operand < CVY_OPERAND_INPUT)
        is_steady &= steady >> operand & 1;
      else if (operand < CVY_OPERAND_CONSTANT)
        is_steady &= inputs >> (operand - CVY_OPERAND_INPUT) & 1;
    }
    if (is_steady) steady |= (uint64_t)1 << i;
  }
  return steady;
}

void cvy_program_function(const cvy_program *program, const char *name, cvy_text *to) {
  write_head(program, name, to);
  cvy_program_write_values(program, UINT64_MAX, "  ", to);
  for (int i = 0; i < program->results; i++) {
    cvy_text_add(to, "  *y%d = ", i);
    cvy_program_write_operand(program, program->result[i], to);
    cvy_text_add(to, ";\n");
  }
  cvy_text_add(to, "}\n");
}
