/* ocl.pool: an item gathers what one element of the result is made of. Scratch memory of a
 * maximum's gradient says of each window which tap is its maximum. */
#include "ocl/pool.h"

#include "problem/pooling/pooling.h"

int64_t cvy_ocl_pool_inputs(const cvy_problem *problem) {
  return problem->pooling.n * problem->pooling.c * cvy_pooling_in_volume(problem);
}

int64_t cvy_ocl_pool_outputs(const cvy_problem *problem) {
  return problem->pooling.n * problem->pooling.c * cvy_pooling_out_volume(problem);
}

int64_t cvy_ocl_pool_cells(const cvy_problem *problem) {
  int64_t pad = problem->pooling.pad[2], stride = problem->pooling.stride[2];
  int64_t cell = stride <= 4 ? stride : 1;
  return cvy_ocl_ceil_div(problem->pooling.in[2] + pad, cell) - pad / cell;
}

/* Positions reach over the padding on both sides, and windows over what they have of it. */
bool cvy_ocl_pool_is_wide(const cvy_problem *problem) {
  const cvy_pooling_problem *p = &problem->pooling;
  for (int axis = 0; axis < 3; axis++) {
    double reach = (double)(p->window[axis] - 1) * (double)p->dilation[axis] + 1.0;
    double stride = (double)p->stride[axis];
    if ((double)p->in[axis] + 2.0 * reach + stride > (double)INT32_MAX) return true;
  }
  const int64_t pitches[] = {cvy_pooling_x_pitch(problem), cvy_pooling_dx_pitch(problem),
                             cvy_pooling_y_pitch(problem)};
  for (size_t i = 0; i < CVY_COUNT(pitches); i++)
    if (p->n * pitches[i] > CVY_OCL_MOST_FLOATS) return true;
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)facts;
  (void)params;
  if (problem->operation != CVY_POOLING_MAX_BACKWARD) return 0;
  return cvy_ocl_pool_outputs(problem) * (int64_t)sizeof(int32_t);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t bytes = workspace(problem, facts, NULL), limit = cvy_ocl_scratch_limit(facts);
  if (bytes <= limit) return true;
  cvy_text_add(reason, "the places of maxima need %lld bytes of workspace, the limit is %lld",
               (long long)bytes, (long long)limit);
  return false;
}

const cvy_algorithm cvy_ocl_pool = {
    .name = "ocl.pool",
    .operations = CVY_POOLING_ALL,
    .accepts = accepts,
    .workspace = workspace,
    .conservative = true,
};
