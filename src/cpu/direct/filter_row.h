/* One row against one filter row: y[i] += sum over t of w[t] x[i stride + offset + t step], where x
 * outside its row counts as 0. */
#ifndef CVY_CPU_DIRECT_FILTER_ROW_H
#define CVY_CPU_DIRECT_FILTER_ROW_H

#include "cpu/isa/simd.h"
#include "cpu/shared/range.h"

typedef struct cvy_filter_row {
  int64_t in, out; /* lengths of x and y */
  int64_t stride, offset, step, taps;
  cvy_range inner; /* outputs for which every tap is inside; set by cvy_filter_row_make */
} cvy_filter_row;

cvy_filter_row cvy_filter_row_make(int64_t in, int64_t out, int64_t stride, int64_t offset,
                                   int64_t step, int64_t taps);
void cvy_filter_row_add(const cvy_simd *simd, const cvy_filter_row *line, float *y, const float *x,
                        const float *w);

#endif
