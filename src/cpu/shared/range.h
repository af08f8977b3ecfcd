/* Ranges of indices, and which outputs of an axis see a real input at one tap. With that known, no
 * loop over outputs has to test for padding. */
#ifndef CVY_CPU_SHARED_RANGE_H
#define CVY_CPU_SHARED_RANGE_H

#include "cpu/shared/sizes.h"

typedef struct cvy_range {
  int64_t begin, end; /* begin <= end */
} cvy_range;

static inline int64_t cvy_range_length(cvy_range range) {
  return range.end - range.begin;
}

/* The outputs o in [0, out) with 0 <= o stride + offset < in. */
static inline cvy_range cvy_outputs_inside(int64_t in, int64_t out, int64_t stride,
                                           int64_t offset) {
  int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  int64_t end = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  begin = cvy_min(begin, out);
  return (cvy_range){begin, cvy_max(begin, cvy_min(end, out))};
}

#endif
