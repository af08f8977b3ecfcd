/* The kernels that come before and after tiled products. */
#ifndef CVY_OCL_ENGINE_PACK_AND_REDUCE_H
#define CVY_OCL_ENGINE_PACK_AND_REDUCE_H

#include "ocl/engine/conv_launch.h"

/* Launches a kernel of cl/pack_and_reduce.cl with at least `items` items. */
convoy_status launch_pack_or_reduce(cvy_device *device, const cvy_problem *problem,
                                    const char *kernel, const conv_args *args, int64_t items,
                                    const bindings *arrays);

#endif
