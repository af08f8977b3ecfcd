/* Weights as the tiled products read them. */
#ifndef CVY_OCL_ENGINE_PACKED_WEIGHTS_H
#define CVY_OCL_ENGINE_PACKED_WEIGHTS_H

#include "ocl/engine/conv_launch.h"

/* The job's weights as a prepacked operand: [group][block of `block_channels`
 * channels][tap][channel of the block][rows_up]. The extents are those in `args`. */
convoy_status packed_weights(cvy_device *device, const cvy_job *job, const conv_args *args,
                             int64_t block_channels, const bindings *arrays, span *out);

#endif
