/* A part of a convolution as a convolution of its own: some neighbouring outputs along one axis,
 * and the input that they see. */
#ifndef CVY_CPU_SHARED_BLOCK_H
#define CVY_CPU_SHARED_BLOCK_H

#include "cpu/shared/blocks.h"

/* Outputs [first, first + count) of an axis, fewer at the end, of a forward geometry. *skip gets
 * where its input begins in a channel. */
cvy_problem cvy_block_of(const cvy_problem *problem, int axis, int64_t first, int64_t count,
                         int64_t *skip);

#endif
