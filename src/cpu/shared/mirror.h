/* Backward_data as a convolution of dy, for algorithms that have loops for forward only. */
#ifndef CVY_CPU_SHARED_MIRROR_H
#define CVY_CPU_SHARED_MIRROR_H

#include "problem/conv/conv.h"

/* dx is a sum of shifts of dy: place a = (index + pad) / stride of dx reads the places a - tap
 * dilation / stride of dy. Counted from the first place and from the last tap, that is a forward
 * without stride or dilation, from dy to the places of dx that leave one remainder of the stride.
 * Its padding may be negative, where dx has more of it than the filter reaches. */
cvy_problem cvy_mirrored(const cvy_problem *backward_data);

#endif
