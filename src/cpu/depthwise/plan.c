/* How cpu.depthwise cuts its work, and its memory. */
#include <string.h>

#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/range.h"
#include "cpu/shared/stream.h"

#define STRIP_FLOATS 1024      /* half of the smallest level of cache there is */
#define STRIP_LEAST 8          /* rows of sums: what a tile takes at once */
#define INTERLEAVED_BYTES 5120 /* of a plane that is interleaved, with its results. Measured */

/* ------------------------------------------------------------------------------------- axes */

static cvy_cpu_depthwise_axis axis_of(const cvy_problem *p, int i) {
  int64_t far = (p->filter[i] - 1) * p->dilation[i];
  if (p->direction != CONVOY_BACKWARD_DATA) {
    return (cvy_cpu_depthwise_axis){.source = p->in[i],
                                    .result = p->out[i],
                                    .left = p->pad[i],
                                    .step = p->stride[i],
                                    .phases = 1,
                                    .sums = p->out[i],
                                    .reach = far + 1};
  }
  /* Sums in front of the first result are left out. */
  int64_t last = far / p->stride[i], skip = cvy_min(p->pad[i] / p->stride[i], last);
  int64_t pad = p->pad[i] - skip * p->stride[i];
  return (cvy_cpu_depthwise_axis){.source = p->out[i],
                                  .result = p->in[i],
                                  .left = last - skip,
                                  .step = 1,
                                  .phases = p->stride[i],
                                  .pad = pad,
                                  .sums = (p->in[i] - 1 + pad) / p->stride[i] + 1,
                                  .reach = last + 1};
}

/* backward_data reads dy the other way round. */
int64_t cvy_cpu_depthwise_offset(const cvy_cpu_depthwise_plan *plan, int axis, int64_t phase,
                                 int64_t tap) {
  const cvy_problem *p = &plan->p;
  int64_t far = tap * p->dilation[axis], stride = p->stride[axis];
  if (p->direction != CONVOY_BACKWARD_DATA) return far;
  return far % stride == phase ? plan->axis[axis].reach - 1 - far / stride : -1;
}

static int64_t places(const cvy_cpu_depthwise_axis *axis) {
  return cvy_saturating_mul(axis->sums - 1, axis->step) + axis->reach;
}

/* ------------------------------------------------------------------------------------ strips */

static bool is_flat(const cvy_cpu_depthwise_plan *plan) {
  for (int i = 0; i < 3; i++) {
    const cvy_cpu_depthwise_axis *axis = &plan->axis[i];
    if (axis->left > 0 || places(axis) > axis->source) return false;
  }
  const cvy_cpu_depthwise_axis *last = &plan->axis[2];
  return last->step == 1 && last->result / last->phases >= CVY_WIDEST_VECTOR;
}

/* Short strips where the source has few rows: taps that read none of them are left out. */
static int64_t height_of(const cvy_cpu_depthwise_plan *plan) {
  const cvy_cpu_depthwise_axis *rows = &plan->axis[1];
  if (plan->flat || plan->width > 1) return rows->sums;
  int64_t fit =
      STRIP_FLOATS /
      cvy_saturating_mul(cvy_saturating_mul(plan->inputs, plan->axis[0].reach), plan->row);
  int64_t most = cvy_max((fit - rows->reach) / rows->step, STRIP_LEAST);
  if (plan->p.filter[1] > 1) most = cvy_min(most, rows->source);
  int64_t strips = (rows->sums + most - 1) / most;
  return (rows->sums + strips - 1) / strips;
}

/* Woven planes have a place for every element, whether a tap reads it or not. */
static int64_t kept(const cvy_cpu_depthwise_plan *plan, const cvy_cpu_depthwise_axis *axis) {
  int64_t read = places(axis);
  return plan->width > 1 ? cvy_max(read, axis->left + axis->source) : read;
}

static void cut_rows(cvy_cpu_depthwise_plan *plan) {
  const cvy_cpu_depthwise_axis *axis = plan->axis;
  bool interleaved = plan->width > 1,
       apart = axis[2].step > 1 && (plan->p.filter[2] > 1 || interleaved);
  plan->split = apart ? axis[2].step : 1;
  plan->part = cvy_align_up(cvy_div_up(kept(plan, &axis[2]), axis[2].step),
                            interleaved ? 1 : CVY_LINE_FLOATS);
  plan->row = plan->flat ? axis[2].source : cvy_saturating_mul(plan->split, plan->part);
  plan->height = height_of(plan);
  plan->heights = (axis[1].sums + plan->height - 1) / plan->height;
  plan->strips = cvy_saturating_mul(plan->heights, axis[0].sums);
  int64_t rows = cvy_saturating_mul(plan->height - 1, axis[1].step) + axis[1].reach;
  if (interleaved) rows = kept(plan, &axis[1]);
  plan->slice = cvy_saturating_mul(plan->flat ? axis[1].source : rows, plan->row);
  plan->image = cvy_saturating_mul(plan->flat ? axis[0].source : axis[0].reach, plan->slice);
}

/* ------------------------------------------------------------------------------------ memory */

/* Of one channel. */
static int64_t results(const cvy_cpu_depthwise_plan *plan) {
  return plan->axis[0].result * plan->axis[1].result * plan->axis[2].result;
}

static bool streams(const cvy_cpu_depthwise_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t unit = results(plan) * plan->outputs * (int64_t)sizeof(float);
  bool plain = p->direction != CONVOY_BACKWARD_WEIGHTS && !p->accumulate && !plan->sparse;
  return plain && plan->width == 1 && cvy_stream_pays(p->n * p->c * unit, unit);
}

