/* The canonical text of a program: a temporary for each value that is used more than once, all
 * others where they are used. Parsed, it gives the same graph of values and so the same bytes. */
#include <stdio.h>
#include <string.h>

#include "program/literal.h"
#include "program/ops.h"
#include "program/reduce_names.h"

typedef struct printer {
  const cvy_program *program;
  const cvy_reduction *how; /* what is done with its results; NULL: they are the results */
  cvy_program_names names;
  int16_t temporary[CVY_PROGRAM_INSTRUCTIONS]; /* its number, -1: none */
  int next_temporary;
  uint8_t order[CVY_PROGRAM_INPUTS]; /* in which inputs are read */
  int read;
  cvy_text text;
} printer;

static void print_operand(printer *p, int operand, cvy_binding least);

/* ------------------------------------------------------------------------------------- names */

static int results_of(const printer *p) {
  return p->how ? p->how->results : p->program->results;
}

static bool is_name(const printer *p, const char *name) {
  for (int i = 0; i < p->program->inputs; i++)
    if (!strcmp(p->names.input[i], name)) return true;
  for (int i = 0; i < results_of(p); i++)
    if (!strcmp(p->names.result[i], name)) return true;
  return false;
}

/* A temporary's name that nothing else has. */
static int new_temporary(printer *p) {
  char name[CVY_PROGRAM_NAME];
  do snprintf(name, sizeof name, "t%d", p->next_temporary++);
  while (is_name(p, name));
  return p->next_temporary - 1;
}

static void usual_names(cvy_program_names *names) {
  for (int i = 0; i < CVY_PROGRAM_INPUTS; i++)
    snprintf(names->input[i], CVY_PROGRAM_NAME, "x%d", i);
  for (int i = 0; i < CVY_PROGRAM_RESULTS; i++)
    snprintf(names->result[i], CVY_PROGRAM_NAME, "y%d", i);
}

