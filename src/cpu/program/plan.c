/* Programs as vector instructions: what is one number for all elements is computed once,
 * operations that often come together become one, values get registers, and results are
 * computed where they belong. */
#include <string.h>

#include "cpu/program/run.h"
#include "program/ops.h"

enum {
  NONE = 255,
  CACHE_FLOATS =
      3072 /* of all arrays: three eighths of a small first-level cache, which may be shared */
};

/* An instruction of the program on its way to a vector instruction. */
typedef struct draft {
  uint8_t op; /* cvy_vector_op */
  uint8_t operands;
  uint8_t in[CVY_VECTOR_OPERANDS]; /* operands as in programs */
  uint8_t uses;
  bool number;   /* the same for all elements */
  bool absorbed; /* part of the one that uses it */
} draft;

typedef struct planner {
  const cvy_program *program;
  cvy_program_plan *plan;
  draft draft[CVY_PROGRAM_INSTRUCTIONS];
  uint8_t slot[CVY_OPERAND_CONSTANT + CVY_PROGRAM_CONSTANTS]; /* of each operand; NONE: not yet */
  uint8_t last_use[CVY_PLAN_INSTRUCTIONS];                    /* of each value: which instruction */
} planner;

/* -------------------------------------------------------------------------------- what is what */

static bool is_number(const planner *p, int operand) {
  if (operand < CVY_OPERAND_INPUT) return p->draft[operand].number;
  return operand >= CVY_OPERAND_CONSTANT || p->plan->form[operand - CVY_OPERAND_INPUT].single;
}

static void count_use(planner *p, int operand) {
  if (operand < CVY_OPERAND_INPUT) p->draft[operand].uses++;
}

static void draft_instructions(planner *p) {
  for (int i = 0; i < p->program->instructions; i++) {
    cvy_instruction code = p->program->code[i];
    draft *d = &p->draft[i];
    d->op = code.op;
    d->operands = (uint8_t)cvy_op_rows[code.op].operands;
    d->number = d->operands > 0;
    memcpy(d->in, code.in, sizeof code.in);
    for (int k = 0; k < d->operands; k++) {
      d->number &= is_number(p, code.in[k]);
      count_use(p, code.in[k]);
    }
    if (cvy_op_rows[code.op].commutes && is_number(p, code.in[0])) { /* loops like arrays first */
      d->in[0] = code.in[1];
      d->in[1] = code.in[0];
    }
  }
  for (int i = 0; i < p->program->results; i++) count_use(p, p->program->result[i]);
}

/* --------------------------------------------------------------- operations that come together */

/* The draft of an operand that nothing else uses and that may become part of another; else NULL. */
static draft *absorbable(planner *p, int operand) {
  if (operand >= CVY_OPERAND_INPUT) return NULL;
  draft *d = &p->draft[operand];
  return d->uses == 1 && !d->number ? d : NULL;
}

static bool is_simple(const draft *d) {
  return d->op == CVY_PROGRAM_ADD || d->op == CVY_PROGRAM_SUBTRACT || d->op == CVY_PROGRAM_MULTIPLY;
}

static void absorb(draft *into, draft *part, int op, uint8_t third, uint8_t fourth) {
  memcpy(into->in, part->in, sizeof into->in);
  into->in[part->operands] = third;
  if (part->operands == 2 && fourth != NONE) into->in[3] = fourth;
  into->op = (uint8_t)op;
  into->operands = (uint8_t)(part->operands + (fourth == NONE ? 1 : 2));
  part->absorbed = true;
}

/* x * sigmoid(x), either way round. */
static bool find_silu(planner *p, draft *d) {
  if (d->op != CVY_PROGRAM_MULTIPLY) return false;
  for (int k = 0; k < 2; k++) {
    draft *gate = absorbable(p, d->in[k]);
    if (!gate || gate->op != CVY_PROGRAM_SIGMOID || gate->in[0] != d->in[1 - k]) continue;
    gate->absorbed = true;
    d->op = CVY_VECTOR_SILU;
    d->in[0] = gate->in[0];
    d->operands = 1;
    return true;
  }
  return false;
}

