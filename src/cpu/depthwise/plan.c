/* How cpu.depthwise cuts its work, and its memory. */
#include <string.h>

#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/cut.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/stream.h"
#include "problem/conv/conv.h"

#define STRIP_FLOATS 1024      /* half of the smallest level of cache there is */
#define STRIP_LEAST 8          /* rows of sums: what a tile takes at once */
#define INTERLEAVED_BYTES 5120 /* of a plane that is interleaved, with its results. Measured */

/* ------------------------------------------------------------------------------------- axes */

static cvy_cpu_depthwise_axis axis_of(const cvy_problem *p, int i) {
  int64_t far = (p->conv.filter[i] - 1) * p->conv.dilation[i];
  if (p->operation != CONVOY_BACKWARD_DATA) {
    return (cvy_cpu_depthwise_axis){.source = p->conv.in[i],
                                    .result = p->conv.out[i],
                                    .left = p->conv.pad[i],
                                    .step = p->conv.stride[i],
                                    .phases = 1,
                                    .sums = p->conv.out[i],
                                    .reach = far + 1};
  }
  /* Sums in front of the first result are left out. */
  int64_t last = far / p->conv.stride[i], skip = cvy_min(p->conv.pad[i] / p->conv.stride[i], last);
  int64_t pad = p->conv.pad[i] - skip * p->conv.stride[i];
  return (cvy_cpu_depthwise_axis){.source = p->conv.out[i],
                                  .result = p->conv.in[i],
                                  .left = last - skip,
                                  .step = 1,
                                  .phases = p->conv.stride[i],
                                  .pad = pad,
                                  .sums = (p->conv.in[i] - 1 + pad) / p->conv.stride[i] + 1,
                                  .reach = last + 1};
}

/* Backward_data reads dy the other way round. */
int64_t cvy_cpu_depthwise_offset(const cvy_cpu_depthwise_plan *plan, int axis, int64_t phase,
                                 int64_t tap) {
  const cvy_problem *p = &plan->p;
  int64_t far = tap * p->conv.dilation[axis], stride = p->conv.stride[axis];
  if (p->operation != CONVOY_BACKWARD_DATA) return far;
  return far % stride == phase ? plan->axis[axis].reach - 1 - far / stride : -1;
}

static int64_t places(const cvy_cpu_depthwise_axis *axis) {
  return cvy_saturating_mul(axis->sums - 1, axis->step) + axis->reach;
}

/* ------------------------------------------------------------------------------------- mode */

static bool may_lie(const cvy_cpu_depthwise_plan *plan) {
  for (int i = 0; i < 3; i++) {
    const cvy_cpu_depthwise_axis *axis = &plan->axis[i];
    if (axis->left > 0 || places(axis) > axis->source) return false;
  }
  const cvy_cpu_depthwise_axis *last = &plan->axis[2];
  return last->step == 1 && last->result / last->phases >= CVY_WIDEST_VECTOR;
}

static int64_t plane_bytes(const cvy_cpu_depthwise_plan *plan) {
  int64_t read = sizeof(float), made = sizeof(float);
  for (int i = 0; i < 3; i++) {
    const cvy_cpu_depthwise_axis *axis = &plan->axis[i];
    read = cvy_saturating_mul(read, places(axis));
    made = cvy_saturating_mul(made, cvy_saturating_mul(axis->phases, axis->sums));
  }
  return read + made;
}

/* Planes are interleaved if they are so small that what is done once for each takes as long as its
 * sums. */
static bool interleaves(const cvy_cpu_depthwise_plan *plan) {
  const cvy_problem *p = &plan->p;
  bool flat_space = p->conv.in[0] == 1 && p->conv.out[0] == 1 && p->conv.filter[0] == 1;
  bool alone = plan->inputs == 1 && plan->outputs == 1;
  return flat_space && alone && p->conv.c >= cvy_simd_best()->microkernel.width &&
         plane_bytes(plan) <= INTERLEAVED_BYTES;
}

static cvy_cpu_depthwise_mode mode_of(const cvy_cpu_depthwise_plan *plan) {
  const cvy_cpu_depthwise_axis *last = &plan->axis[2];
  bool data = plan->p.operation == CONVOY_BACKWARD_DATA;
  if (data && last->sums > 2 * last->source) return CVY_DEPTHWISE_SCATTERED;
  if (may_lie(plan)) return CVY_DEPTHWISE_AS_IT_LIES;
  return interleaves(plan) ? CVY_DEPTHWISE_INTERLEAVED : CVY_DEPTHWISE_STRIPS;
}

