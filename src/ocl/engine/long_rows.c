/* Launches ocl.long_rows. */
#include "ocl/long_rows.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/build_options.h"
#include "ocl/engine/device.h"
#include "ocl/engine/split_k.h"

static const program_source rows_source = {
    "long_rows.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                          cvy_cl_space, cvy_cl_long_rows, NULL}};
static const program_source weights_source = {
    "long_rows_weights.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                                  cvy_cl_space, cvy_cl_long_rows_weights, NULL}};

static void write_options(const cvy_problem *problem, const cvy_ocl_long_rows_plan *plan,
                          cvy_text *text) {
  cvy_text_add(text, "-D WIDE=0 -D CHANNELS=%lld -D COLUMNS=%lld", (long long)plan->channels,
               (long long)plan->columns);
  if (cvy_ocl_is_weights(problem)) {
    cvy_text_add(text, " -D ACROSS=%lld -D ALONG=%lld -D POSITIONS=%lld", (long long)plan->across,
                 (long long)plan->along, (long long)plan->positions);
  } else {
    cvy_text_add(text, " -D ITEMS=%lld -D ITEMS_PER_RESULT=%lld -D DIRECTION=%d",
                 (long long)plan->items, (long long)plan->items_per_result,
                 problem->operation == CONVOY_BACKWARD_DATA);
  }
  add_space(text, problem, true);
}

convoy_status run_long_rows(cvy_device *device, const cvy_job *job, const job_arrays *given,
                            span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  const cvy_problem *problem = &job->problem;
  bool weights = cvy_ocl_is_weights(problem);
  cvy_ocl_long_rows_plan plan = cvy_ocl_long_rows_plan_for(problem, &device->facts, &job->params);
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  write_options(problem, &plan, &text);
  launch what = {.source = weights ? &weights_source : &rows_source,
                 .options = options,
                 .kernel = weights ? "long_rows_weights" : "long_rows",
                 .work_groups = plan.work_groups,
                 .items = plan.items,
                 .work = cvy_problem_flops(problem)};
  conv_args args = args_of(problem);
  args.row_tiles = plan.blocks;
  if (!weights) return launch_conv(device, &what, &args, arrays);
  args.items = plan.pieces;
  args.slices = plan.slices;
  args.slice_length = plan.slice_length;
  return launch_split_k(device, problem, &what, &args, arrays, scratch);
}
