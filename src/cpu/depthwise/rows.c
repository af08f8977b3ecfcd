/* Moving rows of cpu.depthwise into strips, and results out of rows made aside. */
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
  return plan->phases * plan->height * cvy_div_up(plan->axis[2].sums, width);
}

/* The last row of this strip, in the plane that the next strip begins in. */
static const float *end_of(const cvy_cpu_depthwise_run *d, int64_t strip, const float *source) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_depthwise_axis *h = &plan->axis[1];
  int64_t first = strip % plan->heights * plan->height;
  int64_t sums = cvy_min(plan->height, h->sums - first);
  return source + ((first + sums - 1) * h->step + h->reach - h->left) * plan->axis[2].source;
}

cvy_prefetch cvy_cpu_depthwise_prefetch_next(const cvy_cpu_depthwise_run *d, int64_t strip,
                                             const float *source) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  bool plane = plan->axis[0].sums == 1 && plan->axis[0].reach == 1 && plan->inputs == 1;
  int64_t floats = plane ? plan->height * plan->axis[1].step * plan->axis[2].source : 0;
  return cvy_cpu_depthwise_prefetch(end_of(d, strip, source), floats,
                                    cvy_cpu_depthwise_vectors(d) * plan->outputs, false);
}

/* ------------------------------------------------------------------------------------- strips */

static void zero_rows(const cvy_cpu_depthwise_plan *plan, float *to, int64_t begin, int64_t end) {
  if (begin < end)
    memset(to + begin * plan->row, 0, (size_t)((end - begin) * plan->row) * sizeof *to);
}

/* Rows of the source, each to the parts that any tap reads. */
static void fill_rows(const cvy_cpu_depthwise_run *d, const cvy_copy_rows *rows) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_simd *simd = d->call->simd;
  int64_t left = plan->axis[2].left, step = plan->axis[2].step;
  if (step == 1) {
    cvy_copy_rows whole = *rows;
    whole.to += left;
    simd->pad_rows(&whole);
    return;
  }
  if (step == 2 && plan->split == 2) {
    cvy_copy_rows even = *rows;
    even.to += left % 2 * plan->part + left / 2;
    int64_t odd = (left % 2 ? -plan->part : plan->part) + left % 2;
    simd->split_rows(&even, odd);
    return;
  }
  for (int64_t i = 0; i < plan->split; i++) {
    int64_t first = ((i - left) % step + step) % step;
    cvy_copy_rows part = *rows;
    part.from += first;
    part.to += i * plan->part + (first + left) / step;
    part.length = (rows->length - first + step - 1) / step;
    simd->gather_rows(&part, step);
  }
}

/* Rows of one slice from place `top` on; elements behind the last place that any tap reads have
 * none. */
static void fill_slice(const cvy_cpu_depthwise_run *d, int64_t top, int64_t rows,
                       const float *slice, float *to) {
  const cvy_cpu_depthwise_axis *h = &d->plan.axis[1], *w = &d->plan.axis[2];
  int64_t begin = cvy_min(cvy_max(h->left - top, 0), rows);
  int64_t end = cvy_max(begin, cvy_min(h->left + h->source - top, rows));
  zero_rows(&d->plan, to, 0, begin);
  zero_rows(&d->plan, to, end, rows);
  int64_t last = (w->sums - 1) * w->step + w->reach - w->left;
  fill_rows(d, &(cvy_copy_rows){.to = to + begin * d->plan.row,
                                .from = slice + (top + begin - h->left) * w->source,
                                .to_pitch = d->plan.row,
                                .from_pitch = w->source,
                                .rows = end - begin,
                                .length = cvy_max(cvy_min(last, w->source), 0)});
}

const float *cvy_cpu_depthwise_strip(const cvy_cpu_depthwise_run *d, int64_t strip,
                                     const float *source, float *to) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_depthwise_axis *z = &plan->axis[0], *h = &plan->axis[1];
  int64_t deep = strip / plan->heights * z->step, first = strip % plan->heights * plan->height;
  int64_t top = first * h->step, plane = h->source * plan->axis[2].source;
  if (plan->flat) return source + deep * plan->slice + top * plan->row;
  int64_t rows = (cvy_min(plan->height, h->sums - first) - 1) * h->step + h->reach;
  for (int64_t i = 0; i < plan->inputs; i++, source += z->source * plane) {
    for (int64_t t = 0; t < z->reach; t++) {
      int64_t at = deep + t - z->left;
      if (at < 0 || at >= z->source) continue;
      fill_slice(d, top, rows, source + at * plane, to + i * plan->image + t * plan->slice);
    }
  }
  return to;
}

/* ------------------------------------------------------------------------------------- out */

/* Both phases of a stride of 2. */
static void join(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *parts,
                 const float *from, float *out) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t even = plan->axis[2].pad % 2, odd = (1 - 2 * even) * plan->height * plan->side_row;
  d->call->simd->join_rows(&(cvy_copy_rows){.to = out + parts[even].to,
                                            .from = from + even * plan->height * plan->side_row,
                                            .to_pitch = parts[even].to_row,
                                            .from_pitch = plan->side_row,
                                            .rows = parts[even].rows,
                                            .length = plan->axis[2].result},
                           odd);
}

static void add_rows(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *part,
                     const float *from, float *out) {
  for (int64_t i = 0; i < part->rows; i++, from += d->plan.side_row) {
    d->call->simd->axpy(out + part->to + i * part->to_row, d->plan.axis[2].phases, from, 1, 1.0f,
                        part->length);
  }
}

void cvy_cpu_depthwise_move(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *parts,
                            const float *from, float *out) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t phases = plan->axis[2].phases;
  if (phases == 2 && !plan->p.accumulate) {
    join(d, parts, from, out);
    return;
  }
  for (int64_t q = 0; q < phases; q++, from += plan->height * plan->side_row) {
    if (plan->p.accumulate)
      add_rows(d, &parts[q], from, out);
    else {
      d->call->simd->scatter_rows(&(cvy_copy_rows){.to = out + parts[q].to,
                                                   .from = from,
                                                   .to_pitch = parts[q].to_row,
                                                   .from_pitch = plan->side_row,
                                                   .rows = parts[q].rows,
                                                   .length = parts[q].length},
                                  phases);
    }
  }
}
