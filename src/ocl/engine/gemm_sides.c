/* What comes before and after products: packed weights, the sum of slices, the options that compile
 * space in. */
#include "cl/sources.h"
#include "ocl/engine/engine.h"
#include "ocl/implicit_gemm.h"

static const program_source sides_source = {
    "pack_and_reduce.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_epilogue, cvy_cl_pack_and_reduce, NULL}};

static const program_source scatter_source = {
    "scatter_split_k.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                       cvy_cl_space, cvy_cl_scatter_split_k, NULL}};

void add_space(cvy_text *text, const cvy_problem *problem, bool compiled) {
  const struct {
    const char *name;
    const int64_t *values;
  } extents[] = {{"IN", problem->in},   {"FILTER", problem->filter},
                 {"OUT", problem->out}, {"STRIDE", problem->stride},
                 {"PAD", problem->pad}, {"DILATION", problem->dilation}};
  cvy_text_add(text, " -D SPACE=%d", compiled ? 2 : 1);
  for (size_t i = 0; compiled && i < CVY_COUNT(extents); i++)
    for (int axis = 0; axis < 3; axis++)
      cvy_text_add(text, " -D %s_%d=%lld", extents[i].name, axis,
                   (long long)extents[i].values[axis]);
}

/* Of a multiprocessor, shared out in eights; an item cannot have more than the most. */
#define REGISTERS 65536
#define MOST_REGISTERS 255

void add_resident(cvy_text *text, const cvy_device *device, int64_t items) {
  const int64_t each = REGISTERS / items / 8 * 8;
  if (device->tells_registers)
    cvy_text_add(text, " -cl-nv-maxrregcount=%lld",
                 (long long)(each < MOST_REGISTERS ? each : MOST_REGISTERS));
}

convoy_status launch_side(cvy_device *device, const cvy_problem *problem, const char *kernel,
                          const conv_args *args, int64_t items, const bindings *arrays) {
  const int64_t group = cvy_ocl_group_items(&device->facts);
  char options[64];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld -D DIRECTION=%d", (long long)group,
               problem->direction == CONVOY_BACKWARD_DATA);
  const launch what = {.source = &sides_source,
                       .options = options,
                       .kernel = kernel,
                       .work_groups = cvy_ocl_ceil_div(items, group),
                       .items = group,
                       .work = (double)items};
  return launch_kernel(device, &what, *args, arrays);
}

convoy_status reduce_split_k(cvy_device *device, const cvy_problem *problem, int64_t slices,
                         span partial, const bindings *arrays) {
  const bool forward = problem->direction == CONVOY_FORWARD;
  const int64_t together = slices >= 256 ? 32 : slices >= 16 ? 8 : 1;
  const int64_t group = cvy_ocl_group_items(&device->facts);
  conv_args args = args_of(problem);
  args.items = cvy_problem_count(problem, cvy_problem_operands(problem).out);
  args.slices = slices;
  args.items_per_result = together < group ? together : group;
  args.rows = forward ? args.k : args.c;
  args.depth = forward ? cvy_out_volume(problem) : cvy_in_volume(problem);
  const bindings sums = {.a = partial, .bias = arrays->bias, .out = arrays->out};
  return launch_side(device, problem, "reduce_split_k", &args, args.items * args.items_per_result,
                     &sums);
}

convoy_status scatter_split_k(cvy_device *device, const cvy_problem *problem, int64_t slices,
                            span partial, const bindings *arrays) {
  conv_args args = args_of(problem);
  args.items = problem->n * problem->c * cvy_out_volume(problem);
  args.slices = slices;
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld", (long long)cvy_ocl_group_items(&device->facts));
  add_space(&text, problem, device->facts.info.type != CONVOY_DEVICE_CPU);
  const launch what = {.source = &scatter_source, .options = options, .kernel = "scatter_split_k"};
  const bindings scatters = {.a = partial, .bias = arrays->bias, .out = arrays->out};
  return launch_elements(device, &what, &args, &scatters);
}

static convoy_status pack(cvy_device *device, const cvy_problem *problem, conv_args args,
                          int64_t block, span weights, span packed) {
  args.block_channels = block;
  const bindings arrays = {.a = weights, .out = packed};
  return launch_side(device, problem, "pack_weights", &args, args.items, &arrays);
}

convoy_status packed_weights(cvy_device *device, const cvy_job *job, const conv_args *args,
                             int64_t block, const bindings *arrays, span *out) {
  const cvy_problem *problem = &job->problem;
  const int64_t taps = cvy_filter_volume(problem);
  const prepacked_form form = {&cvy_ocl_implicit_gemm,
                               {problem->direction, problem->groups, args->rows, args->depth, taps,
                                args->rows_up, args->depth_up, block}};
  conv_args sized = *args;
  sized.items = problem->groups * taps * args->depth_up * args->rows_up;
  bool fresh;
  const convoy_status status =
      prepacked_find(device, job->b.id, &form, sized.items * (int64_t)sizeof(float), out, &fresh);
  return status || !fresh ? status : pack(device, problem, sized, block, arrays->b, *out);
}

convoy_status launch_split_k(cvy_device *device, const cvy_problem *problem, const launch *what,
                            const conv_args *args, const bindings *arrays, span scratch) {
  if (args->slices == 1) return launch_kernel(device, what, *args, arrays);
  bindings partial = *arrays;
  partial.out = scratch;
  conv_args bare = *args;
  bare.accumulate = bare.has_bias = 0;
  bare.activation = CONVOY_IDENTITY;
  const convoy_status status = launch_kernel(device, what, bare, &partial);
  return status ? status : reduce_split_k(device, problem, args->slices, scratch, arrays);
}
