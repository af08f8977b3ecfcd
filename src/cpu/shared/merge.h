/* The same problem with fewer axes. Where the filter does not move along the last axis, that axis
 * and the one before it are one long row: a 1x1 convolution becomes one row per channel, a 129x1
 * filter a dilated 1-D one, an array of width 1 an array of its height. So rows get long enough to
 * vectorise. */
#ifndef CVY_CPU_SHARED_MERGE_H
#define CVY_CPU_SHARED_MERGE_H

#include "problem/conv/conv.h"

cvy_problem cvy_merged(const cvy_problem *problem);
/* Does the same, but an axis along which the filter moves stays an axis. The one after it, along
 * which it does not, can then be cut without any overlap. */
cvy_problem cvy_merged_still(const cvy_problem *problem);

#endif
