/* What cpu.depthwise knows before it starts: where each tap reads, and what each strip holds. */
#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/range.h"
#include "problem/conv/conv.h"

/* ------------------------------------------------------------------------------------- taps */

/* Place of a tap in a strip, whose last axis is in parts. */
static int64_t place_of(const cvy_cpu_depthwise_plan *plan, int64_t z, int64_t h, int64_t w) {
  int64_t step = plan->axis[2].step, row = z * plan->strip.plane + h * plan->strip.row;
  return row + w % step * plan->strip.part + w / step;
}

/* Tap number `n` of `count` in the order in which they read. */
static int64_t in_order(const cvy_cpu_depthwise_plan *plan, int64_t n, int64_t count) {
  return plan->p.operation == CONVOY_BACKWARD_DATA ? count - 1 - n : n;
}

/* Lists the taps at one place of the two leading axes, of all filters that are summed. */
static int64_t list_row(cvy_cpu_depthwise_run *d, int64_t count, const int64_t *at,
                        const int64_t *offset, int64_t phase) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const int64_t *f = plan->p.conv.filter;
  for (int64_t i = 0; i < plan->inputs; i++) {
    for (int64_t n = 0; n < f[2]; n++) {
      int64_t s = in_order(plan, n, f[2]);
      int64_t place = cvy_cpu_depthwise_offset(plan, 2, phase, s);
      if (place < 0) continue;
      d->order[count] = ((i * f[0] + at[0]) * f[1] + at[1]) * f[2] + s;
      d->shift[count++] =
          plan->width * (i * plan->strip.image + place_of(plan, offset[0], offset[1], place));
    }
  }
  return count;
}

/* Lists them sorted by where they read: depth, row, source channel, place in the row. */
static int64_t list_phase(cvy_cpu_depthwise_run *d, int64_t count, const int64_t *phase) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const int64_t *f = plan->p.conv.filter;
  for (int64_t n = 0; n < f[0] * f[1]; n++) {
    int64_t number = in_order(plan, n, f[0] * f[1]);
    int64_t at[2] = {number / f[1], number % f[1]};
    int64_t offset[2] = {cvy_cpu_depthwise_offset(plan, 0, phase[0], at[0]),
                         cvy_cpu_depthwise_offset(plan, 1, phase[1], at[1])};
    if (offset[0] >= 0 && offset[1] >= 0) count = list_row(d, count, at, offset, phase[2]);
  }
  return count;
}

/* ------------------------------------------------------------------------------------ parts */

/* Which of some sums of an axis are results of a phase. */
static cvy_range results_of(const cvy_cpu_depthwise_axis *axis, int64_t phase, cvy_range sums) {
  int64_t before = cvy_max(axis->pad - phase, 0) + axis->phases - 1;
  int64_t begin = cvy_max(sums.begin, before / axis->phases);
  int64_t end = (axis->result + axis->pad - phase + axis->phases - 1) / axis->phases;
  return (cvy_range){begin, cvy_max(begin, cvy_min(sums.end, end))};
}

/* The taps of a phase, numbered as they read, that meet the source in any of the sums. *all gets
 * the number of all its taps. */
static cvy_range taps_of(const cvy_cpu_depthwise_plan *plan, int axis, int64_t phase,
                         cvy_range sums, int64_t *all) {
  const cvy_cpu_depthwise_axis *a = &plan->axis[axis];
  int64_t filter = plan->p.conv.filter[axis], count = 0;
  cvy_range met = {0, 0};
  for (int64_t n = 0; n < filter; n++) {
    int64_t offset = cvy_cpu_depthwise_offset(plan, axis, phase, in_order(plan, n, filter));
    if (offset < 0) continue;
    if ((sums.end - 1) * a->step + offset < a->left) met.begin = count + 1;
    if (sums.begin * a->step + offset < a->left + a->source) met.end = count + 1;
    count++;
  }
  met.end = cvy_max(met.begin, met.end);
  *all = count;
  return met;
}

/* Chooses the taps that a part walks: all of a contiguous range of depths, or of rows. */
static void choose_taps(const cvy_cpu_depthwise_plan *plan, const int64_t *phase, cvy_range depth,
                        cvy_range rows, cvy_cpu_depthwise_part *part) {
  int64_t all[3];
  cvy_range t = taps_of(plan, 0, phase[0], depth, &all[0]);
  cvy_range r = taps_of(plan, 1, phase[1], rows, &all[1]);
  taps_of(plan, 2, phase[2], (cvy_range){0, 1}, &all[2]);
  int64_t across = plan->inputs * all[2];
  if (plan->p.conv.filter[0] > 1) {
    part->across = across * all[1] * cvy_range_length(t);
    part->down = 1;
    part->taps += across * all[1] * t.begin;
  } else {
    part->across = across;
    part->down = t.begin < t.end ? cvy_range_length(r) : 0;
    part->taps += across * r.begin;
  }
}

