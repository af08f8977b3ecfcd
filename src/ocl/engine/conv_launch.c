/* From a problem of convolution to a kernel in the queue. */
#include "ocl/engine/conv_launch.h"

#include "ocl/engine/conv_arguments.h"
#include "ocl/engine/device.h"
#include "problem/conv/conv.h"

/* Elements from image to image of what input `i` is, and 0 if there is none. */
static int64_t input_pitch(const cvy_problem *p, int32_t i) {
  return i < cvy_problem_inputs(p) ? cvy_conv_pitch(p, cvy_conv_in(p, i)) : 0;
}

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
      .a_pitch = input_pitch(p, 0),
      .b_pitch = input_pitch(p, 1),
      .out_pitch = cvy_conv_pitch(p, cvy_conv_out(p)),
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

convoy_status launch_conv(cvy_device *device, const launch *what, const conv_args *args,
                          const bindings *arrays) {
  conv_arguments with;
  conv_arguments_of(args, what->wide, arrays, &with);
  return launch_kernel(device, what, &with.all);
}

convoy_status launch_elements(cvy_device *device, const launch *what, const conv_args *args,
                              const bindings *arrays) {
  launch sized = *what;
  sized.items = cvy_ocl_group_items(&device->facts);
  sized.work_groups = cvy_ocl_ceil_div(args->items, sized.items);
  if (!(sized.work > 0)) sized.work = MOVED_WORK * (double)args->items;
  return launch_conv(device, &sized, args, arrays);
}
