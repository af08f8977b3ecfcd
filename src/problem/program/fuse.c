/* A program into the program or reduction that reads what it makes.
 *
 * The second one's index space stays. The first's may be smaller: what it computes once for each
 * channel is then computed again for each element that reads it, which costs a few operations and
 * saves a launch. Where one of the two goes through whole arrays from the first element to the
 * last, whatever their extents are called, it is given the other's. */
#include <string.h>

#include "problem/program/program.h"
#include "program/build.h"
#include "program/mode.h"

enum { AXES = CVY_PROGRAM_AXES, NOWHERE = -1 };

/* An input of the problem that is made. */
typedef struct leaf {
  int32_t array;
  cvy_program_view view;
} leaf;

typedef struct fuser {
  const cvy_bound *first, *second;
  cvy_program_problem of[2]; /* of both, over one index space */
  leaf leaves[CVY_BUILD_LEAVES];
  int count;
  bool full; /* there were more */
  cvy_build build;
  cvy_value value[2][CVY_OPERAND_CONSTANT + CVY_PROGRAM_CONSTANTS]; /* of each operand */
} fuser;

/* --------------------------------------------------------------------------------- index spaces */

/* Whether the first's elements are found along the second's axes: each extent is the second's, or
 * 1. */
static bool is_inside(const int64_t *first, const int64_t *second) {
  for (int axis = 0; axis < AXES; axis++)
    if (first[axis] != second[axis] && first[axis] != 1) return false;
  return true;
}

static bool share_space(fuser *f) {
  cvy_program_problem *a = &f->of[0], *b = &f->of[1];
  bool same = memcmp(a->extent, b->extent, sizeof a->extent) == 0;
  if (same || cvy_program_count(a->extent) != cvy_program_count(b->extent))
    return is_inside(a->extent, b->extent);
  if (cvy_program_is_flat(f->first->problem, a))
    cvy_program_set_space(a, b->extent);
  else if (cvy_program_is_flat(f->second->problem, b))
    cvy_program_set_space(b, a->extent);
  return is_inside(a->extent, b->extent);
}

/* The result of the first that the second's input is, or NOWHERE. */
static int made_by_first(const fuser *f, int input) {
  for (int r = 0; r < f->of[0].program.results; r++)
    if (f->first->out[r] == f->second->in[input]) return r;
  return NOWHERE;
}

/* Whether the second reads each element where the first computes it. */
static bool reads_in_place(const fuser *f) {
  for (int i = 0; i < f->of[1].program.inputs; i++) {
    int r = made_by_first(f, i);
    if (r == NOWHERE) continue;
    if (f->of[1].input[i].type != CONVOY_FLOAT32) return false;
    for (int axis = 0; axis < AXES; axis++)
      if (f->of[1].input[i].stride[axis] != f->of[0].result[r].stride[axis]) return false;
  }
  return true;
}

/* Along an axis that the first has not, it would count where it did not before. */
static bool counts_alike(const fuser *f) {
  cvy_program_uses uses = cvy_program_uses_of(&f->of[0].program);
  bool same = memcmp(f->of[0].extent, f->of[1].extent, sizeof f->of[0].extent) == 0;
  if (uses.random && !same) return false;
  for (int axis = 0; axis < AXES; axis++)
    if ((uses.axes >> axis & 1) && f->of[0].extent[axis] != f->of[1].extent[axis]) return false;
  return true;
}

/* Numbers of random() are those of one operation. */
static bool draws_alike(const fuser *f) {
  const cvy_program_problem *a = &f->of[0], *b = &f->of[1];
  bool both = cvy_program_uses_of(&a->program).random && cvy_program_uses_of(&b->program).random;
  return !both || (a->seed == b->seed && a->run == b->run && a->node == b->node);
}

/* ------------------------------------------------------------------------------------- building */

static cvy_value add_input(fuser *f, int32_t array, const cvy_program_view *view) {
  int i = 0;
  while (i < f->count &&
         (f->leaves[i].array != array || memcmp(&f->leaves[i].view, view, sizeof *view)))
    i++;
  if (i == CVY_BUILD_LEAVES) {
    f->full = true;
    return CVY_NO_VALUE;
  }
  if (i == f->count) f->leaves[f->count++] = (leaf){array, *view};
  return cvy_build_input(&f->build, i);
}

/* All values of one of the two programs, whose inputs have theirs. */
static void add_program(fuser *f, int which) {
  const cvy_program *program = &f->of[which].program;
  cvy_value *value = f->value[which];
  for (int i = 0; i < program->constants; i++)
    value[CVY_OPERAND_CONSTANT + i] = cvy_build_constant(&f->build, program->constant[i]);
  for (int i = 0; i < program->instructions; i++)
    value[i] = cvy_build_instruction(&f->build, program->code[i], value);
}