static bool shares_names(const printer *p) {
  for (int i = 0; i < p->program->inputs; i++) {
    for (int k = 0; k < results_of(p); k++)
      if (!strcmp(p->names.input[i], p->names.result[k])) return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------- expressions */

static void print_input(printer *p, int number) {
  bool known = false;
  for (int i = 0; i < p->read; i++) known |= p->order[i] == number;
  if (!known) p->order[p->read++] = (uint8_t)number;
  cvy_text_add(&p->text, "%s", p->names.input[number]);
}

static void print_call(printer *p, const cvy_instruction *code) {
  const cvy_op_row *row = &cvy_op_rows[code->op];
  cvy_text_add(&p->text, "%s(", row->name);
  if (code->op == CVY_PROGRAM_INDEX) cvy_text_add(&p->text, "%c", cvy_axis_letters[code->in[0]]);
  if (code->op == CVY_PROGRAM_RANDOM) cvy_text_add(&p->text, "%d", code->in[0]);
  for (int i = 0; i < row->operands; i++) {
    if (i) cvy_text_add(&p->text, ", ");
    print_operand(p, code->in[i], CVY_BINDS_CHOICE);
  }
  cvy_text_add(&p->text, ")");
}

static void print_choice(printer *p, const cvy_instruction *code) {
  print_operand(p, code->in[0], CVY_BINDS_COMPARISON);
  cvy_text_add(&p->text, " ? ");
  print_operand(p, code->in[1], CVY_BINDS_CHOICE);
  cvy_text_add(&p->text, " : ");
  print_operand(p, code->in[2], CVY_BINDS_CHOICE);
}

/* Sums and products are read from the left, so what stands on the right binds tighter; comparisons
 * take sums on both sides. */
static void print_infix(printer *p, const cvy_instruction *code) {
  const cvy_op_row *row = &cvy_op_rows[code->op];
  bool compares = row->binding == CVY_BINDS_COMPARISON;
  cvy_binding right = (cvy_binding)(row->binding + 1);
  print_operand(p, code->in[0], compares ? right : row->binding);
  cvy_text_add(&p->text, " %s ", row->sign);
  print_operand(p, code->in[1], right);
}

static void print_instruction(printer *p, const cvy_instruction *code) {
  const cvy_op_row *row = &cvy_op_rows[code->op];
  if (!row->sign) {
    print_call(p, code);
  } else if (row->operands == 3) {
    print_choice(p, code);
  } else if (row->operands == 2) {
    print_infix(p, code);
  } else {
    cvy_text_add(&p->text, "%s", row->sign);
    print_operand(p, code->in[0], row->binding);
  }
}

/* In parentheses if it binds less than it has to. */
static void print_operand(printer *p, int operand, cvy_binding least) {
  if (operand >= CVY_OPERAND_CONSTANT) {
    cvy_number_write(&p->text, p->program->constant[operand - CVY_OPERAND_CONSTANT]);
  } else if (operand >= CVY_OPERAND_INPUT) {
    print_input(p, operand - CVY_OPERAND_INPUT);
  } else if (p->temporary[operand] >= 0) {
    cvy_text_add(&p->text, "t%d", p->temporary[operand]);
  } else {
    const cvy_instruction *code = &p->program->code[operand];
    bool apart = cvy_op_rows[code->op].binding < least;
    cvy_text_add(&p->text, apart ? "(" : "");
    print_instruction(p, code);
    cvy_text_add(&p->text, apart ? ")" : "");
  }
}

/* -------------------------------------------------------------------------------- statements */

/* How often each instruction's value is used. */
static void count_uses(const cvy_program *program, int *uses) {
  for (int i = 0; i < program->instructions; i++) {
    for (int k = 0; k < cvy_op_rows[program->code[i].op].operands; k++)
      if (program->code[i].in[k] < CVY_OPERAND_INPUT) uses[program->code[i].in[k]]++;
  }
  for (int i = 0; i < program->results; i++)
    if (program->result[i] < CVY_OPERAND_INPUT) uses[program->result[i]]++;
}

static void print_temporaries(printer *p) {
  int uses[CVY_PROGRAM_INSTRUCTIONS] = {0};
  count_uses(p->program, uses);
  for (int i = 0; i < p->program->instructions; i++) {
    p->temporary[i] = -1;
    if (uses[i] < 2) continue;
    int number = new_temporary(p);
    cvy_text_add(&p->text, "let t%d = ", number);
    print_instruction(p, &p->program->code[i]);
    cvy_text_add(&p->text, "; ");
    p->temporary[i] = (int16_t)number;
  }
}

/* "NAME = ", with what is done to the value behind it; which of the program's results that is. */
static int begin_result(printer *p, int number) {
  cvy_text_add(&p->text, "%s%s = ", number ? "; " : "", p->names.result[number]);
  if (!p->how) return number;
  cvy_text_add(&p->text, "%s over ", cvy_reduce_names[p->how->result[number].kind]);
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (p->how->axes >> axis & 1) cvy_text_add(&p->text, "%c ", cvy_axis_letters[axis]);
  cvy_text_add(&p->text, "of ");
  return p->how->result[number].value;
}

/* Where an input's name is assigned to, what reads the input must come first. */
static void print_results_apart(printer *p) {
  int number[CVY_PROGRAM_RESULTS] = {0};
  for (int i = 0; i < p->program->results; i++) {
    number[i] = new_temporary(p);
    cvy_text_add(&p->text, "let t%d = ", number[i]);
    print_operand(p, p->program->result[i], CVY_BINDS_CHOICE);
    cvy_text_add(&p->text, "; ");
  }
  for (int i = 0; i < results_of(p); i++) {
    int value = begin_result(p, i);
    cvy_text_add(&p->text, "t%d", number[value]);
  }
}

static void print_results(printer *p) {
  for (int i = 0; i < results_of(p); i++) {
    int value = begin_result(p, i);
    print_operand(p, p->program->result[value], CVY_BINDS_CHOICE);
  }
}

/* Whether a reader of the text would find the inputs in their order. */
static bool in_order(const printer *p) {
  for (int i = 0; i < p->read; i++)
    if (p->order[i] != i) return false;
  return p->read == p->program->inputs;
}

static void print_inputs(const printer *p, cvy_text *text) {
  for (int i = 0; i < p->program->inputs; i++)
    cvy_text_add(text, "%s%s", i ? ", " : "input ", p->names.input[i]);
  cvy_text_add(text, "%s", p->program->inputs ? "; " : "");
}

static convoy_status print(const cvy_program *program, const cvy_reduction *how,
                           const cvy_program_names *names, char *text, size_t size) {
  char body[CVY_PROGRAM_TEXT];
  printer p = {.program = program, .how = how, .text = cvy_text_in(body, sizeof body)};
  usual_names(&p.names);
  if (names) p.names = *names;
  print_temporaries(&p);
  if (results_of(&p) > 1 && shares_names(&p))
    print_results_apart(&p);
  else
    print_results(&p);
  cvy_text all = cvy_text_in(text, size);
  if (!in_order(&p)) print_inputs(&p, &all);
  cvy_text_add(&all, "%s", body);
  if (all.overflow || p.text.overflow)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the program's text does not fit in %zu bytes", size);
  return CONVOY_OK;
}

convoy_status cvy_program_text(const cvy_program *program, const cvy_program_names *names,
                               char *text, size_t size) {
  return print(program, NULL, names, text, size);
}

convoy_status cvy_reduction_text(const cvy_program *program, const cvy_reduction *how,
                                 const cvy_program_names *names, char *text, size_t size) {
  return print(program, how->axes ? how : NULL, names, text, size);
}
