/* Which outputs of an axis see a real input at one tap: hoists all tests for padding out of
 * loops. */
#ifndef CVY_CPU_SHARED_RANGE_H
#define CVY_CPU_SHARED_RANGE_H

#include "cpu/shared/sizes.h"

typedef struct cvy_span {
  int64_t begin, end; /* begin <= end */
} cvy_span;

/* The o in [0, out) with 0 <= o stride + offset < in. */
static inline cvy_span cvy_span_of(int64_t in, int64_t out, int64_t stride, int64_t offset) {
  int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  int64_t end = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  begin = cvy_least(begin, out);
  return (cvy_span){begin, cvy_most(begin, cvy_least(end, out))};
}

#endif
