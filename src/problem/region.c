/* Arithmetic of regions, and what rows say of them. */
#include "problem/region.h"

#include "problem/operation.h"

cvy_kinship cvy_problem_kin(const cvy_problem *problem, int32_t input, cvy_region *out) {
  const cvy_family *family = cvy_family_of(problem);
  bool asks = family->kin && input < cvy_problem_inputs(problem);
  cvy_kinship kin = asks ? family->kin(problem, input, out) : CVY_KIN_NONE;
  if (kin && out->images == 1) out->pitch = out->width;
  return kin;
}

void cvy_problem_settle(cvy_problem *problem, uint32_t inputs) {
  cvy_family_of(problem)->settle(problem, inputs);
}

static bool lay(cvy_problem *problem, bool output, int32_t i, const cvy_region *region) {
  const cvy_family *family = cvy_family_of(problem);
  if (!family->lay || problem->accumulate) return false;
  return family->lay(problem, output, i, region) && family->legal(problem);
}

bool cvy_problem_lay_input(cvy_problem *problem, int32_t i, const cvy_region *region) {
  return lay(problem, false, i, region);
}

bool cvy_problem_lay_output(cvy_problem *problem, int32_t i, const cvy_region *region) {
  return lay(problem, true, i, region);
}

/* ---------------------------------------------------------------------------------- arithmetic */

static bool is_one_stretch(const cvy_region *region) {
  return region->images == 1 || region->pitch == region->width;
}

bool cvy_region_within(const cvy_region *outer, const cvy_region *inner, cvy_region *out) {
  *out = *inner;
  out->at += outer->at;
  if (is_one_stretch(outer)) return true;
  if (inner->images != outer->images || inner->pitch != outer->width) return false;
  out->pitch = outer->pitch;
  return true;
}

/* The class of what begins at multiples of so many elements, of both numbers. */
static int64_t alignment_of(int64_t at, int64_t pitch) {
  int64_t log2 = 0;
  while (log2 < CVY_ARRAY_VIEW_MOST_ALIGNED && ((at | pitch) >> log2 & 1) == 0) log2++;
  return log2;
}

/* An array of its own begins where it may, wherever that is. */
static bool is_as_its_own(int64_t at) {
  return at % CVY_ARRAY_ALIGN == 0;
}

bool cvy_region_view(const cvy_array *array, const cvy_region *region, cvy_array_view *out) {
  int64_t images = array->extent[0], count = cvy_array_count(array);
  *out = (cvy_array_view){0, 0};
  if (array->dtype != CONVOY_FLOAT32 || count == 0) return false;
  if (is_one_stretch(region)) {
    if (count != region->images * region->width) return false;
    if (is_as_its_own(region->at)) return true;
    if (!array->per_image) return false;
    out->pitch = count / images;
  } else {
    if (!array->per_image || images != region->images || count != images * region->width)
      return false;
    out->pitch = region->pitch;
  }
  out->aligned = alignment_of(region->at, out->pitch);
  return true;
}
