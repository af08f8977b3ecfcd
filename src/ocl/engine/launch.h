/* From a problem to a kernel in the queue. */
#ifndef CVY_OCL_ENGINE_LAUNCH_H
#define CVY_OCL_ENGINE_LAUNCH_H

#include "cl/conv_args.h"
#include "ocl/engine/bindings.h"
#include "ocl/engine/program.h"
#include "ocl/plan.h"

/* The argument block of a problem; this launch's own fields are zero. */
conv_args args_of(const cvy_problem *problem);
/* The same with the extents and slices of a tiled product. */
conv_args args_of_product(const cvy_problem *problem, const cvy_ocl_product *product);

typedef struct launch {
  const program_source *source;
  const char *options;
  const char *kernel;
  bool wide; /* compiled with WIDE=1 */
  int64_t work_groups, items;
  double work; /* floating-point operations of the whole launch, or what takes as long */
} launch;

/* Enqueues one kernel; the four offsets and first_group of `args` are filled in here. A launch that
 * would take long on this device becomes several: nothing can stop a kernel, and a desktop on the
 * same card stands still meanwhile. */
convoy_status launch_kernel(cvy_device *device, const launch *what, conv_args args,
                            const bindings *arrays);
/* Enqueues a kernel that was found already. */
convoy_status launch_found(cvy_device *device, const launch *what, program_kernel *kernel,
                           conv_args args, const bindings *arrays);
/* launch_kernel for kernels of one item per element: args->items of them. */
convoy_status launch_elements(cvy_device *device, const launch *what, const conv_args *args,
                              const bindings *arrays);

#endif
