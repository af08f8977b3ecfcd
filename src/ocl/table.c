/* The OpenCL algorithms, preferred first, and what their tests of applicability share.
 *
 * One order serves all directions: what is made for a few problems goes first, the tiled product
 * refuses what is too thin for tiles, CLBlast takes what is long in the summed direction only, the
 * definition takes the rest. */
#include "base/build_config.h"
#include "ocl/ocl.h"

const cvy_algorithm *const cvy_ocl_algorithms[] = {
#if CONVOY_HAVE_OPENCL
    &cvy_ocl_depthwise,
    &cvy_ocl_long_rows,
    &cvy_ocl_few_channels,
    &cvy_ocl_winograd,
    &cvy_ocl_strided_data,
    &cvy_ocl_implicit_gemm,
#if CONVOY_HAVE_CLBLAST
    &cvy_ocl_im2col_clblast,
#endif
    &cvy_ocl_direct,
#endif
    NULL,
};

int64_t cvy_ocl_group_items(const cvy_facts *facts) {
  const int64_t wanted = facts->info.type == CONVOY_DEVICE_CPU ? 64 : 256;
  int64_t items = 2;
  while (items * 2 <= wanted && items * 2 <= facts->max_work_group) items *= 2;
  return items;
}

int64_t cvy_ocl_slices(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                       int64_t tiles, int64_t most) {
  const int64_t weights = cvy_problem_count(problem, CVY_W);
  const int64_t room = facts->workspace_limit / (int64_t)sizeof(float) / weights;
  int64_t slices = per_unit * (int64_t)facts->info.compute_units / tiles;
  if (slices > most) slices = most;
  if (slices > room) slices = room;
  return slices < 1 ? 1 : slices;
}

/* The largest position any axis computes with, in either direction. Saturates. */
static int64_t reach(const cvy_problem *problem) {
  double most = 0;
  for (int axis = 0; axis < 3; axis++) {
    const double at = (double)problem->in[axis] + (double)problem->pad[axis] +
                      (double)problem->out[axis] * (double)problem->stride[axis] +
                      (double)problem->filter[axis] * (double)problem->dilation[axis];
    if (at > most) most = at;
  }
  return most < 9e18 ? (int64_t)most : INT64_MAX;
}

static int64_t largest_count(const cvy_problem *problem) {
  int64_t most = cvy_problem_count(problem, CVY_X);
  const cvy_array others[] = {CVY_W, CVY_Y};
  for (size_t i = 0; i < CVY_COUNT(others); i++) {
    const int64_t count = cvy_problem_count(problem, others[i]);
    if (count > most) most = count;
  }
  return most;
}

/* Below 2^31 by enough for rounding up to tiles. */
#define MOST_ELEMENTS INT64_C(2000000000)
/* Kernels mark columns outside the result by a position of -2^30. */
#define MOST_REACH (INT64_C(1) << 29)

bool cvy_ocl_fits_int(const cvy_problem *problem, cvy_text *reason) {
  const int64_t count = largest_count(problem), far = reach(problem);
  if (count > MOST_ELEMENTS) {
    cvy_text_add(reason, "an array of %lld elements needs 64-bit indices, it has 32-bit ones",
                 (long long)count);
    return false;
  }
  if (far > MOST_REACH) {
    cvy_text_add(reason, "an axis reaches position %lld, it computes positions up to %lld",
                 (long long)far, (long long)MOST_REACH);
    return false;
  }
  return true;
}

bool cvy_ocl_is_wide(const cvy_problem *problem) {
  return largest_count(problem) > MOST_ELEMENTS || reach(problem) > MOST_REACH;
}
