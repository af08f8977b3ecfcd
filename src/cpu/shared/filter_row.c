/* The inside of a row takes one pass over all taps, its edges one tap after another. */
#include "cpu/shared/filter_row.h"

static cvy_range outputs_of_tap(const cvy_filter_row *row, int64_t tap) {
  return cvy_outputs_inside(row->in, row->out, row->stride, row->offset + tap * row->step);
}

/* Offsets grow or fall with the tap, so the first and the last one bound all others. */
cvy_filter_row cvy_filter_row_make(int64_t in, int64_t out, int64_t stride, int64_t offset,
                                   int64_t step, int64_t taps) {
  cvy_filter_row row = {in, out, stride, offset, step, taps, {0, 0}};
  cvy_range first = outputs_of_tap(&row, 0), last = outputs_of_tap(&row, taps - 1);
  int64_t begin = cvy_max(first.begin, last.begin);
  row.inner = (cvy_range){begin, cvy_max(begin, cvy_min(first.end, last.end))};
  return row;
}

static void add_part(const cvy_simd *simd, const cvy_filter_row *row, float *y, const float *x,
                     float w, int64_t offset, cvy_range part) {
  if (part.begin >= part.end) return;
  simd->axpy(y + part.begin, 1, x + part.begin * row->stride + offset, row->stride, w,
             cvy_range_length(part));
}

void cvy_filter_row_add(const cvy_simd *simd, const cvy_filter_row *row, float *y, const float *x,
                        const float *w) {
  cvy_range inner = row->inner;
  if (row->stride != 1) inner = (cvy_range){row->out, row->out};
  if (inner.begin < inner.end) {
    simd->correlate(y + inner.begin, x + inner.begin + row->offset, w, row->taps, row->step,
                    cvy_range_length(inner));
  }
  for (int64_t t = 0; t < row->taps; t++) {
    cvy_range outputs = outputs_of_tap(row, t);
    int64_t offset = row->offset + t * row->step;
    add_part(simd, row, y, x, w[t], offset,
             (cvy_range){outputs.begin, cvy_min(outputs.end, inner.begin)});
    add_part(simd, row, y, x, w[t], offset,
             (cvy_range){cvy_max(outputs.begin, inner.end), outputs.end});
  }
}
