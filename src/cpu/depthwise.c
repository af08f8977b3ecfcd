/* cpu.depthwise: one input channel per group. A channel is laid out in padded planes that stay in
 * cache; each tap is then one long shifted row, which keeps the registers full even on 7x7 images, and
 * all taps are summed in registers. */
#include <string.h>

#include "cpu/depthwise.h"
#include "cpu/merge.h"
#include "cpu/span.h"

/* ------------------------------------------------------------------------------ the memory */

static float *slot_memory(const cvy_depthwise *d, int32_t slot) {
  return d->slots + slot * d->plan.slot_floats;
}

static float *x_planes(const cvy_depthwise *d, int32_t slot) {
  return slot_memory(d, slot);
}

/* Of the first output; shifts to the left of it read zeros. */
static float *y_planes(const cvy_depthwise *d, int32_t slot) {
  return slot_memory(d, slot) + d->plan.x_floats + d->plan.reach;
}

static float *sorted_weights(const cvy_depthwise *d, int32_t slot) {
  return slot_memory(d, slot) + d->plan.x_floats + d->plan.y_floats;
}

/* What no channel writes stays 0: gaps, margins, and the rest of the last vectors. */
static void clear(const cvy_depthwise *d, int32_t slot) {
  memset(slot_memory(d, slot), 0, (size_t)(d->plan.x_floats + d->plan.y_floats) * sizeof(float));
}

/* -------------------------------------------------------------------------------- forward */

static void forward(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_depthwise *d = arg;
  const cvy_problem *p = &d->plan.p;
  const cvy_cpu_call *call = d->call;
  const cvy_planes_layout *layout = &d->plan.layout;
  int64_t taps = cvy_filter_volume(p), pixels = cvy_out_volume(p);
  float *x = x_planes(d, slot), *y = y_planes(d, slot);
  clear(d, slot);
  for (int64_t nc = begin; nc < end; nc++, cvy_beat_on()) {
    cvy_planes_fill_x(layout, call->lanes, call->a + nc * cvy_in_volume(p), x);
    for (int64_t i = 0; i < d->plan.outputs; i++) {
      int64_t k = nc % p->c * d->plan.outputs + i;
      float *out = call->out + (nc * d->plan.outputs + i) * pixels;
      call->lanes->shifts(y, x, call->b + k * taps, d->shift, taps, layout->y_floats);
      cvy_planes_store_y(layout, call->lanes, y, p->accumulate, out);
      cvy_cpu_epilogue(call, out, k, pixels);
    }
  }
}

/* -------------------------------------------------------------------------- backward_data */

/* dx of one channel: each phase of the strides sums its own taps. */
static void sum_phases(const cvy_depthwise *d, const float *w, float *sorted, const float *dy,
                       float *dx) {
  for (int64_t t = 0; t < d->begin[d->plan.phases]; t++) sorted[t] = w[d->order[t]];
  for (int64_t i = 0; i < d->plan.phases; i++) {
    int64_t first = d->begin[i], plane = d->plan.layout.plane;
    d->call->lanes->shifts(dx + i * plane, dy, sorted + first, d->shift + first,
                           d->begin[i + 1] - first, plane);
  }
}

/* The same where dy is short and taps lie far apart. */
static void add_taps(const cvy_depthwise *d, const float *w, const float *dy, float *dx) {
  memset(dx, 0, (size_t)d->plan.layout.x_floats * sizeof *dx);
  for (int64_t i = 0; i < d->plan.outputs; i++, dy += d->plan.y_pitch)
    for (int64_t t = 0; t < cvy_filter_volume(&d->plan.p); t++, w++)
      d->call->lanes->axpy(dx + d->shift[t], 1, dy, 1, *w, d->plan.layout.y_floats);
}

