/* From a problem of convolution to a kernel in the queue. */
#ifndef CVY_OCL_ENGINE_CONV_LAUNCH_H
#define CVY_OCL_ENGINE_CONV_LAUNCH_H

#include "cl/conv_args.h"
#include "ocl/engine/launch.h"
#include "ocl/plan.h"

/* The four arrays every kernel of a convolution takes; an absent one has memory NULL. */
typedef struct bindings {
  span a, b, bias, out;
} bindings;

static inline bindings bindings_of(const job_arrays *arrays) {
  return (bindings){arrays->in[0], arrays->in[1], arrays->in[2], arrays->out[0]};
}

/* The argument block of a problem; this launch's own fields are zero. */
conv_args args_of(const cvy_problem *problem);
/* The same with the extents and slices of a tiled product. */
conv_args args_of_product(const cvy_problem *problem, const cvy_ocl_product *product);

/* Enqueues one kernel; the four offsets and first_group of `args` are filled in at launch. */
convoy_status launch_conv(cvy_device *device, const launch *what, const conv_args *args,
                          const bindings *arrays);
/* The same for kernels of one item per element: args->items of them. */
convoy_status launch_elements(cvy_device *device, const launch *what, const conv_args *args,
                              const bindings *arrays);

#endif