/* Place of a result among the interleaved ones, which lie phase by phase. */
static int64_t interleaved_place(const cvy_cpu_depthwise_plan *plan, int64_t oh, int64_t ow) {
  const cvy_cpu_depthwise_axis *h = &plan->axis[1], *w = &plan->axis[2];
  int64_t phase = (oh + h->pad) % h->phases * w->phases + (ow + w->pad) % w->phases;
  return phase * plan->results.phase + (oh + h->pad) / h->phases * plan->results.row +
         (ow + w->pad) / w->phases;
}

static cvy_cpu_depthwise_part part_of(const cvy_cpu_depthwise_plan *plan, int64_t strip,
                                      const int64_t *phase, int64_t taps) {
  const cvy_cpu_depthwise_axis *axis = plan->axis;
  int64_t z = strip / plan->strip.per_plane;
  int64_t top = strip % plan->strip.per_plane * plan->strip.height;
  cvy_range sums = {top, cvy_min(top + plan->strip.height, axis[1].sums)};
  cvy_range depth = results_of(&axis[0], phase[0], (cvy_range){z, z + 1});
  cvy_range rows = results_of(&axis[1], phase[1], sums);
  cvy_range columns = results_of(&axis[2], phase[2], (cvy_range){0, axis[2].sums});
  cvy_cpu_depthwise_part part = {.taps = taps,
                                 .rows = depth.begin < depth.end ? cvy_range_length(rows) : 0,
                                 .length = cvy_range_length(columns),
                                 .to_row = axis[1].phases * axis[2].result};
  if (part.rows == 0) return part;
  choose_taps(plan, phase, depth, rows, &part);
  int64_t oz = z * axis[0].phases + phase[0] - axis[0].pad;
  int64_t oh = rows.begin * axis[1].phases + phase[1] - axis[1].pad;
  int64_t ow = columns.begin * axis[2].phases + phase[2] - axis[2].pad;
  part.x = (rows.begin - top) * axis[1].step * plan->strip.row + columns.begin;
  part.to = (oz * axis[1].result + oh) * axis[2].result + ow;
  if (plan->mode != CVY_DEPTHWISE_INTERLEAVED) return part;
  part.to = interleaved_place(plan, oh, ow);
  part.to_row = plan->results.row;
  return part;
}

static void list_interleaved(cvy_cpu_depthwise_run *d) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_depthwise_axis *h = &plan->axis[1], *w = &plan->axis[2];
  for (int64_t i = 0; i < h->source * w->source; i++) {
    int64_t place = place_of(plan, 0, h->left + i / w->source, w->left + i % w->source);
    d->x_place[i] = (int32_t)(plan->width * place);
  }
  for (int64_t i = 0; i < h->result * w->result; i++) {
    int64_t place = interleaved_place(plan, i / w->result, i % w->result);
    d->y_place[i] = (int32_t)(plan->width * place);
  }
}

cvy_stencil cvy_cpu_depthwise_stencil(const cvy_cpu_depthwise_run *d,
                                      const cvy_cpu_depthwise_part *part, const float *x) {
  const int64_t *shift = d->shift + part->taps;
  int64_t width = d->plan.width;
  return (cvy_stencil){.x = x + part->x * width,
                       .shift = shift,
                       .across = part->across,
                       .down = part->down,
                       .x_step = d->plan.axis[1].step * d->plan.strip.row * width,
                       .tap_step = part->down > 1 ? shift[part->across] - shift[0] : 0,
                       .rows = part->rows,
                       .length = part->length * width,
                       .loose = d->plan.results.aside || part->to_row == part->length,
                       .interleaved = width > 1};
}

void cvy_cpu_depthwise_list(cvy_cpu_depthwise_run *d) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_depthwise_axis *axis = plan->axis;
  int64_t taps = cvy_filter_volume(&plan->p) * plan->inputs, count = 0;
  d->shift = d->call->workspace;
  d->order = d->shift + taps;
  d->parts = (cvy_cpu_depthwise_part *)(d->order + taps);
  d->x_place = (int32_t *)(d->parts + plan->strip.count * plan->phases);
  d->y_place = d->x_place + axis[1].source * axis[2].source;
  d->slots = (float *)((char *)d->call->workspace + plan->index_bytes);
  for (int64_t i = 0; i < plan->phases; i++) {
    int64_t phase[3] = {i / axis[2].phases / axis[1].phases, i / axis[2].phases % axis[1].phases,
                        i % axis[2].phases};
    for (int64_t s = 0; s < plan->strip.count; s++)
      d->parts[s * plan->phases + i] = part_of(plan, s, phase, count);
    count = list_phase(d, count, phase);
  }
  if (plan->mode == CVY_DEPTHWISE_INTERLEAVED) list_interleaved(d);
}
