/* One row against one row of a filter, where what lies outside a row counts as 0. */
#ifndef CVY_CPU_SHARED_FILTER_ROW_H
#define CVY_CPU_SHARED_FILTER_ROW_H

#include "cpu/isa/simd.h"
#include "cpu/shared/range.h"
#include "problem/conv/conv.h"

/* y[i] += sum over t of w[t] x[i stride + offset + t step] */
typedef struct cvy_filter_row {
  int64_t in, out; /* lengths of x and y */
  int64_t stride, offset, step, taps;
  cvy_range inner; /* outputs for which every tap is inside; cvy_filter_row_make sets it */
} cvy_filter_row;

cvy_filter_row cvy_filter_row_make(int64_t in, int64_t out, int64_t stride, int64_t offset,
                                   int64_t step, int64_t taps);
void cvy_filter_row_add(const cvy_simd *simd, const cvy_filter_row *row, float *y, const float *x,
                        const float *w);

/* The other way round: adds each element of a row of dy, times each tap of the filter row, to the
 * element of a row of dx that it reads. It is inlined because rows may be short: a call for each
 * took a seventh more instructions for 1x1 filters on 14 outputs. */
static inline void cvy_filter_row_scatter(const cvy_simd *simd, const cvy_problem *p, float *dx,
                                          const float *dy, const float *w) {
  int64_t stride = p->conv.stride[2];
  for (int64_t s = 0; s < p->conv.filter[2]; s++) {
    int64_t offset = s * p->conv.dilation[2] - p->conv.pad[2];
    cvy_range outputs = cvy_outputs_inside(p->conv.in[2], p->conv.out[2], stride, offset);
    if (outputs.begin < outputs.end) {
      simd->axpy(dx + outputs.begin * stride + offset, stride, dy + outputs.begin, 1, w[s],
                 cvy_range_length(outputs));
    }
  }
}

#endif
