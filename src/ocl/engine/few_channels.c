/* Launches ocl.few_channels. */
#include "ocl/few_channels.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/build_options.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"

static const program_source source = {
    "few_channels.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_space,
                          cvy_cl_reach, cvy_cl_few_channels, NULL}};

convoy_status run_few_channels(cvy_device *device, const cvy_job *job, const job_arrays *given,
                               span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  (void)scratch;
  const cvy_problem *problem = &job->problem;
  cvy_ocl_few_channels_plan plan =
      cvy_ocl_few_channels_plan_for(problem, &device->facts, &job->params);
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text,
               "-D WIDE=0 -D WG=%lld -D CHANNELS=%lld -D ROWS=%lld -D COLUMNS=%lld -D SOURCES=%lld "
               "-D DIRECTION=%d -D WEIGHTS_IN=local -D WEIGHTS_PER_TAP=%lld",
               (long long)plan.items, (long long)plan.channels, (long long)plan.rows,
               (long long)plan.columns, (long long)plan.sources,
               problem->operation == CONVOY_BACKWARD_DATA, (long long)plan.weights_per_tap);
  add_space(&text, problem, true);
  launch what = {.source = &source,
                 .options = options,
                 .kernel = "few_channels",
                 .work_groups = plan.work_groups,
                 .items = plan.items,
                 .work = cvy_problem_flops(problem)};
  conv_args args = args_of(problem);
  args.items = plan.elements;
  args.row_tiles = plan.blocks;
  return launch_conv(device, &what, &args, arrays);
}
