/* cpu.depthwise: one input channel per group. A channel is laid out in padded planes that stay in
 * cache; each tap is then one long row, which keeps the registers full even on 7x7 images. */
#include <string.h>

#include "cpu/merge.h"
#include "cpu/planes.h"
#include "cpu/row.h"

#define MOST_OUTPUTS 2 /* per group; with more, a matrix product is faster */
#define FLOATS_PER_LINE 16

typedef struct depthwise {
  const cvy_cpu_call *call;
  cvy_problem p; /* merged */
  cvy_planes_layout layout;
  int64_t outputs; /* per group */
} depthwise;

static int64_t slot_floats(const cvy_planes_layout *layout) {
  int64_t floats = layout->x_floats + layout->y_floats;
  return (floats / FLOATS_PER_LINE + 2) * FLOATS_PER_LINE;
}

static float *x_planes(const depthwise *d, int32_t slot) {
  return (float *)d->call->workspace + slot * slot_floats(&d->layout);
}

static float *y_planes(const depthwise *d, int32_t slot) {
  return x_planes(d, slot) + d->layout.x_floats;
}

static void clear_y(const depthwise *d, float *y) {
  memset(y, 0, (size_t)d->layout.y_floats * sizeof *y);
}

/* -------------------------------------------------------------------------------- forward */

static void add_taps(const depthwise *d, const float *x, const float *w, float *y) {
  const cvy_problem *p = &d->p;
  const cvy_lanes *lanes = d->call->lanes;
  int64_t at_once = p->stride[2] == 1 ? p->filter[2] : 1; /* taps in equal steps in one plane */
  for (int64_t t = 0; t < p->filter[0]; t++)
    for (int64_t r = 0; r < p->filter[1]; r++)
      for (int64_t s = 0; s < p->filter[2]; s += at_once, w += at_once)
        lanes->slide(y, x + cvy_planes_tap(&d->layout, t, r, s), w, at_once, p->dilation[2],
                     d->layout.y_floats);
}

static void forward(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const depthwise *d = arg;
  const cvy_cpu_call *call = d->call;
  int64_t taps = cvy_filter_volume(&d->p), pixels = cvy_out_volume(&d->p);
  float *x = x_planes(d, slot), *y = y_planes(d, slot);
  for (int64_t nc = begin; nc < end; nc++, cvy_beat_on()) {
    cvy_planes_load_x(&d->layout, call->lanes, call->a + nc * cvy_in_volume(&d->p), x);
    for (int64_t i = 0; i < d->outputs; i++) {
      int64_t k = nc % d->p.c * d->outputs + i;
      float *out = call->out + (nc * d->outputs + i) * pixels;
      clear_y(d, y);
      add_taps(d, x, call->b + k * taps, y);
      cvy_planes_store_y(&d->layout, call->lanes, y, d->p.accumulate, out);
      cvy_cpu_epilogue(call, out, k, pixels);
    }
  }
}

/* -------------------------------------------------------------------------- backward_data */

static void scatter_taps(const depthwise *d, const float *dy, const float *w, float *dx) {
  const cvy_problem *p = &d->p;
  for (int64_t t = 0; t < p->filter[0]; t++)
    for (int64_t r = 0; r < p->filter[1]; r++)
      for (int64_t s = 0; s < p->filter[2]; s++, w++)
        d->call->lanes->axpy(dx + cvy_planes_tap(&d->layout, t, r, s), 1, dy, 1, *w,
                             d->layout.y_floats);
}

static void backward_data(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const depthwise *d = arg;
  const cvy_cpu_call *call = d->call;
  int64_t taps = cvy_filter_volume(&d->p), volume = cvy_in_volume(&d->p);
  float *dx = x_planes(d, slot), *dy = y_planes(d, slot);
  clear_y(d, dy);
  for (int64_t nc = begin; nc < end; nc++, cvy_beat_on()) {
    memset(dx, 0, (size_t)d->layout.x_floats * sizeof *dx);
    for (int64_t i = 0; i < d->outputs; i++) {
      int64_t k = nc % d->p.c * d->outputs + i;
      cvy_planes_load_y(&d->layout, call->a + (nc * d->outputs + i) * cvy_out_volume(&d->p), dy);
      scatter_taps(d, dy, call->b + k * taps, dx);
    }
    cvy_planes_store_x(&d->layout, call->lanes, dx, d->p.accumulate, call->out + nc * volume);
    cvy_cpu_epilogue(call, call->out + nc * volume, nc % d->p.c, volume);
  }
}

