/* Axes become loops, and loops that are one for every operand become one. */
#include "program/nest.h"

#include <string.h>

/* Everything that steps through the index space, one after the other; NULL: there are no more. */
static const int64_t *strides_of(const cvy_program_problem *problem, int results, int number,
                                 const int64_t *index) {
  int inputs = problem->program.inputs;
  if (number < inputs) return problem->input[number].stride;
  if (number < inputs + results) return problem->result[number - inputs].stride;
  return number == inputs + results ? index : NULL;
}

static int64_t *loop_of(cvy_program_nest *nest, int inputs, int results, int number) {
  if (number < inputs) return nest->input[number];
  return number < inputs + results ? nest->result[number - inputs] : nest->index;
}

/* Whether a step of the last loop is as long as all of the axis, for every operand. */
static bool goes_on(const cvy_program_problem *problem, int results, cvy_program_nest *nest,
                    int axis, const int64_t *index) {
  const int64_t *strides;
  int inputs = problem->program.inputs, last = nest->axes - 1;
  for (int i = 0; (strides = strides_of(problem, results, i, index)); i++) {
    if (loop_of(nest, inputs, results, i)[last] != strides[axis] * problem->extent[axis])
      return false;
  }
  return true;
}

static void add_axis(const cvy_program_problem *problem, int results, cvy_program_nest *nest,
                     int axis, bool mergeable, const int64_t *index) {
  const int64_t *strides;
  int64_t extent = problem->extent[axis];
  if (extent == 1) return;
  bool merged = mergeable && goes_on(problem, results, nest, axis, index);
  int loop = merged ? nest->axes - 1 : nest->axes++;
  nest->extent[loop] = merged ? nest->extent[loop] * extent : extent;
  for (int i = 0; (strides = strides_of(problem, results, i, index)); i++)
    loop_of(nest, problem->program.inputs, results, i)[loop] = strides[axis];
}

void cvy_program_nest_of(const cvy_program_problem *problem, int results, uint32_t last,
                         cvy_program_nest *out) {
  cvy_program_view index = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, problem->extent);
  memset(out, 0, sizeof *out);
  out->count = cvy_program_count(problem->extent);
  for (int group = 0; group < 2; group++) {
    int first = out->axes;
    for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
      if ((int)(last >> axis & 1) == group)
        add_axis(problem, results, out, axis, out->axes > first, index.stride);
    }
    if (!group) out->outer = out->axes;
  }
  if (out->axes) return;
  out->axes = 1; /* a single element */
  out->extent[0] = 1;
}

cvy_program_cursor cvy_program_nest_at(const cvy_program_nest *nest, int64_t number) {
  cvy_program_cursor cursor = {.number = number};
  for (int loop = nest->axes - 1; loop > 0; loop--) {
    cursor.at[loop] = number % nest->extent[loop];
    number /= nest->extent[loop];
  }
  cursor.at[0] = number;
  return cursor;
}

void cvy_program_nest_go_on(const cvy_program_nest *nest, cvy_program_cursor *cursor,
                            int64_t count) {
  int loop = nest->axes - 1;
  if (count > cvy_program_nest_rest(nest, cursor, count)) {
    *cursor = cvy_program_nest_at(nest, cursor->number + count);
    return;
  }
  cursor->number += count;
  cursor->at[loop] += count;
  for (; loop > 0 && cursor->at[loop] == nest->extent[loop]; loop--) {
    cursor->at[loop] = 0;
    cursor->at[loop - 1]++;
  }
}

int64_t cvy_program_nest_offset(const cvy_program_nest *nest, const int64_t *stride,
                                const cvy_program_cursor *cursor) {
  int64_t offset = 0;
  for (int loop = 0; loop < nest->axes; loop++) offset += stride[loop] * cursor->at[loop];
  return offset;
}
