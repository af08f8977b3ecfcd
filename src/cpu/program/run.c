/* Runs prepared programs over blocks. */
#include "cpu/program/run.h"

#include <string.h>

/* The memory of one run, and where each slot is at the moment. */
typedef struct runner {
  const cvy_program_plan *plan;
  const cvy_program_arrays *arrays;
  bool waits[CVY_PROGRAM_RESULTS]; /* the result goes to its own scratch until the block is done */
  float *at[CVY_SLOTS];
  float number[CVY_PLAN_NUMBERS][CVY_WIDEST] __attribute__((aligned(64)));
  float edge[CVY_PROGRAM_INPUTS][CVY_WIDEST] __attribute__((aligned(64)));
  float scratch[CVY_PLAN_FLOATS] __attribute__((aligned(64)));
} runner;

/* ------------------------------------------------------------------------------------- numbers */

static void fill(float *to, float value) {
  for (int i = 0; i < CVY_WIDEST; i++) to[i] = value;
}

static float number_of(const cvy_program_plan *plan, const void *value, int input) {
  switch (plan->form[input].type) {
    case CONVOY_INT32:
      return (float)*(const int32_t *)value;
    case CONVOY_UINT8:
      return (float)*(const uint8_t *)value;
    default:
      return *(const float *)value;
  }
}

static void set_numbers(runner *r) {
  const cvy_program_plan *plan = r->plan;
  for (int i = 0; i < plan->numbers; i++) r->at[CVY_SLOT_NUMBER + i] = r->number[i];
  for (int i = 0; i < plan->constants; i++)
    fill(r->at[plan->number_of_constant[i]], plan->constant[i]);
  for (int i = 0; i < plan->inputs; i++) {
    if (plan->form[i].single)
      fill(r->at[plan->number_of_input[i]], number_of(plan, r->arrays->input[i], i));
  }
}

/* -------------------------------------------------------------------------- vector instructions */

/* How far the next vector of a slot is. */
static int64_t advance_of(const cvy_program_plan *plan, int slot) {
  return slot < CVY_SLOT_NUMBER ? plan->simd->width : 0;
}

/* The axis' index of each element from `first` on: runs of equal numbers, each one more than the
 * last. */
static void fill_index(float *out, const cvy_program_position *position, int axis, uint64_t first,
                       int64_t count) {
  int64_t inner = 1, extent = position->extent[axis];
  for (int i = axis + 1; i < CVY_PROGRAM_AXES; i++) inner *= position->extent[i];
  int64_t index = (int64_t)(first / (uint64_t)inner % (uint64_t)extent);
  int64_t left = inner - (int64_t)(first % (uint64_t)inner);
  for (int64_t i = 0; i < count; i++) {
    out[i] = (float)index;
    if (--left) continue;
    left = inner;
    if (++index == extent) index = 0;
  }
}

static void run_instruction(runner *r, const cvy_vector_instruction *code, int64_t offset,
                            int64_t count) {
  const cvy_program_plan *plan = r->plan;
  cvy_vector_operand in[CVY_VECTOR_OPERANDS];
  float *out = r->at[code->out];
  if (code->op == CVY_PROGRAM_INDEX || code->op == CVY_PROGRAM_RANDOM) {
    const cvy_program_position *position = r->arrays->position;
    uint64_t first = position->first + (uint64_t)offset;
    if (code->op == CVY_PROGRAM_INDEX)
      fill_index(out, position, code->in[0], first, count);
    else
      plan->simd->random(out, &position->stream, code->in[0], first, count);
    return;
  }
  for (int i = 0; i < CVY_VECTOR_OPERANDS; i++)
    in[i] = (cvy_vector_operand){r->at[code->in[i]], advance_of(plan, code->in[i])};
  plan->simd->loop[code->op](out, in, count);
}

static void run_instructions(runner *r, int64_t offset, int64_t count) {
  const cvy_program_plan *plan = r->plan;
  for (int i = plan->number_instructions; i < plan->instructions; i++)
    run_instruction(r, &plan->code[i], offset, count);
}

/* -------------------------------------------------------------------------------------- blocks */

