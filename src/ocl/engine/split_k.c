/* Split-K: each slice of a sum leaves a partial result in scratch memory, and a second kernel adds
 * these in their order, so that the same inputs give the same bits. */
#include "ocl/engine/split_k.h"

#include "cl/sources.h"
#include "ocl/engine/build_options.h"
#include "ocl/engine/device.h"
#include "ocl/engine/pack_and_reduce.h"
#include "problem/conv/conv.h"

static const program_source scatter_source = {
    "scatter_split_k.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                                cvy_cl_space, cvy_cl_scatter_split_k, NULL}};

/* Items of a work-group that share an element: adding many partial results takes one item
 * too long. */
static int64_t items_per_result(int64_t slices, int64_t group) {
  int64_t items = slices >= 256 ? 32 : slices >= 16 ? 8 : 1;
  return items < group ? items : group;
}

convoy_status launch_sum_of_slices(cvy_device *device, const cvy_problem *problem, conv_args *args,
                                   const bindings *arrays) {
  args->items_per_result = items_per_result(args->slices, cvy_ocl_group_items(&device->facts));
  return launch_pack_or_reduce(device, problem, "reduce_split_k", args,
                               args->items * args->items_per_result, arrays);
}

/* out = the sum of the partial results, with the problem's epilogue. Weights are one image of one
 * channel. */
static convoy_status reduce_split_k(cvy_device *device, const cvy_problem *problem, int64_t slices,
                                    span partial, const bindings *arrays) {
  bool forward = problem->operation == CONVOY_FORWARD;
  conv_args args = args_of(problem);
  args.items = cvy_conv_count(problem, cvy_conv_out(problem));
  args.slices = slices;
  args.rows = forward ? args.k : args.c;
  args.depth = forward ? cvy_out_volume(problem) : cvy_in_volume(problem);
  if (cvy_ocl_is_weights(problem)) {
    args.rows = 1;
    args.depth = args.out_pitch = args.items;
  }
  bindings sums = {.a = partial, .bias = arrays->bias, .out = arrays->out};
  return launch_sum_of_slices(device, problem, &args, &sums);
}

/* The same for partial results without stride, which go to strided places. */
static convoy_status scatter_split_k(cvy_device *device, const cvy_problem *problem, int64_t slices,
                                     span partial, const bindings *arrays) {
  conv_args args = args_of(problem);
  args.items = problem->conv.n * problem->conv.c * cvy_out_volume(problem);
  args.slices = slices;
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld", (long long)cvy_ocl_group_items(&device->facts));
  add_space(&text, problem, device->facts.info.type != CONVOY_DEVICE_CPU);
  launch what = {.source = &scatter_source, .options = options, .kernel = "scatter_split_k"};
  bindings sums = {.a = partial, .bias = arrays->bias, .out = arrays->out};
  return launch_elements(device, &what, &args, &sums);
}

/* The product alone, into scratch memory, whose images of `image` elements have no gaps: what
 * happens to finished sums comes later. */
static convoy_status launch_partial(cvy_device *device, const launch *what, conv_args args,
                                    int64_t image, const bindings *arrays, span scratch) {
  bindings partial = *arrays;
  partial.out = scratch;
  args.out_pitch = image;
  args.accumulate = args.has_bias = 0;
  args.activation = CONVOY_IDENTITY;
  return launch_conv(device, what, &args, &partial);
}

convoy_status launch_split_k(cvy_device *device, const cvy_problem *problem, const launch *what,
                             const conv_args *args, const bindings *arrays, span scratch) {
  if (args->slices == 1) return launch_conv(device, what, args, arrays);
  int64_t image = cvy_conv_image(problem, cvy_conv_out(problem));
  convoy_status status = launch_partial(device, what, *args, image, arrays, scratch);
  return status ? status : reduce_split_k(device, problem, args->slices, scratch, arrays);
}

convoy_status launch_scattered(cvy_device *device, const cvy_problem *problem, const launch *what,
                               const conv_args *args, const bindings *arrays, span scratch) {
  convoy_status status = launch_partial(device, what, *args, args->out_pitch, arrays, scratch);
  return status ? status : scatter_split_k(device, problem, args->slices, scratch, arrays);
}
