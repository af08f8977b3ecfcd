/* Other index spaces for the same elements, and operands that are parts of larger tensors. */
#include <string.h>

#include "problem/program/program.h"
#include "program/mode.h"

enum { AXES = CVY_PROGRAM_AXES, N = 0 };

bool cvy_program_is_flat(const cvy_problem *problem, const cvy_program_problem *of) {
  if (problem->operation != CVY_PROGRAM || cvy_program_uses_of(&of->program).axes) return false;
  for (int i = 0; i < of->program.inputs; i++) {
    cvy_program_class what = cvy_program_class_of(&of->input[i], of->extent);
    if (what != CVY_CLASS_FULL && what != CVY_CLASS_ONE) return false;
  }
  for (int k = 0; k < of->program.results; k++)
    if (cvy_program_class_of(&of->result[k], of->extent) != CVY_CLASS_FULL) return false;
  return true;
}

void cvy_program_set_space(cvy_program_problem *of, const int64_t *extent) {
  cvy_program_class what[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  for (int i = 0; i < of->program.inputs; i++)
    what[i] = cvy_program_class_of(&of->input[i], of->extent);
  memcpy(of->extent, extent, sizeof of->extent);
  for (int i = 0; i < of->program.inputs; i++)
    of->input[i] = cvy_program_view_of(what[i], (convoy_dtype)of->input[i].type, extent);
  for (int k = 0; k < of->program.results; k++)
    of->result[k] = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, extent);
}

/* Elements of an operand that one image reaches. */
static int64_t reach_of_image(const cvy_program_view *view, const int64_t *extent) {
  int64_t of_image[AXES];
  memcpy(of_image, extent, sizeof of_image);
  of_image[N] = 1;
  return cvy_program_reach(view, of_image);
}

/* Whether images are the region's stretches, and begin where these do. */
static bool has_images(const cvy_program_view *view, const int64_t *extent,
                       const cvy_region *region) {
  return extent[N] == region->images && view->stride[N] == region->width &&
         reach_of_image(view, extent) <= region->width;
}

/* What the images of a flat program are is nothing to it. */
static void find_images(const cvy_problem *problem, cvy_program_problem *of,
                        const cvy_region *region) {
  const int64_t extent[AXES] = {region->images, 1, 1, 1, region->width};
  bool same = cvy_program_count(of->extent) == region->images * region->width;
  if (of->extent[N] == region->images || !same || !cvy_program_is_flat(problem, of)) return;
  cvy_program_set_space(of, extent);
}

bool cvy_program_lay(cvy_problem *problem, bool output, int32_t i, const cvy_region *region) {
  bool reduces = problem->operation == CVY_REDUCE;
  cvy_program_problem *of = reduces ? &problem->reduce.of : &problem->program;
  int64_t extent[AXES];
  if (region->images == 1 || region->pitch == region->width)
    return true; /* it may begin anywhere */
  find_images(problem, of, region);
  memcpy(extent, of->extent, sizeof extent);
  for (int axis = 0; axis < AXES && output && reduces; axis++)
    if (problem->reduce.how.axes >> axis & 1) extent[axis] = 1;
  cvy_program_view *view = output ? &of->result[i] : &of->input[i];
  if (view->type != CONVOY_FLOAT32 || !has_images(view, extent, region)) return false;
  view->stride[N] = region->pitch;
  return true;
}
