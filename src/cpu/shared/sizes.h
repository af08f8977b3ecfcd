/* Arithmetic on sizes, for plans that cut arrays into blocks. */
#ifndef CVY_CPU_SHARED_SIZES_H
#define CVY_CPU_SHARED_SIZES_H

#include <stdint.h>

#include "cpu/isa/cache.h"

static inline int64_t cvy_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t cvy_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Padding and dilation are not bound by the size of any array, so products of them may overflow.
 * One that is too large becomes one that no limit of the workspace allows. */
static inline int64_t cvy_saturating_mul(int64_t a, int64_t b) {
  int64_t most = INT64_MAX / 8, product;
  return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}

/* a / b, rounded up. */
static inline int64_t cvy_div_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* The least multiple of `unit` that is not below `value`. */
static inline int64_t cvy_align_up(int64_t value, int64_t unit) {
  return cvy_div_up(value, unit) * unit;
}

/* An odd number of lines of cache, in floats, so that rows as far apart do not meet in one set of
 * the cache. */
static inline int64_t cvy_odd_lines(int64_t floats) {
  return (cvy_div_up(floats, CVY_LINE_FLOATS) | 1) * CVY_LINE_FLOATS;
}

#endif