/* ------------------------------------------------------------------------------------ strips */

/* Strips are short where the source has few rows, because taps that read none of them are left
 * out. */
static int64_t height_of(const cvy_cpu_depthwise_plan *plan) {
  const cvy_cpu_depthwise_axis *rows = &plan->axis[1];
  bool whole = plan->mode == CVY_DEPTHWISE_AS_IT_LIES || plan->mode == CVY_DEPTHWISE_INTERLEAVED;
  if (whole) return rows->sums;
  int64_t planes = cvy_saturating_mul(plan->inputs, plan->axis[0].reach);
  int64_t fit = STRIP_FLOATS / cvy_saturating_mul(planes, plan->strip.row);
  int64_t most = cvy_max((fit - rows->reach) / rows->step, STRIP_LEAST);
  if (plan->p.conv.filter[1] > 1) most = cvy_min(most, rows->source);
  return cvy_cut_into(rows->sums, cvy_div_up(rows->sums, most), 1).size;
}

/* Interleaved planes have a place for every element, whether a tap reads it or not. */
static int64_t kept(const cvy_cpu_depthwise_plan *plan, const cvy_cpu_depthwise_axis *axis) {
  int64_t read = places(axis);
  bool all = plan->mode == CVY_DEPTHWISE_INTERLEAVED;
  return all ? cvy_max(read, axis->left + axis->source) : read;
}

static void cut_rows(cvy_cpu_depthwise_plan *plan) {
  const cvy_cpu_depthwise_axis *axis = plan->axis;
  bool interleaved = plan->mode == CVY_DEPTHWISE_INTERLEAVED;
  bool lies = plan->mode == CVY_DEPTHWISE_AS_IT_LIES;
  bool apart = axis[2].step > 1 && (plan->p.conv.filter[2] > 1 || interleaved);
  plan->strip.split = apart ? axis[2].step : 1;
  plan->strip.part = cvy_align_up(cvy_div_up(kept(plan, &axis[2]), axis[2].step),
                                  interleaved ? 1 : CVY_LINE_FLOATS);
  plan->strip.row = lies ? axis[2].source : cvy_saturating_mul(plan->strip.split, plan->strip.part);
  plan->strip.height = height_of(plan);
  plan->strip.per_plane = cvy_div_up(axis[1].sums, plan->strip.height);
  plan->strip.count = cvy_saturating_mul(plan->strip.per_plane, axis[0].sums);
  int64_t rows = cvy_saturating_mul(plan->strip.height - 1, axis[1].step) + axis[1].reach;
  if (interleaved) rows = kept(plan, &axis[1]);
  plan->strip.plane = cvy_saturating_mul(lies ? axis[1].source : rows, plan->strip.row);
  plan->strip.image = cvy_saturating_mul(lies ? axis[0].source : axis[0].reach, plan->strip.plane);
}

/* ------------------------------------------------------------------------------------ memory */

/* Results of one channel. */
static int64_t result_volume(const cvy_cpu_depthwise_plan *plan) {
  return plan->axis[0].result * plan->axis[1].result * plan->axis[2].result;
}

static bool streams(const cvy_cpu_depthwise_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t unit = result_volume(plan) * plan->outputs * (int64_t)sizeof(float);
  bool by_channel = plan->mode == CVY_DEPTHWISE_STRIPS || plan->mode == CVY_DEPTHWISE_AS_IT_LIES;
  bool plain = p->operation != CONVOY_BACKWARD_WEIGHTS && !p->accumulate;
  return plain && by_channel && cvy_stream_pays(p->conv.n * p->conv.c * unit, unit);
}

static void place_results(cvy_cpu_depthwise_plan *plan) {
  const cvy_problem *p = &plan->p;
  const cvy_cpu_depthwise_axis *w = &plan->axis[2];
  bool weights = p->operation == CONVOY_BACKWARD_WEIGHTS;
  plan->results.aside = w->phases > 1 || (p->accumulate && !weights);
  plan->results.stream = streams(plan);
  plan->results.row = plan->mode == CVY_DEPTHWISE_INTERLEAVED ? w->sums
                      : weights                               ? CVY_WIDEST_VECTOR
                                : cvy_align_up(w->sums, CVY_LINE_FLOATS);
  plan->results.phase = cvy_saturating_mul(plan->strip.height, plan->results.row);
}

