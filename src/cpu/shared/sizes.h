/* Arithmetic on sizes, for plans that cut arrays into blocks. */
#ifndef CVY_CPU_SHARED_SIZES_H
#define CVY_CPU_SHARED_SIZES_H

#include <stdint.h>

#include "cpu/isa/cache.h"

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

static inline int64_t cvy_round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* How many of `part` make `whole`, the last one perhaps smaller. */
static inline int64_t cvy_parts_of(int64_t whole, int64_t part) {
  return (whole + part - 1) / part;
}

/* An odd number of lines, so that rows as far apart do not meet in one set of the cache. */
static inline int64_t cvy_odd_lines(int64_t floats) {
  return (cvy_parts_of(floats, CVY_LINE_FLOATS) | 1) * CVY_LINE_FLOATS;
}

#endif
