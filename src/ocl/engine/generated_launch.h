/* Launches of generated kernels (ocl/program_kernel.h, ocl/reduce_kernel.h). */
#ifndef CVY_OCL_ENGINE_GENERATED_LAUNCH_H
#define CVY_OCL_ENGINE_GENERATED_LAUNCH_H

#include "ocl/engine/launch.h"
#include "ocl/kernel_block.h"

/* Where the arrays of a job begin, as generators ask for it: inputs, results, partial results. */
void generated_offsets(const cvy_problem *problem, const job_arrays *given, int64_t *offsets);

/* The arrays of a job as a generated kernel's arguments: inputs, partial results if there are any,
 * results. */
typedef struct generated_arrays {
  int32_t results; /* the first of them */
  int32_t count;
  launch_array array[LAUNCH_ARRAYS];
} generated_arrays;
void generated_arrays_of(const cvy_problem *problem, const job_arrays *given,
                         const cvy_kernel_block *block, int64_t partial, generated_arrays *out);

/* Enqueues a kernel that is given arrays `first` to `end` - 1 of these. */
convoy_status generated_launch(cvy_device *device, const launch *what,
                               const cvy_kernel_block *block, const generated_arrays *arrays,
                               int32_t first, int32_t end);

/* What a problem takes in the operations that launch.work counts: such kernels wait for memory. */
double generated_work(const cvy_problem *problem);

#endif
