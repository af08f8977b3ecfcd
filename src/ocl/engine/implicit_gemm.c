/* Launches ocl.implicit_gemm. */
#include "ocl/implicit_gemm.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/build_options.h"
#include "ocl/engine/device.h"
#include "ocl/engine/packed_weights.h"
#include "ocl/engine/split_k.h"

static const program_source gather_source = {
    "implicit_gemm.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_space,
                          cvy_cl_tile, cvy_cl_implicit_gemm, NULL}};
static const program_source weights_source = {
    "implicit_gemm_weights.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_space,
                                                      cvy_cl_implicit_gemm_weights, NULL}};

static void write_options(const cvy_problem *problem, const cvy_ocl_implicit_gemm_plan *plan,
                          cvy_text *text) {
  const cvy_ocl_tile *tile = &plan->tile;
  cvy_text_add(text, "-D WIDE=0 -D BM=%lld -D BN=%lld -D BK=%lld -D TM=%lld -D TN=%lld",
               (long long)tile->bm, (long long)tile->bn, (long long)tile->bk, (long long)tile->tm,
               (long long)tile->tn);
  add_space(text, problem, plan->compiled);
  if (!cvy_ocl_is_weights(problem)) {
    bool forward = problem->operation == CONVOY_FORWARD;
    cvy_text_add(text, " -D DIRECTION=%d -D WHOLE=%d -D PACKED=%d", !forward,
                 plan->compiled && plan->product.depth % tile->bk == 0, !forward || plan->packs);
  }
}

convoy_status run_implicit_gemm(cvy_device *device, const cvy_job *job, const job_arrays *given,
                                span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  const cvy_problem *problem = &job->problem;
  bool weights = cvy_ocl_is_weights(problem);
  cvy_ocl_implicit_gemm_plan plan =
      cvy_ocl_implicit_gemm_plan_for(problem, &device->facts, &job->params);
  cvy_problem product = cvy_ocl_implicit_gemm_product(problem);
  conv_args args = args_of_product(&product, &plan.product);
  bindings of = *arrays;
  if (plan.packs) {
    convoy_status status = packed_weights(device, job, &args, plan.tile.bk, arrays, &of.b);
    if (status) return status;
  }
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  write_options(&product, &plan, &text);
  launch what = {.source = weights ? &weights_source : &gather_source,
                 .options = options,
                 .kernel = weights ? "implicit_gemm_weights" : "implicit_gemm",
                 .work_groups = plan.work_groups,
                 .items = plan.items,
                 .work = cvy_problem_flops(problem)};
  if (plan.scatters) return launch_scattered(device, problem, &what, &args, &of, scratch);
  return launch_split_k(device, problem, &what, &args, &of, scratch);
}
