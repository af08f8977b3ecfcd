/* Excerpts of programs and reductions: what belongs to one image and channel, as far as these are
 * axes of the results. */
#include <string.h>

#include "problem/excerpt.h"
#include "problem/program/program.h"

enum { AXES = CVY_PROGRAM_AXES, N = 0, C = 1 };

/* Where a view begins that has one place along some axes. */
static int64_t fix(cvy_program_view *view, uint32_t axes, const int64_t *at) {
  int64_t begin = 0;
  for (int axis = 0; axis < AXES; axis++) {
    if (!(axes >> axis & 1)) continue;
    begin += view->stride[axis] * at[axis];
    view->stride[axis] = 0;
  }
  return begin;
}

/* Makes the view that of an array of its own, and says which ranges that is made of: what an image
 * has lies together, or it is not done. */
static bool gather(cvy_program_view *view, const int64_t *extent, int64_t begin,
                   cvy_stretches *out) {
  int64_t bytes = cvy_dtype_bytes(view->type), images = view->stride[N] ? extent[N] : 1;
  int64_t of_image[AXES];
  memcpy(of_image, extent, sizeof of_image);
  of_image[N] = 1;
  int64_t reach = cvy_program_reach(view, of_image);
  *out = (cvy_stretches){begin * bytes, reach * bytes, view->stride[N] * bytes, images};
  if (images > 1 && view->stride[N] < reach) return false;
  if (images > 1) view->stride[N] = reach;
  return true;
}

/* Axes that the results have, and along which nothing depends on where it is. */
static uint32_t axes_to_fix(const cvy_program_problem *of, uint32_t reduced) {
  cvy_program_uses uses = cvy_program_uses_of(&of->program);
  uint32_t axes = 0;
  for (int axis = N; axis <= C; axis++)
    if (of->extent[axis] > 1 && !(uses.axes >> axis & 1)) axes |= 1u << axis;
  return uses.random ? 0 : axes & ~reduced;
}

static cvy_program_problem *part_of(cvy_problem *problem) {
  return problem->operation == CVY_REDUCE ? &problem->reduce.of : &problem->program;
}

/* Pieces of a reduction stay as they are, and so does the order of its sums. */
bool cvy_program_excerpt(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out) {
  bool reduces = problem->operation == CVY_REDUCE;
  cvy_program_problem *of = part_of(&out->problem);
  cvy_problem_copy(&out->problem, problem); /* as its arrays lie */
  uint32_t axes = axes_to_fix(of, reduces ? problem->reduce.how.axes : 0);
  int64_t at[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    at[axis] = axes >> axis & 1 ? cvy_excerpt_pick(seed, axis, of->extent[axis]) : 0;
    if (axes >> axis & 1) of->extent[axis] = 1;
  }
  bool apart = axes != 0;
  for (int32_t i = 0; i < of->program.inputs && apart; i++) {
    int64_t begin = fix(&of->input[i], axes, at);
    apart = gather(&of->input[i], of->extent, begin, &out->in[i]);
  }
  int64_t extent[AXES];
  memcpy(extent, of->extent, sizeof extent);
  for (int axis = 0; axis < AXES && reduces; axis++)
    if (problem->reduce.how.axes >> axis & 1) extent[axis] = 1;
  for (int32_t k = 0; k < cvy_problem_outputs(problem) && apart; k++) {
    int64_t begin = fix(&of->result[k], axes, at);
    apart = gather(&of->result[k], extent, begin, &out->out[k]);
  }
  if (apart && cvy_family_of(problem)->legal(&out->problem)) return true;
  memset(out, 0, sizeof *out);
  cvy_problem_apart(problem, &out->problem);
  return false;
}
