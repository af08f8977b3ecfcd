/* What the OpenCL algorithms share: sizes of work-groups, slices of sums, and which problems their
 * numbers fit. */
#include "ocl/plan.h"
#include "problem/conv/conv.h"

int64_t cvy_ocl_group_items(const cvy_facts *facts) {
  int64_t wanted = facts->info.type == CONVOY_DEVICE_CPU ? 64 : 256;
  int64_t items = 2;
  while (items * 2 <= wanted && items * 2 <= facts->max_work_group) items *= 2;
  return items;
}

int64_t cvy_ocl_split_k(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                        int64_t tiles, int64_t most) {
  int64_t weights = cvy_conv_count(problem, CVY_W);
  int64_t room = facts->workspace_limit / (int64_t)sizeof(float) / weights;
  int64_t slices = per_unit * (int64_t)facts->info.compute_units / tiles;
  if (slices > most) slices = most;
  if (slices > room) slices = room;
  return slices < 1 ? 1 : slices;
}

int64_t cvy_ocl_scratch_limit(const cvy_facts *facts) {
  return facts->workspace_limit < facts->max_allocation_bytes ? facts->workspace_limit
                                                              : facts->max_allocation_bytes;
}

bool cvy_ocl_fits_scratch(int64_t floats, const cvy_facts *facts) {
  int64_t bytes = floats * (int64_t)sizeof(float);
  return floats <= CVY_OCL_MOST_FLOATS && bytes <= cvy_ocl_scratch_limit(facts);
}

int32_t cvy_ocl_listed(const cvy_param *param, int64_t most) {
  int32_t value = param->values[0];
  for (const int32_t *v = param->values; *v; v++)
    if (*v <= most) value = *v;
  return value;
}

/* The largest position that any axis computes with, in either direction. It saturates. */
static int64_t farthest_position(const cvy_problem *problem) {
  double most = 0;
  for (int axis = 0; axis < 3; axis++) {
    double at = (double)problem->conv.in[axis] + (double)problem->conv.pad[axis] +
                (double)problem->conv.out[axis] * (double)problem->conv.stride[axis] +
                (double)problem->conv.filter[axis] * (double)problem->conv.dilation[axis];
    if (at > most) most = at;
  }
  return most < 9e18 ? (int64_t)most : INT64_MAX;
}

/* Elements of memory of the largest array. Kernels compute where an image behind the last would
 * begin. It cannot overflow: so large a part is not legal. */
static int64_t largest_reach(const cvy_problem *problem) {
  int64_t most = cvy_conv_count(problem, CVY_W);
  const cvy_conv_array maps[] = {CVY_X, CVY_Y};
  for (size_t i = 0; i < CVY_COUNT(maps); i++) {
    int64_t reach = problem->conv.n * cvy_conv_pitch(problem, maps[i]);
    if (reach > most) most = reach;
  }
  return most;
}

/* It is below 2^31 by enough for rounding up to tiles. */
#define MOST_ELEMENTS INT64_C(2000000000)
/* Kernels mark columns outside the result by a position of -2^30. */
#define MOST_POSITION (INT64_C(1) << 29)

bool cvy_ocl_fits_int(const cvy_problem *problem, cvy_text *reason) {
  int64_t count = largest_reach(problem), far = farthest_position(problem);
  if (count > MOST_ELEMENTS) {
    cvy_text_add(reason, "an array over %lld elements needs 64-bit indices, it has 32-bit ones",
                 (long long)count);
    return false;
  }
  if (far > MOST_POSITION) {
    cvy_text_add(reason, "an axis reaches position %lld, it computes positions up to %lld",
                 (long long)far, (long long)MOST_POSITION);
    return false;
  }
  return true;
}

bool cvy_ocl_is_wide(const cvy_problem *problem) {
  return largest_reach(problem) > MOST_ELEMENTS || farthest_position(problem) > MOST_POSITION;
}