static void size_slot(cvy_cpu_depthwise_plan *plan, int64_t taps) {
  bool weights = plan->p.operation == CONVOY_BACKWARD_WEIGHTS;
  bool interleaved = plan->mode == CVY_DEPTHWISE_INTERLEAVED;
  int64_t strip = cvy_saturating_mul(plan->inputs, plan->strip.image) * plan->width;
  int64_t sides = interleaved ? plan->phases : plan->axis[2].phases;
  int64_t per_tap = weights ? CVY_WIDEST_VECTOR : plan->width;
  plan->floats.x = plan->mode == CVY_DEPTHWISE_AS_IT_LIES ? 0 : strip + CVY_WIDEST_VECTOR;
  plan->floats.y = cvy_saturating_mul(plan->results.phase, sides) * plan->width;
  plan->floats.w = cvy_align_up(cvy_saturating_mul(taps, per_tap), CVY_LINE_FLOATS);
  plan->floats.z =
      plan->results.stream ? cvy_saturating_mul(plan->outputs, result_volume(plan)) : 0;
  int64_t all = plan->floats.x + plan->floats.y + plan->floats.w + plan->floats.z;
  plan->floats.slot = cvy_align_up(all, CVY_LINE_FLOATS);
}

static void size_lists(cvy_cpu_depthwise_plan *plan, int64_t taps) {
  const cvy_problem *p = &plan->p;
  bool interleaved = plan->mode == CVY_DEPTHWISE_INTERLEAVED;
  int64_t lists = cvy_saturating_mul(2 * (int64_t)sizeof(int64_t), taps);
  int64_t parts = cvy_saturating_mul((int64_t)sizeof(cvy_cpu_depthwise_part),
                                     cvy_saturating_mul(plan->strip.count, plan->phases));
  int64_t elements = interleaved ? cvy_in_volume(p) + cvy_out_volume(p) : 0;
  plan->index_bytes = cvy_align_up(lists + parts + elements * (int64_t)sizeof(int32_t),
                                   CVY_LINE_FLOATS * (int64_t)sizeof(float));
}

cvy_cpu_depthwise_slot cvy_cpu_depthwise_clear(const cvy_cpu_depthwise_run *d, int32_t slot) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  float *x = d->slots + slot * plan->floats.slot, *y = x + plan->floats.x;
  memset(x, 0, (size_t)(plan->floats.x + plan->floats.y) * sizeof *x);
  float *w = y + plan->floats.y;
  return (cvy_cpu_depthwise_slot){.x = x, .y = y, .w = w, .z = w + plan->floats.w};
}

/* ------------------------------------------------------------------------------------ plan */

static void cut(cvy_cpu_depthwise_plan *plan, cvy_cpu_depthwise_mode mode) {
  int64_t channels = cvy_max(plan->inputs, plan->outputs);
  int64_t taps = cvy_saturating_mul(cvy_filter_volume(&plan->p), channels);
  plan->mode = mode;
  plan->width = mode == CVY_DEPTHWISE_INTERLEAVED ? cvy_simd_best()->microkernel.width : 1;
  cut_rows(plan);
  place_results(plan);
  size_slot(plan, taps);
  size_lists(plan, taps);
}

cvy_cpu_depthwise_plan cvy_cpu_depthwise_plan_for(const cvy_problem *problem,
                                                  const cvy_facts *facts) {
  cvy_cpu_depthwise_plan plan = {.p = cvy_merged(problem), .slots = facts->info.compute_units};
  const cvy_problem *p = &plan.p;
  bool data = p->operation == CONVOY_BACKWARD_DATA;
  plan.phases = 1;
  for (int i = 0; i < 3; i++) {
    plan.axis[i] = axis_of(p, i);
    plan.phases = cvy_saturating_mul(plan.phases, plan.axis[i].phases);
  }
  plan.inputs = data ? p->conv.k / p->conv.groups : 1;
  plan.outputs = data ? 1 : p->conv.k / p->conv.groups;
  cut(&plan, mode_of(&plan));
  bool fits = cvy_cpu_depthwise_bytes(&plan) <= facts->workspace_limit;
  if (!fits && plan.mode == CVY_DEPTHWISE_INTERLEAVED) cut(&plan, CVY_DEPTHWISE_STRIPS);
  return plan;
}

int64_t cvy_cpu_depthwise_bytes(const cvy_cpu_depthwise_plan *plan) {
  if (plan->mode == CVY_DEPTHWISE_SCATTERED) return 0;
  int64_t floats = cvy_saturating_mul(plan->slots, plan->floats.slot);
  return cvy_saturating_mul(floats, (int64_t)sizeof(float)) + plan->index_bytes;
}
