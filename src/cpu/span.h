/* Which outputs of an axis see a real input at one tap: hoists all tests for padding out of loops. */
#ifndef CVY_CPU_SPAN_H
#define CVY_CPU_SPAN_H

#include <stdint.h>

typedef struct cvy_span {
  int64_t begin, end; /* begin <= end */
} cvy_span;

static inline int64_t cvy_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t cvy_most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Padding and dilation are not bound by the size of any array: a product too large becomes one that
 * no workspace limit allows. */
static inline int64_t cvy_times(int64_t a, int64_t b) {
  const int64_t most = INT64_MAX / 8;
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}

/* The o in [0, out) with 0 <= o stride + offset < in. */
static inline cvy_span cvy_span_of(int64_t in, int64_t out, int64_t stride, int64_t offset) {
  int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  int64_t end = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  begin = cvy_least(begin, out);
  return (cvy_span){begin, cvy_most(begin, cvy_least(end, out))};
}

#endif
