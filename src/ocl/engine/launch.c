/* From a problem to a kernel in the queue: the argument block, the four arrays, the sizes. */
#include "ocl/engine/launch.h"

#include <string.h>

#include "ocl/engine/capture.h"
#include "ocl/engine/device.h"

/* A launch is cut into so many parts at most. */
#define MOST_PARTS 256
/* What moving one element takes, in operations of a slow card: memory is what it waits for. */
#define MOVED_WORK 32.0

conv_args args_of(const cvy_problem *p) {
  int32_t slope;
  memcpy(&slope, &p->conv.slope, sizeof slope);
  return (conv_args){
      .n = p->conv.n,
      .c = p->conv.c,
      .k = p->conv.k,
      .groups = p->conv.groups,
      .iz = p->conv.in[0],
      .ih = p->conv.in[1],
      .iw = p->conv.in[2],
      .t = p->conv.filter[0],
      .r = p->conv.filter[1],
      .s = p->conv.filter[2],
      .oz = p->conv.out[0],
      .oh = p->conv.out[1],
      .ow = p->conv.out[2],
      .sz = p->conv.stride[0],
      .sh = p->conv.stride[1],
      .sw = p->conv.stride[2],
      .pz = p->conv.pad[0],
      .ph = p->conv.pad[1],
      .pw = p->conv.pad[2],
      .dz = p->conv.dilation[0],
      .dh = p->conv.dilation[1],
      .dw = p->conv.dilation[2],
      .accumulate = p->accumulate,
      .has_bias = p->conv.has_bias,
      .activation = p->conv.activation,
      .slope = slope,
  };
}

conv_args args_of_product(const cvy_problem *problem, const cvy_ocl_product *product) {
  conv_args args = args_of(problem);
  args.rows = product->rows;
  args.columns = product->columns;
  args.depth = product->depth;
  args.rows_up = product->rows_up;
  args.columns_up = product->columns_up;
  args.depth_up = product->depth_up;
  args.row_tiles = product->row_tiles;
  args.column_tiles = product->column_tiles;
  args.slices = product->slices;
  args.slice_length = product->slice_length;
  return args;
}

static cl_int set_block(cl_kernel kernel, const conv_args *args, bool wide) {
  if (wide) return opencl_argument(kernel, 0, sizeof *args, args);
  int64_t words[CONV_ARGS_WORDS];
  int32_t narrow[CONV_ARGS_WORDS];
  memcpy(words, args, sizeof words);
  for (size_t i = 0; i < CONV_ARGS_WORDS; i++) narrow[i] = (int32_t)words[i];
  return opencl_argument(kernel, 0, sizeof narrow, narrow);
}

/* A kernel never reads an absent array, but not every driver takes NULL: it gets `out`. */
static cl_int set_array(cl_kernel kernel, cl_uint index, span array, span out) {
  cl_mem memory = array.memory ? array.memory : out.memory;
  return opencl_argument(kernel, index, sizeof memory, &memory);
}

static cl_int set_arrays(cl_kernel kernel, const bindings *arrays) {
  cl_int code = set_array(kernel, 1, arrays->a, arrays->out);
  if (code == CL_SUCCESS) code = set_array(kernel, 2, arrays->b, arrays->out);
  if (code == CL_SUCCESS) code = set_array(kernel, 3, arrays->bias, arrays->out);
  if (code == CL_SUCCESS) code = set_array(kernel, 4, arrays->out, arrays->out);
  return code;
}

/* The next `groups` work-groups from args->first_group on. */
static cl_int enqueue_part(cvy_device *device, const launch *what, program_kernel *kernel,
                           const conv_args *args, int64_t groups) {
  cl_event done;
  double work = what->work * (double)groups / (double)what->work_groups;
  bool watched = completion_due(device, work / kernel->rate);
  cl_int code = set_block(kernel->kernel, args, what->wide);
  if (code == CL_SUCCESS) {
    code = opencl_launch(&device->queue, kernel->kernel, args->first_group, groups, what->items,
                         watched ? &done : NULL);
  }
  if (code == CL_SUCCESS && watched) completion_add(device, done, work, &kernel->rate);
  return code;
}

/* Work-groups that take about device->longest_launch seconds together. */
static int64_t groups_at_once(const cvy_device *device, const launch *what, double rate) {
  double parts = what->work / (rate * device->longest_launch);
  if (!(parts > 1)) return what->work_groups;
  int64_t whole = parts < MOST_PARTS ? (int64_t)parts + 1 : MOST_PARTS;
  return cvy_ocl_ceil_div(what->work_groups, whole);
}

convoy_status launch_found(cvy_device *device, const launch *what, program_kernel *kernel,
                           conv_args args, const bindings *arrays) {
  args.a_at = arrays->a.at / CONV_ALIGN;
  args.b_at = arrays->b.at / CONV_ALIGN;
  args.bias_at = arrays->bias.at / CONV_ALIGN;
  args.out_at = arrays->out.at / CONV_ALIGN;
  cl_int code = set_arrays(kernel->kernel, arrays);
  int64_t most = groups_at_once(device, what, kernel->rate);
  for (args.first_group = 0; code == CL_SUCCESS && args.first_group < what->work_groups;
       args.first_group += most) {
    int64_t left = what->work_groups - args.first_group;
    code = enqueue_part(device, what, kernel, &args, left < most ? left : most);
  }
  return code == CL_SUCCESS ? CONVOY_OK : opencl_fail(code, what->kernel);
}

convoy_status launch_kernel(cvy_device *device, const launch *what, conv_args args,
                            const bindings *arrays) {
  program_kernel *kernel;
  if (device->programs.dry_run) return prepare_program(device, what->source, what->options);
  convoy_status status = find_kernel(device, what->source, what->options, what->kernel, &kernel);
  if (status) return status;
  capture_launch(device, what, kernel, &args, arrays);
  return launch_found(device, what, kernel, args, arrays);
}

convoy_status launch_elements(cvy_device *device, const launch *what, const conv_args *args,
                              const bindings *arrays) {
  launch sized = *what;
  sized.items = cvy_ocl_group_items(&device->facts);
  sized.work_groups = cvy_ocl_ceil_div(args->items, sized.items);
  if (!(sized.work > 0)) sized.work = MOVED_WORK * (double)args->items;
  return launch_kernel(device, &sized, *args, arrays);
}