/* a < b ? c : d */
static bool find_selection(planner *p, draft *d) {
  if (d->op != CVY_PROGRAM_SELECT) return false;
  draft *condition = absorbable(p, d->in[0]);
  if (!condition) return false;
  if (condition->op == CVY_PROGRAM_LESS)
    absorb(d, condition, CVY_VECTOR_SELECT_LESS, d->in[1], d->in[2]);
  else if (condition->op == CVY_PROGRAM_LESS_EQUAL)
    absorb(d, condition, CVY_VECTOR_SELECT_LESS_EQUAL, d->in[1], d->in[2]);
  else
    return false;
  return true;
}

/* (a - b) * c + d, whose product is a pair already. */
static bool find_normalisation(planner *p, draft *d) {
  int product = cvy_vector_pair(CVY_PROGRAM_SUBTRACT, CVY_PAIR_MULTIPLY);
  if (d->op != CVY_PROGRAM_ADD) return false;
  for (int k = 0; k < 2; k++) {
    draft *part = absorbable(p, d->in[k]);
    if (!part || part->op != product) continue;
    absorb(d, part, CVY_VECTOR_NORMALISE, d->in[1 - k], NONE);
    return true;
  }
  return false;
}

static cvy_pair_op pair_op(int op, int place) {
  if (op == CVY_PROGRAM_ADD) return CVY_PAIR_ADD;
  if (op == CVY_PROGRAM_MULTIPLY) return CVY_PAIR_MULTIPLY;
  return place == 0 ? CVY_PAIR_SUBTRACT : CVY_PAIR_FROM;
}

/* (a o b) o c */
static bool find_pair(planner *p, draft *d) {
  if (!is_simple(d)) return false;
  for (int k = 0; k < 2; k++) {
    draft *part = absorbable(p, d->in[k]);
    if (!part || !is_simple(part)) continue;
    int op = cvy_vector_pair((cvy_program_op)part->op, pair_op(d->op, k));
    absorb(d, part, op, d->in[1 - k], NONE);
    return true;
  }
  return false;
}

static void find_patterns(planner *p) {
  for (int i = 0; i < p->program->instructions; i++) {
    draft *d = &p->draft[i];
    if (d->number) continue;
    (void)(find_silu(p, d) || find_selection(p, d) || find_normalisation(p, d) || find_pair(p, d));
  }
}

/* -------------------------------------------------------------------------- vector instructions */

static uint8_t new_number(planner *p) {
  return (uint8_t)(CVY_SLOT_NUMBER + p->plan->numbers++);
}

static void give_numbers(planner *p) {
  cvy_program_plan *plan = p->plan;
  for (int i = 0; i < p->program->inputs; i++) {
    if (!plan->form[i].single) continue;
    plan->number_of_input[i] = p->slot[CVY_OPERAND_INPUT + i] = new_number(p);
  }
  for (int i = 0; i < p->program->constants; i++) {
    plan->number_of_constant[i] = p->slot[CVY_OPERAND_CONSTANT + i] = new_number(p);
    plan->constant[i] = p->program->constant[i];
  }
  plan->constants = p->program->constants;
}

static cvy_vector_instruction *new_instruction(planner *p, int op, uint8_t out) {
  cvy_vector_instruction *code = &p->plan->code[p->plan->instructions++];
  code->op = (uint8_t)op;
  code->out = out;
  return code;
}

/* The slots of a draft's operands; the number of an INDEX or RANDOM as it is. */
static void set_operands(const planner *p, const draft *d, cvy_vector_instruction *code) {
  if (!d->operands) code->in[0] = d->in[0];
  for (int k = 0; k < d->operands; k++) code->in[k] = p->slot[d->in[k]];
}

