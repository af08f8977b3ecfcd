/* Launches ocl.strided_data. */
#include "ocl/strided_data.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/build_options.h"
#include "ocl/engine/device.h"
#include "ocl/engine/packed_weights.h"
#include "ocl/engine/split_k.h"

static const program_source source = {
    "strided_data.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                             cvy_cl_space, cvy_cl_tile, cvy_cl_strided_data, NULL}};

convoy_status run_strided_data(cvy_device *device, const cvy_job *job, const job_arrays *given,
                               span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  const cvy_problem *problem = &job->problem;
  cvy_ocl_strided_data_plan plan = cvy_ocl_strided_data_plan_for(problem, &job->params);
  conv_args args = args_of_product(problem, &plan.product);
  bindings of = *arrays;
  convoy_status status = packed_weights(device, job, &args, plan.bk, arrays, &of.b);
  if (status) return status;

  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D BM=%lld -D BN=%lld -D BK=%lld -D TM=%lld -D TN=4 -D WHOLE=%d",
               (long long)plan.bm, (long long)plan.bn, (long long)plan.bk, (long long)plan.tm,
               plan.product.depth % plan.bk == 0);
  add_space(&text, problem, true);
  add_resident(&text, device, plan.sums <= 64 ? 384 : 256);
  launch what = {.source = &source,
                 .options = options,
                 .kernel = "strided_data",
                 .work_groups = plan.work_groups,
                 .items = plan.items,
                 .work = cvy_problem_flops(problem)};
  return launch_split_k(device, problem, &what, &args, &of, scratch);
}