static void add_both(fuser *f) {
  const cvy_program_problem *a = &f->of[0], *b = &f->of[1];
  for (int i = 0; i < a->program.inputs; i++)
    f->value[0][CVY_OPERAND_INPUT + i] = add_input(f, f->first->in[i], &a->input[i]);
  add_program(f, 0);
  for (int i = 0; i < b->program.inputs; i++) {
    int r = made_by_first(f, i);
    f->value[1][CVY_OPERAND_INPUT + i] = r == NOWHERE ? add_input(f, f->second->in[i], &b->input[i])
                                                      : f->value[0][a->program.result[r]];
  }
  add_program(f, 1);
}

/* ------------------------------------------------------------------------------------ finishing */

/* The values of the results that are kept, their arrays, and how those lie; 0: there are too
 * many. */
static int find_results(const fuser *f, uint32_t kept, cvy_value *result, int32_t *array,
                        cvy_program_view *view) {
  int count = 0;
  for (int which = 0; which < 2; which++) {
    const cvy_program *program = &f->of[which].program;
    const int32_t *out = which ? f->second->out : f->first->out;
    for (int r = 0; r < program->results; r++) {
      if (!which && !(kept >> r & 1)) continue;
      if (count == CVY_PROGRAM_RESULTS) return 0;
      result[count] = f->value[which][program->result[r]];
      view[count] = f->of[which].result[r];
      array[count++] = out[r];
    }
  }
  return count;
}

static bool write_program(const fuser *f, uint32_t kept, int32_t *in, int32_t *out,
                          cvy_program_problem *to) {
  uint8_t place[CVY_BUILD_LEAVES], number[CVY_PROGRAM_INPUTS];
  cvy_value result[CVY_PROGRAM_RESULTS];
  int results = find_results(f, kept, result, out, to->result);
  if (!results || f->full || f->build.full) return false;
  int inputs = cvy_build_places(&f->build, result, results, place, number);
  if (inputs > CVY_PROGRAM_INPUTS) return false;
  if (cvy_build_program(&f->build, result, results, inputs, place, &to->program)) return false;
  for (int i = 0; i < inputs; i++) {
    in[i] = f->leaves[number[i]].array;
    to->input[i] = f->leaves[number[i]].view;
  }
  return true;
}

static void write_numbers(const fuser *f, cvy_program_problem *to) {
  int drawing = cvy_program_uses_of(&f->of[1].program).random ? 1 : 0;
  if (!cvy_program_uses_of(&to->program).random) return;
  to->seed = f->of[drawing].seed;
  to->run = f->of[drawing].run;
  to->node = f->of[drawing].node;
}

/* A reduction's results have arrays of their own, and lie as they did. */
static bool finish_reduction(const fuser *f, cvy_fused *out) {
  int32_t values[CVY_PROGRAM_RESULTS];
  cvy_reduce_problem reduce = f->second->problem->reduce;
  memset(reduce.of.input, 0, sizeof reduce.of.input);
  reduce.of.seed = reduce.of.run = reduce.of.node = 0;
  if (!write_program(f, 0, out->in, values, &reduce.of)) return false;
  write_numbers(f, &reduce.of);
  memcpy(reduce.of.result, f->of[1].result, sizeof reduce.of.result);
  memcpy(out->out, f->second->out, reduce.how.results * sizeof *out->out);
  return cvy_reduce_make(&reduce, &out->problem) == CONVOY_OK;
}

static bool finish_program(const fuser *f, uint32_t kept, cvy_fused *out) {
  cvy_program_problem program;
  memset(&program, 0, sizeof program);
  memcpy(program.extent, f->of[1].extent, sizeof program.extent);
  if (!write_program(f, kept, out->in, out->out, &program)) return false;
  write_numbers(f, &program);
  return cvy_program_make(&program, &out->problem) == CONVOY_OK;
}

/* Not inlined: the arithmetic of constants depends on the mode. */
static __attribute__((noinline)) bool fuse(fuser *f, uint32_t kept, cvy_fused *out) {
  add_both(f);
  bool reduces = f->second->problem->operation == CVY_REDUCE;
  return reduces ? finish_reduction(f, out) : finish_program(f, kept, out);
}

bool cvy_program_fuse(const cvy_bound *first, const cvy_bound *second, uint32_t kept,
                      cvy_fused *out) {
  if (first->problem->operation != CVY_PROGRAM) return false;
  fuser f = {.first = first, .second = second};
  f.of[0] = first->problem->program;
  f.of[1] = *cvy_program_part(second->problem);
  if (!share_space(&f) || !reads_in_place(&f) || !counts_alike(&f) || !draws_alike(&f))
    return false;
  /* What is kept has an element for each of the second's, which a reduction does not store. */
  bool same = memcmp(f.of[0].extent, f.of[1].extent, sizeof f.of[0].extent) == 0;
  if (kept && (!same || second->problem->operation != CVY_PROGRAM)) return false;
  fenv_t before;
  cvy_default_mode(&before);
  bool fused = fuse(&f, kept, out);
  cvy_restore_mode(&before);
  return fused;
}