static void add_number_instructions(planner *p) {
  for (int i = 0; i < p->program->instructions; i++) {
    if (!p->draft[i].number) continue;
    p->slot[i] = new_number(p);
    set_operands(p, &p->draft[i], new_instruction(p, p->draft[i].op, p->slot[i]));
  }
  p->plan->number_instructions = p->plan->instructions;
}

/* The result that is computed at its place by this instruction, or -1. */
static int result_of(const planner *p, int instruction) {
  for (int i = 0; i < p->program->results; i++)
    if (p->program->result[i] == instruction) return i;
  return -1;
}

/* An input that is an array of integers becomes floats when it is first needed. */
static void add_conversion(planner *p, int input, int *value) {
  static const uint8_t conversion[] = {[CONVOY_FLOAT32] = CVY_VECTOR_COPY,
                                       [CONVOY_INT32] = CVY_VECTOR_FROM_INT32,
                                       [CONVOY_UINT8] = CVY_VECTOR_FROM_UINT8};
  uint8_t *slot = &p->slot[CVY_OPERAND_INPUT + input];
  if (*slot != NONE) return;
  *slot = (uint8_t)(CVY_SLOT_INPUT + input);
  if (p->plan->form[input].type == CONVOY_FLOAT32) return;
  cvy_vector_instruction *code =
      new_instruction(p, conversion[p->plan->form[input].type], (uint8_t)*value);
  code->in[0] = *slot;
  *slot = (uint8_t)(*value)++;
}

static void convert_operand(planner *p, int operand, int *value) {
  if (operand >= CVY_OPERAND_INPUT && operand < CVY_OPERAND_CONSTANT)
    add_conversion(p, operand - CVY_OPERAND_INPUT, value);
}

/* Values are numbered as registers first, each its own. */
static void add_instructions(planner *p) {
  int value = 0;
  for (int i = 0; i < p->program->instructions; i++) {
    const draft *d = &p->draft[i];
    if (d->number || d->absorbed) continue;
    for (int k = 0; k < d->operands; k++) convert_operand(p, d->in[k], &value);
    int result = result_of(p, i);
    p->slot[i] = (uint8_t)(result < 0 ? value++ : CVY_SLOT_RESULT + result);
    set_operands(p, d, new_instruction(p, d->op, p->slot[i]));
  }
  for (int i = 0; i < p->program->results; i++) {
    int operand = p->program->result[i];
    uint8_t out = (uint8_t)(CVY_SLOT_RESULT + i);
    convert_operand(p, operand, &value);
    if (p->slot[operand] != out) new_instruction(p, CVY_VECTOR_COPY, out)->in[0] = p->slot[operand];
  }
}

/* ----------------------------------------------------------------------------------- registers */

static int operands_of(const cvy_vector_instruction *code) {
  if (code->op < CVY_PROGRAM_OPS) return cvy_op_rows[code->op].operands;
  if (code->op < CVY_VECTOR_PAIR || code->op == CVY_VECTOR_SILU) return 1;
  return code->op <= CVY_VECTOR_PAIR_LAST ? 3 : 4;
}

static void find_last_uses(planner *p) {
  cvy_program_plan *plan = p->plan;
  for (int i = plan->number_instructions; i < plan->instructions; i++) {
    const cvy_vector_instruction *code = &plan->code[i];
    for (int k = 0; k < operands_of(code); k++) {
      int slot = code->in[k];
      if (slot < CVY_SLOT_INPUT)
        p->last_use[slot] = (uint8_t)i;
      else if (slot < CVY_SLOT_RESULT)
        plan->last_read[slot - CVY_SLOT_INPUT] = (uint8_t)i;
    }
    if (code->out >= CVY_SLOT_RESULT && code->out < CVY_SLOT_NUMBER)
      plan->written[code->out - CVY_SLOT_RESULT] = (uint8_t)i;
  }
}