static int64_t size_of(const cvy_program_form *form) {
  return form->type == CONVOY_UINT8 ? 1 : 4;
}

static const char *input_at(const runner *r, int input, int64_t offset) {
  return (const char *)r->arrays->input[input] + offset * size_of(&r->plan->form[input]);
}

static float *own_scratch(runner *r, int result) {
  return r->scratch + (int64_t)(r->plan->registers + result) * r->plan->block;
}

/* Full vectors, at most a block of them. */
static void run_block(runner *r, int64_t offset, int64_t count) {
  const cvy_program_plan *plan = r->plan;
  for (int i = 0; i < plan->inputs; i++) {
    if (!plan->form[i].single)
      r->at[CVY_SLOT_INPUT + i] = (float *)(uintptr_t)input_at(r, i, offset);
  }
  for (int i = 0; i < plan->results; i++)
    r->at[CVY_SLOT_RESULT + i] = r->waits[i] ? own_scratch(r, i) : r->arrays->result[i] + offset;
  run_instructions(r, offset, count);
  for (int i = 0; i < plan->results; i++) {
    if (r->waits[i])
      memcpy(r->arrays->result[i] + offset, own_scratch(r, i), (size_t)count * sizeof(float));
  }
}

/* Fewer elements than a vector has: inputs and results are copied, since nothing behind them may be
 * touched. */
static void run_edge(runner *r, int64_t offset, int64_t count) {
  const cvy_program_plan *plan = r->plan;
  for (int i = 0; i < plan->inputs; i++) {
    if (plan->form[i].single) continue;
    memset(r->edge[i], 0, sizeof r->edge[i]);
    memcpy(r->edge[i], input_at(r, i, offset), (size_t)(count * size_of(&plan->form[i])));
    r->at[CVY_SLOT_INPUT + i] = r->edge[i];
  }
  for (int i = 0; i < plan->results; i++) r->at[CVY_SLOT_RESULT + i] = own_scratch(r, i);
  run_instructions(r, offset, plan->simd->width);
  for (int i = 0; i < plan->results; i++)
    memcpy(r->arrays->result[i] + offset, own_scratch(r, i), (size_t)count * sizeof(float));
}

/* A result may lie where an input does that is still read after the result was computed. */
static void find_waits(runner *r) {
  const cvy_program_plan *plan = r->plan;
  for (int k = 0; k < plan->results; k++) {
    r->waits[k] = false;
    for (int i = 0; i < plan->inputs; i++) {
      r->waits[k] |= r->arrays->input[i] == (const void *)r->arrays->result[k] &&
                     !plan->form[i].single && plan->last_read[i] > plan->written[k];
    }
  }
}

static void interpret(const cvy_program_plan *plan, const cvy_program_arrays *arrays) {
  runner r;
  int64_t edge = arrays->count % plan->simd->width, full = arrays->count - edge;
  r.plan = plan;
  r.arrays = arrays;
  for (int i = 0; i < CVY_SLOT_INPUT; i++)
    r.at[i] = r.scratch; /* also of operands that there are not */
  for (int i = 0; i < plan->registers; i++) r.at[i] = r.scratch + (int64_t)i * plan->block;
  for (int i = CVY_SLOT_INPUT; i < CVY_SLOT_NUMBER; i++) r.at[i] = r.scratch;
  set_numbers(&r);
  for (int i = 0; i < plan->number_instructions; i++)
    run_instruction(&r, &plan->code[i], 0, plan->simd->width);
  find_waits(&r);
  for (int64_t at = 0; at < full; at += plan->block)
    run_block(&r, at, full - at < plan->block ? full - at : plan->block);
  if (edge) run_edge(&r, full, edge);
}

void cvy_program_run(const cvy_program_plan *plan, const cvy_program_arrays *arrays) {
  if (plan->fused < 0) {
    interpret(plan, arrays);
    return;
  }
  const float *inputs[CVY_PROGRAM_INPUTS];
  for (int i = 0; i < plan->inputs; i++) inputs[i] = arrays->input[i];
  if (plan->fused_constant >= 0) inputs[plan->inputs] = &plan->constant[plan->fused_constant];
  plan->simd->fused[plan->fused](inputs, arrays->result, arrays->count);
}