static void backward_data(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_depthwise *d = arg;
  const cvy_problem *p = &d->plan.p;
  const cvy_cpu_call *call = d->call;
  int64_t volume = cvy_in_volume(p), pixels = cvy_out_volume(p), outputs = d->plan.outputs;
  float *dx = x_planes(d, slot), *dy = y_planes(d, slot);
  clear(d, slot);
  for (int64_t nc = begin; nc < end; nc++, cvy_beat_on()) {
    const float *w = call->b + nc % p->c * outputs * cvy_filter_volume(p);
    for (int64_t i = 0; i < outputs; i++)
      cvy_planes_load_y(&d->plan.layout, call->lanes, call->a + (nc * outputs + i) * pixels,
                        dy + i * d->plan.y_pitch);
    if (d->plan.dense)
      sum_phases(d, w, sorted_weights(d, slot), dy, dx);
    else
      add_taps(d, w, dy, dx);
    cvy_planes_store_x(&d->plan.layout, call->lanes, dx, p->accumulate, call->out + nc * volume);
    cvy_cpu_epilogue(call, call->out + nc * volume, nc % p->c, volume);
  }
}

/* ----------------------------------------------------------------------- backward_weights */

static void backward_weights(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_depthwise *d = arg;
  const cvy_problem *p = &d->plan.p;
  const cvy_cpu_call *call = d->call;
  int64_t taps = cvy_filter_volume(p), outputs = d->plan.outputs;
  float *x = x_planes(d, slot), *dy = y_planes(d, slot);
  clear(d, slot);
  for (int64_t c = begin; c < end; c++, cvy_beat_on()) {
    float *dw = call->out + c * outputs * taps;
    if (!p->accumulate) memset(dw, 0, (size_t)(outputs * taps) * sizeof *dw);
    for (int64_t n = 0; n < p->n; n++) {
      int64_t nc = n * p->c + c;
      cvy_planes_fill_x(&d->plan.layout, call->lanes, call->a + nc * cvy_in_volume(p), x);
      for (int64_t i = 0; i < outputs; i++) {
        cvy_planes_load_y(&d->plan.layout, call->lanes,
                          call->b + (nc * outputs + i) * cvy_out_volume(p), dy);
        call->lanes->dots(dw + i * taps, dy, x, d->shift, taps, d->plan.layout.y_floats);
      }
    }
  }
}

/* ------------------------------------------------------------------------------------ row */

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t channels = problem->c / problem->groups, outputs = problem->k / problem->groups;
  int64_t most =
      problem->direction == CONVOY_BACKWARD_DATA ? CVY_DEPTHWISE_SUMMED : CVY_DEPTHWISE_OUTPUTS;
  if (channels != 1 || outputs > most) {
    cvy_text_add(reason, "%lld input and %lld output channels per group, it is for 1 and 1 to %lld",
                 (long long)channels, (long long)outputs, (long long)most);
    return false;
  }
  cvy_depthwise_plan plan;
  cvy_depthwise_cut(problem, facts, &plan);
  int64_t bytes = cvy_depthwise_bytes(&plan);
  if (bytes <= facts->workspace_limit) return true;
  cvy_text_add(reason, "%lld bytes of planes for %lld threads, the limit is %lld", (long long)bytes,
               (long long)facts->info.compute_units, (long long)facts->workspace_limit);
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  cvy_depthwise_plan plan;
  cvy_depthwise_cut(problem, facts, &plan);
  (void)params;
  return cvy_depthwise_bytes(&plan);
}

static void run(const cvy_cpu_call *call) {
  cvy_depthwise d = {.call = call};
  const cvy_problem *p = &d.plan.p;
  cvy_depthwise_cut(call->problem, call->facts, &d.plan);
  cvy_depthwise_list(&d);
  static cvy_task *const direction[CONVOY_DIRECTIONS] = {
      [CONVOY_FORWARD] = forward,
      [CONVOY_BACKWARD_DATA] = backward_data,
      [CONVOY_BACKWARD_WEIGHTS] = backward_weights};
  bool sums_images = p->direction == CONVOY_BACKWARD_WEIGHTS;
  cvy_parallel_items(call->threads, sums_images ? p->c : p->n * p->c, direction[p->direction], &d);
}

const cvy_cpu_row cvy_cpu_depthwise = {
    {.name = "cpu.depthwise",
     .directions =
         1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA | 1u << CONVOY_BACKWARD_WEIGHTS,
     .accepts = accepts,
     .workspace = workspace},
    run};
