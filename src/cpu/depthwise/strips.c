/* Moving rows of the source into strips, in time. */
#include <string.h>

#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/range.h"

#define TILE 8 /* vectors of results that stencils make between two requests */

/* ---------------------------------------------------------------------------------- in time */

cvy_prefetch cvy_cpu_depthwise_prefetch(const float *from, int64_t floats, int64_t vectors,
                                        bool write) {
  int64_t step = cvy_div_up(floats * TILE, cvy_max(vectors, TILE));
  return (cvy_prefetch){from, from + floats, cvy_align_up(step, CVY_LINE_FLOATS), write};
}

int64_t cvy_cpu_depthwise_vectors(const cvy_cpu_depthwise_run *d) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t width = plan->width > 1 ? 1 : d->call->simd->microkernel.width;
  return plan->phases * plan->strip.height * cvy_div_up(plan->axis[2].sums, width);
}

/* The last row of a strip, in the plane that the next strip begins in. */
static const float *end_of(const cvy_cpu_depthwise_run *d, int64_t strip, const float *source) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_depthwise_axis *h = &plan->axis[1];
  int64_t first = strip % plan->strip.per_plane * plan->strip.height;
  int64_t sums = cvy_min(plan->strip.height, h->sums - first);
  return source + ((first + sums - 1) * h->step + h->reach - h->left) * plan->axis[2].source;
}

cvy_prefetch cvy_cpu_depthwise_prefetch_next(const cvy_cpu_depthwise_run *d, int64_t strip,
                                             const float *source) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  bool plane = plan->axis[0].sums == 1 && plan->axis[0].reach == 1 && plan->inputs == 1;
  int64_t rows = plane ? plan->strip.height * plan->axis[1].step : 0;
  return cvy_cpu_depthwise_prefetch(end_of(d, strip, source), rows * plan->axis[2].source,
                                    cvy_cpu_depthwise_vectors(d) * plan->outputs, false);
}

/* ------------------------------------------------------------------------------------- rows */

static void zero_rows(const cvy_cpu_depthwise_plan *plan, float *to, int64_t begin, int64_t end) {
  int64_t row = plan->strip.row;
  if (begin < end) memset(to + begin * row, 0, (size_t)((end - begin) * row) * sizeof *to);
}

/* Copies rows of the source, each to the parts that any tap reads. */
static void fill_rows(const cvy_cpu_depthwise_run *d, const cvy_copy_rows *rows) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_simd *simd = d->call->simd;
  int64_t left = plan->axis[2].left, step = plan->axis[2].step, part = plan->strip.part;
  if (step == 1) {
    cvy_copy_rows whole = *rows;
    whole.to += left;
    simd->pad_rows(&whole);
    return;
  }
  if (step == 2 && plan->strip.split == 2) {
    cvy_copy_rows even = *rows;
    even.to += left % 2 * part + left / 2;
    int64_t odd = (left % 2 ? -part : part) + left % 2;
    simd->split_rows(&even, odd);
    return;
  }
  for (int64_t i = 0; i < plan->strip.split; i++) {
    int64_t first = ((i - left) % step + step) % step;
    cvy_copy_rows some = *rows;
    some.from += first;
    some.to += i * part + (first + left) / step;
    some.length = (rows->length - first + step - 1) / step;
    simd->gather_rows(&some, step);
  }
}

/* Fills the rows of one plane from place `top` on. Elements behind the last place that any tap
 * reads have no place. */
static void fill_plane(const cvy_cpu_depthwise_run *d, int64_t top, int64_t rows,
                       const float *plane, float *to) {
  const cvy_cpu_depthwise_axis *h = &d->plan.axis[1], *w = &d->plan.axis[2];
  int64_t begin = cvy_min(cvy_max(h->left - top, 0), rows);
  int64_t end = cvy_max(begin, cvy_min(h->left + h->source - top, rows));
  zero_rows(&d->plan, to, 0, begin);
  zero_rows(&d->plan, to, end, rows);
  int64_t last = (w->sums - 1) * w->step + w->reach - w->left;
  fill_rows(d, &(cvy_copy_rows){.to = to + begin * d->plan.strip.row,
                                .from = plane + (top + begin - h->left) * w->source,
                                .to_pitch = d->plan.strip.row,
                                .from_pitch = w->source,
                                .rows = end - begin,
                                .length = cvy_max(cvy_min(last, w->source), 0)});
}

const float *cvy_cpu_depthwise_strip(const cvy_cpu_depthwise_run *d, int64_t strip,
                                     const float *source, float *to) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_depthwise_axis *z = &plan->axis[0], *h = &plan->axis[1];
  int64_t deep = strip / plan->strip.per_plane * z->step;
  int64_t first = strip % plan->strip.per_plane * plan->strip.height, top = first * h->step;
  int64_t plane = h->source * plan->axis[2].source;
  if (plan->mode == CVY_DEPTHWISE_AS_IT_LIES)
    return source + deep * plan->strip.plane + top * plan->strip.row;
  int64_t rows = (cvy_min(plan->strip.height, h->sums - first) - 1) * h->step + h->reach;
  for (int64_t i = 0; i < plan->inputs; i++, source += z->source * plane) {
    for (int64_t t = 0; t < z->reach; t++) {
      int64_t at = deep + t - z->left;
      if (at < 0 || at >= z->source) continue;
      fill_plane(d, top, rows, source + at * plane,
                 to + i * plan->strip.image + t * plan->strip.plane);
    }
  }
  return to;
}
