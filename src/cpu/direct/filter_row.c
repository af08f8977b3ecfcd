/* The inside of a row in one pass over all taps, its edges tap by tap. */
#include "cpu/direct/filter_row.h"

static cvy_range tap_span(const cvy_filter_row *line, int64_t tap) {
  return cvy_outputs_inside(line->in, line->out, line->stride, line->offset + tap * line->step);
}

/* Offsets grow or fall with the tap, so the first and the last one bound all others. */
cvy_filter_row cvy_filter_row_make(int64_t in, int64_t out, int64_t stride, int64_t offset,
                                   int64_t step, int64_t taps) {
  cvy_filter_row line = {in, out, stride, offset, step, taps, {0, 0}};
  cvy_range first = tap_span(&line, 0), last = tap_span(&line, taps - 1);
  int64_t begin = cvy_max(first.begin, last.begin);
  line.inner = (cvy_range){begin, cvy_max(begin, cvy_min(first.end, last.end))};
  return line;
}

static void add_part(const cvy_simd *simd, const cvy_filter_row *line, float *y, const float *x,
                     float w, int64_t offset, cvy_range part) {
  if (part.begin >= part.end) return;
  simd->axpy(y + part.begin, 1, x + part.begin * line->stride + offset, line->stride, w,
             part.end - part.begin);
}

void cvy_filter_row_add(const cvy_simd *simd, const cvy_filter_row *line, float *y, const float *x,
                        const float *w) {
  cvy_range inner = line->inner;
  if (line->stride != 1) inner = (cvy_range){line->out, line->out};
  if (inner.begin < inner.end) {
    simd->correlate(y + inner.begin, x + inner.begin + line->offset, w, line->taps, line->step,
                    inner.end - inner.begin);
  }
  for (int64_t t = 0; t < line->taps; t++) {
    cvy_range span = tap_span(line, t);
    int64_t offset = line->offset + t * line->step;
    add_part(simd, line, y, x, w[t], offset,
             (cvy_range){span.begin, cvy_min(span.end, inner.begin)});
    add_part(simd, line, y, x, w[t], offset, (cvy_range){cvy_max(span.begin, inner.end), span.end});
  }
}
