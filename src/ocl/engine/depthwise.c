/* Launches ocl.depthwise. */
#include "ocl/depthwise.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/build_options.h"
#include "ocl/engine/device.h"
#include "ocl/engine/split_k.h"

/* One result per item, and backward_weights. */
static const program_source plain_source = {
    "depthwise.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                          cvy_cl_space, cvy_cl_depthwise, NULL}};
static const program_source tiles_source = {
    "depthwise_tiles.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_space,
                          cvy_cl_reach, cvy_cl_depthwise_tiles, NULL}};

static const char *const kernels[] = {
    [CONVOY_FORWARD] = "depthwise_forward",
    [CONVOY_BACKWARD_DATA] = "depthwise_data",
    [CONVOY_BACKWARD_WEIGHTS] = "depthwise_weights",
};

static void plain_options(const cvy_problem *problem, const cvy_ocl_depthwise_plan *plan,
                          cvy_text *text) {
  cvy_text_add(text, "-D WIDE=0 -D WG=%lld -D CHUNK=%lld", (long long)plan->items,
               (long long)plan->chunk);
  add_space(text, problem, plan->compiled);
  if (plan->compiled) {
    cvy_text_add(text, " -D CHANNELS=%lld -D MAPS=%lld", (long long)problem->conv.c,
                 (long long)problem->conv.k);
  }
}

static void tiles_options(const cvy_problem *problem, const cvy_ocl_depthwise_plan *plan,
                          cvy_text *text) {
  cvy_text_add(text,
               "-D WIDE=0 -D WG=%lld -D ROWS=%lld -D COLUMNS=%lld -D DIRECTION=%d "
               "-D WEIGHTS_IN=global -D WEIGHTS_PER_TAP=1",
               (long long)plan->items, (long long)plan->rows, (long long)plan->columns,
               problem->operation == CONVOY_BACKWARD_DATA);
  add_space(text, problem, true);
}

convoy_status run_depthwise(cvy_device *device, const cvy_job *job, const job_arrays *given,
                            span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  const cvy_problem *problem = &job->problem;
  bool weights = cvy_ocl_is_weights(problem);
  cvy_ocl_depthwise_plan plan = cvy_ocl_depthwise_plan_for(problem, &device->facts, &job->params);
  bool tiles = plan.compiled && !weights;
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  (tiles ? tiles_options : plain_options)(problem, &plan, &text);
  launch what = {.source = tiles ? &tiles_source : &plain_source,
                 .options = options,
                 .kernel = tiles ? "depthwise_tiles" : kernels[problem->operation],
                 .work_groups = plan.work_groups,
                 .items = plan.items,
                 .work = cvy_problem_flops(problem)};
  conv_args args = args_of(problem);
  args.items = plan.elements;
  if (!weights) return launch_elements(device, &what, &args, arrays);
  args.slices = plan.slices;
  args.slice_length = plan.slice_length;
  return launch_split_k(device, problem, &what, &args, arrays, scratch);
}
