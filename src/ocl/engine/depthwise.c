/* Launches ocl.depthwise. */
#include "cl/sources.h"
#include "ocl/engine/engine.h"

static const program_source source = {
    "depthwise.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                          cvy_cl_space, cvy_cl_depthwise, NULL}};

static const char *const kernels[] = {
    [CONVOY_FORWARD] = "depthwise_forward",
    [CONVOY_BACKWARD_DATA] = "depthwise_data",
    [CONVOY_BACKWARD_WEIGHTS] = "depthwise_weights",
};

static void write_options(const cvy_problem *problem, const cvy_depthwise_plan *plan,
                          cvy_text *text) {
  cvy_text_add(text, "-D WIDE=0 -D WG=%lld -D CHUNK=%lld", (long long)plan->items,
               (long long)plan->chunk);
  add_space(text, problem, plan->compiled);
  if (plan->compiled)
    cvy_text_add(text, " -D CHANNELS=%lld -D MAPS=%lld", (long long)problem->c,
                 (long long)problem->k);
}

static convoy_status run_weights(cvy_device *device, const cvy_problem *problem, const launch *what,
                                 conv_args args, const cvy_depthwise_plan *plan,
                                 const bindings *arrays, span scratch) {
  args.slice = plan->slice;
  if (plan->slices == 1) return launch_kernel(device, what, args, arrays);
  args.accumulate = 0;
  bindings partial = *arrays;
  partial.out = scratch;
  const convoy_status status = launch_kernel(device, what, args, &partial);
  return status ? status : add_slices(device, problem, plan->slices, scratch, arrays);
}

convoy_status run_depthwise(cvy_device *device, const cvy_job *job, const bindings *arrays,
                            span scratch) {
  const cvy_problem *problem = &job->problem;
  const cvy_depthwise_plan plan = cvy_depthwise_plan_for(problem, &device->facts, &job->params);
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  write_options(problem, &plan, &text);
  const launch what = {.source = &source,
                       .options = options,
                       .kernel = kernels[problem->direction],
                       .work_groups = plan.work_groups,
                       .items = plan.items,
                       .work = cvy_problem_flops(problem)};
  conv_args args = args_of(problem);
  if (problem->direction == CONVOY_BACKWARD_WEIGHTS)
    return run_weights(device, problem, &what, args, &plan, arrays, scratch);
  args.items = cvy_problem_count(problem, cvy_problem_operands(problem).out);
  return launch_elements(device, &what, &args, arrays);
}
