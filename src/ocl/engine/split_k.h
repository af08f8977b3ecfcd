/* Split-K: a product whose long sums are cut into slices, and the sum of these. */
#ifndef CVY_OCL_ENGINE_SPLIT_K_H
#define CVY_OCL_ENGINE_SPLIT_K_H

#include "ocl/engine/conv_launch.h"

/* A product of args->slices slices. A single one writes the result. Of several each writes its part
 * of `scratch`, and these are then added, so that what happens to finished sums happens once. */
convoy_status launch_split_k(cvy_device *device, const cvy_problem *problem, const launch *what,
                             const conv_args *args, const bindings *arrays, span scratch);

/* out = the sum of the slices, a[slice][element], of args->items elements each: these are images of
 * args->rows channels of args->depth, args->out_pitch apart in out. */
convoy_status launch_sum_of_slices(cvy_device *device, const cvy_problem *problem, conv_args *args,
                                   const bindings *arrays);

/* A product without stride whose results go to the positions that dy has, for backward_data with a
 * 1x1 filter; zeros go between them. All its slices, a single one too, are partial results. */
convoy_status launch_scattered(cvy_device *device, const cvy_problem *problem, const launch *what,
                               const conv_args *args, const bindings *arrays, span scratch);

#endif