static uint8_t take_register(cvy_program_plan *plan, bool *taken) {
  uint8_t number = 0;
  while (taken[number]) number++;
  taken[number] = true;
  if (number >= plan->registers) plan->registers = (uint8_t)(number + 1);
  return number;
}

/* A value's register is free again behind its last use, for the result of that very instruction
 * too: loops read a vector before they write it. */
static void give_registers(planner *p) {
  cvy_program_plan *plan = p->plan;
  uint8_t place[CVY_SLOT_INPUT];
  bool taken[CVY_SLOT_INPUT + 1] = {false};
  for (int i = plan->number_instructions; i < plan->instructions; i++) {
    cvy_vector_instruction *code = &plan->code[i];
    int freed[CVY_VECTOR_OPERANDS], count = 0;
    for (int k = 0; k < operands_of(code); k++) {
      if (code->in[k] >= CVY_SLOT_INPUT) continue;
      if (p->last_use[code->in[k]] == i) freed[count++] = place[code->in[k]];
      code->in[k] = place[code->in[k]];
    }
    for (int k = 0; k < count; k++) taken[freed[k]] = false;
    if (code->out < CVY_SLOT_INPUT) {
      uint8_t value = code->out;
      place[value] = code->out = take_register(plan, taken);
    }
  }
}

/* ------------------------------------------------------------------------------------- the plan */

/* The loop compiled ahead for the program with these inputs, or -1; `constant` as cvy_fused_find
 * gives it. */
static int find_fused(const cvy_program *program, const cvy_program_form *forms,
                      int32_t *constant) {
  uint32_t single = 0;
  for (int i = 0; i < program->inputs; i++) {
    if (forms[i].type != CONVOY_FLOAT32) return -1;
    single |= (uint32_t)(forms[i].single != 0) << i;
  }
  return cvy_fused_find(program, single, constant);
}

bool cvy_program_is_ahead(const cvy_program *program, const cvy_program_form *forms) {
  int32_t constant;
  return find_fused(program, forms, &constant) >= 0;
}

static int find_copied(const cvy_program *program, const cvy_program_form *forms) {
  int input = program->result[0] - CVY_OPERAND_INPUT;
  if (program->results != 1 || input < 0 || input >= program->inputs) return -1;
  return forms[input].type == CONVOY_FLOAT32 && !forms[input].single ? input : -1;
}

/* So many elements that all arrays of a block stay in the first-level cache. Calling a loop takes
 * as long as a few vectors, so a long program gets more than fits. */
static int32_t block_of(const cvy_program_plan *plan) {
  int32_t arrays = plan->registers + plan->results;
  for (int i = 0; i < plan->inputs; i++) arrays += !plan->form[i].single;
  int32_t block = CACHE_FLOATS / arrays / CVY_WIDEST * CVY_WIDEST;
  if (block < CVY_PLAN_LEAST_BLOCK) return CVY_PLAN_LEAST_BLOCK;
  return block < CVY_PLAN_MOST_BLOCK ? block : CVY_PLAN_MOST_BLOCK;
}

void cvy_program_prepare(const cvy_program *program, const cvy_program_form *forms,
                         const cvy_program_simd *simd, cvy_program_plan *out) {
  planner p = {.program = program, .plan = out};
  memset(out, 0, sizeof *out);
  memset(p.slot, NONE, sizeof p.slot);
  out->simd = simd;
  out->inputs = program->inputs;
  out->results = program->results;
  memcpy(out->form, forms, program->inputs * sizeof *forms);
  out->fused = find_fused(program, forms, &out->fused_constant);
  out->copied = find_copied(program, forms);
  draft_instructions(&p);
  find_patterns(&p);
  give_numbers(&p);
  add_number_instructions(&p);
  add_instructions(&p);
  find_last_uses(&p);
  give_registers(&p);
  out->block = block_of(out);
}

void cvy_program_interpret_only(cvy_program_plan *plan) {
  plan->fused = -1;
}