static void cut_memory(cvy_cpu_depthwise_plan *plan) {
  const cvy_problem *p = &plan->p;
  const cvy_cpu_depthwise_axis *w = &plan->axis[2];
  int64_t taps = cvy_saturating_mul(cvy_filter_volume(p), cvy_max(plan->inputs, plan->outputs));
  bool weights = p->direction == CONVOY_BACKWARD_WEIGHTS, interleaved = plan->width > 1;
  plan->side_row = interleaved ? w->sums
                   : weights   ? CVY_WIDEST_VECTOR
                               : cvy_align_up(w->sums, CVY_LINE_FLOATS);
  plan->side = cvy_saturating_mul(plan->height, plan->side_row);
  int64_t sides = interleaved ? plan->phases : w->phases;
  plan->x_floats =
      plan->flat ? 0
                 : cvy_saturating_mul(plan->inputs, plan->image) * plan->width + CVY_WIDEST_VECTOR;
  plan->y_floats = cvy_saturating_mul(plan->side, sides) * plan->width;
  plan->w_floats = cvy_align_up(cvy_saturating_mul(taps, weights ? CVY_WIDEST_VECTOR : plan->width),
                                CVY_LINE_FLOATS);
  plan->z_floats = plan->stream ? cvy_saturating_mul(plan->outputs, results(plan)) : 0;
  plan->slot_floats = cvy_align_up(
      plan->x_floats + plan->y_floats + plan->w_floats + plan->z_floats, CVY_LINE_FLOATS);
  int64_t lists = cvy_saturating_mul(2 * (int64_t)sizeof(int64_t), taps);
  int64_t parts = cvy_saturating_mul((int64_t)sizeof(cvy_cpu_depthwise_part),
                                     cvy_saturating_mul(plan->strips, plan->phases));
  int64_t elements = interleaved ? cvy_in_volume(p) + cvy_out_volume(p) : 0;
  plan->index_bytes = cvy_align_up(lists + parts + elements * (int64_t)sizeof(int32_t),
                                   CVY_LINE_FLOATS * (int64_t)sizeof(float));
}

cvy_cpu_depthwise_slot cvy_cpu_depthwise_clear(const cvy_cpu_depthwise_run *d, int32_t slot) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  float *x = d->slots + slot * plan->slot_floats, *y = x + plan->x_floats;
  memset(x, 0, (size_t)(plan->x_floats + plan->y_floats) * sizeof *x);
  float *w = y + plan->y_floats;
  return (cvy_cpu_depthwise_slot){.x = x, .y = y, .w = w, .z = w + plan->w_floats};
}

/* ------------------------------------------------------------------------------------ plan */

static int64_t plane_bytes(const cvy_cpu_depthwise_plan *plan) {
  int64_t read = sizeof(float), made = sizeof(float);
  for (int i = 0; i < 3; i++) {
    const cvy_cpu_depthwise_axis *axis = &plan->axis[i];
    read = cvy_saturating_mul(read, kept(plan, axis));
    made = cvy_saturating_mul(made, cvy_saturating_mul(axis->phases, axis->sums));
  }
  return read + made;
}

/* Planes so small that what is done once for each takes as long as its sums are interleaved. */
static int64_t lanes_of(const cvy_cpu_depthwise_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t width = cvy_simd_best()->microkernel.width;
  bool flat_space = p->in[0] == 1 && p->out[0] == 1 && p->filter[0] == 1;
  bool alone = plan->inputs == 1 && plan->outputs == 1;
  if (!flat_space || !alone || plan->flat || plan->sparse || p->c < width) return 1;
  return plane_bytes(plan) <= INTERLEAVED_BYTES ? width : 1;
}

static void cut_with(cvy_cpu_depthwise_plan *plan, int64_t width) {
  plan->width = width;
  plan->stream = streams(plan);
  cut_rows(plan);
  cut_memory(plan);
}

void cvy_cpu_depthwise_cut(const cvy_problem *problem, const cvy_facts *facts,
                           cvy_cpu_depthwise_plan *out) {
  *out = (cvy_cpu_depthwise_plan){.p = cvy_merged(problem), .slots = facts->info.compute_units};
  const cvy_problem *p = &out->p;
  bool data = p->direction == CONVOY_BACKWARD_DATA;
  out->phases = 1;
  for (int i = 0; i < 3; i++) {
    out->axis[i] = axis_of(p, i);
    out->phases = cvy_saturating_mul(out->phases, out->axis[i].phases);
  }
  out->inputs = data ? p->k / p->groups : 1;
  out->outputs = data ? 1 : p->k / p->groups;
  out->sparse = data && out->axis[2].sums > 2 * out->axis[2].source;
  out->aside =
      out->axis[2].phases > 1 || (p->accumulate && p->direction != CONVOY_BACKWARD_WEIGHTS);
  out->flat = is_flat(out);
  cut_with(out, lanes_of(out));
  if (cvy_cpu_depthwise_bytes(out) > facts->workspace_limit) cut_with(out, 1);
}

int64_t cvy_cpu_depthwise_bytes(const cvy_cpu_depthwise_plan *plan) {
  if (plan->sparse) return 0;
  int64_t floats = cvy_saturating_mul(plan->slots, plan->slot_floats);
  return cvy_saturating_mul(floats, (int64_t)sizeof(float)) + plan->index_bytes;
}