/* ----------------------------------------------------------------------- backward_weights */

static void dot_taps(const depthwise *d, const float *x, const float *dy, float *dw) {
  const cvy_problem *p = &d->p;
  cvy_planes rows = {.a = dy, .b_stride = 1, .rows = 1, .length = d->layout.y_floats};
  for (int64_t t = 0; t < p->filter[0]; t++)
    for (int64_t r = 0; r < p->filter[1]; r++)
      for (int64_t s = 0; s < p->filter[2]; s++, dw++) {
        rows.b = x + cvy_planes_tap(&d->layout, t, r, s);
        *dw += (float)d->call->lanes->dot(&rows);
      }
}

static void backward_weights(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const depthwise *d = arg;
  const cvy_cpu_call *call = d->call;
  int64_t taps = cvy_filter_volume(&d->p);
  float *x = x_planes(d, slot), *dy = y_planes(d, slot);
  clear_y(d, dy);
  for (int64_t c = begin; c < end; c++, cvy_beat_on()) {
    float *dw = call->out + c * d->outputs * taps;
    if (!d->p.accumulate) memset(dw, 0, (size_t)(d->outputs * taps) * sizeof *dw);
    for (int64_t n = 0; n < d->p.n; n++) {
      int64_t nc = n * d->p.c + c;
      cvy_planes_load_x(&d->layout, call->lanes, call->a + nc * cvy_in_volume(&d->p), x);
      for (int64_t i = 0; i < d->outputs; i++) {
        cvy_planes_load_y(&d->layout, call->b + (nc * d->outputs + i) * cvy_out_volume(&d->p), dy);
        dot_taps(d, x, dy, dw + i * taps);
      }
    }
  }
}

/* ------------------------------------------------------------------------------------ row */

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t channels = problem->c / problem->groups, outputs = problem->k / problem->groups;
  if (channels != 1 || outputs > MOST_OUTPUTS) {
    cvy_text_add(reason, "%lld input and %lld output channels per group, it is for 1 and 1 to %d",
                 (long long)channels, (long long)outputs, MOST_OUTPUTS);
    return false;
  }
  cvy_problem merged = cvy_merged(problem);
  cvy_planes_layout layout = cvy_planes_layout_of(&merged);
  int64_t floats = facts->workspace_limit / (int64_t)sizeof(float) / facts->info.compute_units;
  if (slot_floats(&layout) <= floats) return true;
  cvy_text_add(reason,
               "planes of %lld floats for each of %lld threads exceed the limit of %lld "
               "bytes",
               (long long)slot_floats(&layout), (long long)facts->info.compute_units,
               (long long)facts->workspace_limit);
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  cvy_problem merged = cvy_merged(problem);
  cvy_planes_layout layout = cvy_planes_layout_of(&merged);
  (void)params;
  return facts->info.compute_units * slot_floats(&layout) * (int64_t)sizeof(float);
}

static void run(const cvy_cpu_call *call) {
  depthwise d = {.call = call, .p = cvy_merged(call->problem)};
  d.layout = cvy_planes_layout_of(&d.p);
  d.outputs = d.p.k / d.p.groups;
  static cvy_task *const direction[CONVOY_DIRECTIONS] = {
      [CONVOY_FORWARD] = forward,
      [CONVOY_BACKWARD_DATA] = backward_data,
      [CONVOY_BACKWARD_WEIGHTS] = backward_weights};
  bool sums_images = d.p.direction == CONVOY_BACKWARD_WEIGHTS;
  cvy_parallel_items(call->threads, sums_images ? d.p.c : d.p.n * d.p.c, direction[d.p.direction],
                     &d);
}

const cvy_cpu_row cvy_cpu_depthwise = {
    {.name = "cpu.depthwise",
     .directions =
         1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA | 1u << CONVOY_BACKWARD_WEIGHTS,
     .accepts = accepts,
     .workspace = workspace},
    run};
