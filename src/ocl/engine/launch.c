/* From a problem to a kernel in the queue: the argument block, the four arrays, the sizes. */
#include <string.h>

#include "ocl/engine/engine.h"

span span_of(const arena_piece *piece) {
  return (span){piece->memory, piece->at / (int64_t)sizeof(float)};
}

conv_args args_of(const cvy_problem *p) {
  int32_t slope;
  memcpy(&slope, &p->slope, sizeof slope);
  return (conv_args){
      .n = p->n,
      .c = p->c,
      .k = p->k,
      .groups = p->groups,
      .iz = p->in[0],
      .ih = p->in[1],
      .iw = p->in[2],
      .t = p->filter[0],
      .r = p->filter[1],
      .s = p->filter[2],
      .oz = p->out[0],
      .oh = p->out[1],
      .ow = p->out[2],
      .sz = p->stride[0],
      .sh = p->stride[1],
      .sw = p->stride[2],
      .pz = p->pad[0],
      .ph = p->pad[1],
      .pw = p->pad[2],
      .dz = p->dilation[0],
      .dh = p->dilation[1],
      .dw = p->dilation[2],
      .accumulate = p->accumulate,
      .has_bias = p->has_bias,
      .activation = p->activation,
      .slope = slope,
  };
}

static cl_int set_block(cl_kernel kernel, const conv_args *args, bool wide) {
  if (wide) return clSetKernelArg(kernel, 0, sizeof *args, args);
  int64_t words[CONV_ARGS_WORDS];
  int32_t narrow[CONV_ARGS_WORDS];
  memcpy(words, args, sizeof words);
  for (size_t i = 0; i < CONV_ARGS_WORDS; i++) narrow[i] = (int32_t)words[i];
  return clSetKernelArg(kernel, 0, sizeof narrow, narrow);
}

/* A kernel never reads an absent array, but not every driver takes NULL: it gets `out`. */
static cl_int set_array(cl_kernel kernel, cl_uint index, span array, span out) {
  cl_mem memory = array.memory ? array.memory : out.memory;
  return clSetKernelArg(kernel, index, sizeof memory, &memory);
}

static cl_int set_arguments(cl_kernel kernel, const conv_args *args, bool wide,
                            const bindings *arrays) {
  cl_int code = set_block(kernel, args, wide);
  if (code == CL_SUCCESS) code = set_array(kernel, 1, arrays->a, arrays->out);
  if (code == CL_SUCCESS) code = set_array(kernel, 2, arrays->b, arrays->out);
  if (code == CL_SUCCESS) code = set_array(kernel, 3, arrays->bias, arrays->out);
  if (code == CL_SUCCESS) code = set_array(kernel, 4, arrays->out, arrays->out);
  return code;
}

convoy_status launch_kernel(cvy_device *device, const launch *what, conv_args args,
                            const bindings *arrays) {
  cl_kernel kernel;
  const convoy_status status =
      program_kernel(device, what->source, what->options, what->kernel, &kernel);
  if (status) return status;
  args.a_at = arrays->a.at / CONV_ALIGN;
  args.b_at = arrays->b.at / CONV_ALIGN;
  args.bias_at = arrays->bias.at / CONV_ALIGN;
  args.out_at = arrays->out.at / CONV_ALIGN;
  cl_int code = set_arguments(kernel, &args, what->wide, arrays);
  const size_t local = (size_t)what->items, global = (size_t)what->work_groups * local;
  if (code == CL_SUCCESS)
    code = clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
  return code == CL_SUCCESS ? CONVOY_OK : cl_fail(code, what->kernel);
}

convoy_status launch_elements(cvy_device *device, const launch *what, const conv_args *args,
                              const bindings *arrays) {
  launch sized = *what;
  sized.items = cvy_ocl_group_items(&device->facts);
  sized.work_groups = cvy_ceil_div(args->items, sized.items);
  return launch_kernel(device, &sized, *args, arrays);
}
