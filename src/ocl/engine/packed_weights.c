/* Weights are packed at their first use, and kept as a prepacked operand. */
#include "ocl/engine/packed_weights.h"

#include "ocl/engine/device.h"
#include "ocl/engine/pack_and_reduce.h"
#include "ocl/engine/prepacked.h"
#include "ocl/implicit_gemm.h"
#include "problem/conv/conv.h"

/* Of a work-group's square of rows, and of terms and taps: as SQUARE of cl/pack_and_reduce.cl. */
enum { SQUARE = 32 };

static convoy_status pack(cvy_device *device, const cvy_problem *problem, const conv_args *args,
                          span weights, span packed) {
  bindings arrays = {.a = weights, .out = packed};
  conv_args sized = *args;
  int64_t items = sized.items = args->items / 4;
  if (problem->operation == CONVOY_FORWARD) {
    sized.row_tiles = cvy_ocl_ceil_div(args->rows_up, SQUARE);
    sized.column_tiles = cvy_ocl_ceil_div(args->depth_up * cvy_filter_volume(problem), SQUARE);
    items = sized.row_tiles * sized.column_tiles * problem->conv.groups *
            cvy_ocl_group_items(&device->facts);
  }
  return launch_pack_or_reduce(device, problem, "pack_weights", &sized, items, &arrays);
}

convoy_status packed_weights(cvy_device *device, const cvy_job *job, const conv_args *args,
                             int64_t block_channels, const bindings *arrays, span *out) {
  const cvy_problem *problem = &job->problem;
  int64_t taps = cvy_filter_volume(problem);
  /* All algorithms that pack weights pack them alike, so they share what one of them has packed. */
  prepacked_form form = {&cvy_ocl_implicit_gemm,
                         {problem->operation, problem->conv.groups, args->rows, args->depth, taps,
                          args->rows_up, args->depth_up, block_channels}};
  conv_args sized = *args;
  sized.items = problem->conv.groups * taps * args->depth_up * args->rows_up;
  sized.block_channels = block_channels;
  bool fresh;
  convoy_status status = prepacked_find(device, job->in[1].id, &form,
                                        sized.items * (int64_t)sizeof(float), out, &fresh);
  return status || !fresh ? status : pack(device, problem, &sized, arrays->b, *out);
}
