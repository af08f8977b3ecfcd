/* Launches ocl.direct. */
#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "problem/conv/conv.h"

static const program_source source = {
    "direct.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_direct, NULL}};

/* Without reuse of what it reads an operation takes about so many times as long as it could. */
#define DIRECT_COST 8.0

/* An output element takes one work-group, or one item. */
static const struct {
  const char *kernel;
  bool group_per_element;
} kernels[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = {"direct_forward", false},
    [CONVOY_BACKWARD_DATA] = {"direct_backward_data", false},
    [CONVOY_BACKWARD_WEIGHTS] = {"direct_backward_weights", true},
    [CONVOY_BACKWARD_BIAS] = {"direct_backward_bias", true},
};

/* Items of a work-group that share a row of outputs. On a GPU neighbours shall read neighbours,
 * while on a processor one item is best left to walk a row alone. */
static int64_t items_per_row(const cvy_device *device, const cvy_problem *problem, int64_t items) {
  int64_t together = 1;
  if (device->facts.info.type == CONVOY_DEVICE_CPU) return together;
  while (together < 32 && together * 2 <= problem->conv.out[2] && together * 2 <= items)
    together *= 2;
  return together;
}

convoy_status run_direct(cvy_device *device, const cvy_job *job, const job_arrays *given,
                         span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  (void)scratch;
  const cvy_problem *problem = &job->problem;
  int64_t items = cvy_ocl_group_items(&device->facts);
  char options[64];
  cvy_text text = cvy_text_in(options, sizeof options);
  bool wide = cvy_ocl_is_wide(problem);
  cvy_text_add(&text, "-D WIDE=%d -D WG=%lld", wide, (long long)items);
  conv_args args = args_of(problem);
  args.items = cvy_conv_count(problem, cvy_conv_out(problem));
  args.items_per_row = items_per_row(device, problem, items);
  launch what = {.source = &source,
                 .options = options,
                 .kernel = kernels[problem->operation].kernel,
                 .wide = wide,
                 .work_groups = args.items,
                 .items = items,
                 .work = DIRECT_COST * cvy_problem_flops(problem)};
  if (kernels[problem->operation].group_per_element)
    return launch_conv(device, &what, &args, arrays);
  return launch_elements(device, &what, &args, arrays);
}
