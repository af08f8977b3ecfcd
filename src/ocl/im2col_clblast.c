/* ocl.im2col_clblast: columns are written to a buffer, and CLBlast makes one matrix product per
 * image and group. Only CLBlast's GEMM is used; the geometry never leaves our own checks. */
#include "ocl/im2col_clblast.h"
#include "ocl/clblast.h"
#include "problem/conv/conv.h"

static bool is_plain(const cvy_problem *problem) {
  for (int axis = 0; axis < 3; axis++) {
    if (problem->conv.filter[axis] != 1 || problem->conv.stride[axis] != 1 ||
        problem->conv.pad[axis] != 0 || problem->conv.out[axis] != problem->conv.in[axis])
      return false;
  }
  return true;
}

/* Weights that an output channel has. */
static int64_t row_length(const cvy_problem *problem) {
  return problem->conv.c / problem->conv.groups * cvy_filter_volume(problem);
}

cvy_ocl_im2col_clblast_plan cvy_ocl_im2col_clblast_plan_for(const cvy_problem *problem,
                                                            const cvy_facts *facts) {
  cvy_ocl_im2col_clblast_plan plan = {.plain = is_plain(problem), .images = problem->conv.n};
  plan.product = cvy_ocl_clblast_scratch(problem->conv.k / problem->conv.groups,
                                         cvy_out_volume(problem), row_length(problem));
  if (plan.plain) return plan;
  plan.image = problem->conv.groups * row_length(problem) * cvy_out_volume(problem);
  int64_t room = cvy_ocl_scratch_limit(facts) / (int64_t)sizeof(float) - plan.product - 64;
  if (plan.images > room / plan.image) plan.images = room / plan.image;
  if (plan.images > 2000000000 / plan.image) plan.images = 2000000000 / plan.image;
  return plan;
}

/* A product needs some work for each element that it moves: rows of the result, and terms of the
 * sum. */
static bool is_thin(const cvy_problem *problem) {
  return problem->conv.k / problem->conv.groups < 4 || row_length(problem) < 4;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason) || !cvy_ocl_clblast_runs(facts, reason)) return false;
  if (is_thin(problem)) {
    cvy_text_add(reason, "too thin for a matrix product: %lld channels out, %lld terms per group",
                 (long long)(problem->conv.k / problem->conv.groups),
                 (long long)row_length(problem));
    return false;
  }
  double columns =
      (double)problem->conv.groups * (double)row_length(problem) * (double)cvy_out_volume(problem);
  if (!is_plain(problem) && columns > 2e9) {
    cvy_text_add(reason, "the columns of one image are %.0f elements, above 2000000000", columns);
    return false;
  }
  cvy_ocl_im2col_clblast_plan plan = cvy_ocl_im2col_clblast_plan_for(problem, facts);
  int64_t product = plan.product * (int64_t)sizeof(float);
  if (plan.images < 1 || product > cvy_ocl_scratch_limit(facts)) {
    cvy_text_add(reason, "one image's columns are %.0f bytes, the workspace limit is %lld",
                 columns * sizeof(float), (long long)facts->workspace_limit);
    return false;
  }
  return true;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)params;
  cvy_ocl_im2col_clblast_plan plan = cvy_ocl_im2col_clblast_plan_for(problem, facts);
  return (cvy_ocl_round_up(plan.images * plan.image, 64) + plan.product) * (int64_t)sizeof(float);
}

const cvy_algorithm cvy_ocl_im2col_clblast = {
    .name = "ocl.im2col_clblast",
    .operations = CVY_CONV_FILTERED,
    .serves = cvy_ocl_clblast_runs,
    .accepts = accepts,
    .workspace = workspace,
    .conservative = true,
};
