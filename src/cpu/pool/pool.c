/* cpu.pool: rows of windows, a tap after the other for all windows of a row. Forward a thread makes
 * rows of y, backward it adds what all windows of a map give to the map's part of dx. */
#include "cpu/pool/pool.h"

#include <string.h>

#include "cpu/threads/heartbeat.h"

/* Those of some windows of a row that have tap `tap` inside the input. */
static cvy_range windows_with(const cvy_pooling_problem *p, int64_t tap, cvy_range some) {
  cvy_range all =
      cvy_outputs_inside(p->in[2], p->out[2], p->stride[2], tap * p->dilation[2] - p->pad[2]);
  int64_t begin = cvy_max(all.begin, some.begin);
  return (cvy_range){begin, cvy_max(begin, cvy_min(all.end, some.end))};
}

void cvy_cpu_pool_taps(const cvy_pooling_problem *p, const cvy_cpu_windows *windows,
                       void (*each)(void *arg, const cvy_cpu_tap *tap), void *arg) {
  for (int64_t t = 0; t < p->window[0]; t++) {
    int64_t z = windows->oz * p->stride[0] - p->pad[0] + t * p->dilation[0];
    if (z < 0 || z >= p->in[0]) continue;
    for (int64_t r = 0; r < p->window[1]; r++) {
      int64_t h = windows->oh * p->stride[1] - p->pad[1] + r * p->dilation[1];
      if (h < 0 || h >= p->in[1]) continue;
      for (int64_t s = 0; s < p->window[2]; s++) {
        cvy_range some = windows_with(p, s, windows->columns);
        if (cvy_range_length(some) == 0) continue;
        int64_t w = some.begin * p->stride[2] - p->pad[2] + s * p->dilation[2];
        each(arg, &(cvy_cpu_tap){.number = (t * p->window[1] + r) * p->window[2] + s,
                                 .first = (z * p->in[1] + h) * p->in[2] + w,
                                 .step = p->stride[2],
                                 .windows = some});
      }
    }
  }
}

/* Where a map of all images lies. */
static int64_t x_place(const cvy_problem *problem, int64_t map) {
  return cvy_pooling_map(problem, cvy_pooling_x_pitch(problem), cvy_pooling_in_volume(problem),
                         map);
}

static int64_t y_place(const cvy_problem *problem, int64_t map) {
  return cvy_pooling_map(problem, cvy_pooling_y_pitch(problem), cvy_pooling_out_volume(problem),
                         map);
}

/* ----------------------------------------------------------------------------------- forward */

static void make_row(const cvy_cpu_call *call, int64_t row) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  cvy_cpu_windows windows = {row / p->out[1] % p->out[0], row % p->out[1], {0, p->out[2]}};
  int64_t map = row / p->out[1] / p->out[0];
  const float *x = call->in[0] + x_place(call->problem, map);
  float *y = call->out[0] + y_place(call->problem, map);
  y += row % (p->out[0] * p->out[1]) * p->out[2];
  if (cvy_pooling_is_max(call->problem))
    cvy_cpu_max_pool(call, &windows, x, y);
  else
    cvy_cpu_average_pool(call, &windows, x, y);
}

static void make_rows(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)slot;
  for (int64_t row = begin; row < end; row++, cvy_heartbeat_tick()) make_row(arg, row);
}

/* ---------------------------------------------------------------------------------- backward */

static void add_windows(const cvy_cpu_call *call, int64_t map, const cvy_cpu_windows *windows,
                        float *dx, float *memory) {
  const cvy_problem *problem = call->problem;
  bool max = cvy_pooling_is_max(problem);
  const float *dy = call->in[max] + y_place(problem, map);
  if (max)
    cvy_cpu_max_pool_backward(call, windows, call->in[0] + x_place(problem, map), dy, dx, memory);
  else
    cvy_cpu_average_pool_backward(call, windows, dy, dx, memory);
}

static void make_map(const cvy_cpu_call *call, int64_t map, float *memory) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  int64_t volume = cvy_pooling_in_volume(call->problem);
  float *dx = call->out[0] +
              cvy_pooling_map(call->problem, cvy_pooling_dx_pitch(call->problem), volume, map);
  if (!call->problem->accumulate) memset(dx, 0, (size_t)volume * sizeof *dx);
  for (int64_t row = 0; row < p->out[0] * p->out[1]; row++) {
    for (int64_t at = 0; at < p->out[2]; at += CVY_CPU_POOL_COLUMNS, cvy_heartbeat_tick()) {
      cvy_range columns = {at, cvy_min(at + CVY_CPU_POOL_COLUMNS, p->out[2])};
      cvy_cpu_windows windows = {row / p->out[1], row % p->out[1], columns};
      add_windows(call, map, &windows, dx, memory);
    }
  }
}

static void make_maps(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_call *call = arg;
  float *memory = (float *)call->workspace + (int64_t)slot * CVY_CPU_POOL_FLOATS;
  for (int64_t map = begin; map < end; map++) make_map(call, map, memory);
}

/* --------------------------------------------------------------------------------------- row */

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  int64_t bytes = CVY_CPU_POOL_FLOATS * (int64_t)sizeof(float);
  (void)params;
  return cvy_pooling_is_backward(problem) ? (int64_t)facts->info.compute_units * bytes : 0;
}

static void run(const cvy_cpu_call *call) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  int64_t maps = p->n * p->c;
  if (cvy_pooling_is_backward(call->problem))
    cvy_parallel_items(call->threads, maps, make_maps, (void *)(uintptr_t)call);
  else
    cvy_parallel_items(call->threads, maps * p->out[0] * p->out[1], make_rows,
                       (void *)(uintptr_t)call);
}

const cvy_cpu_row cvy_cpu_pool = {{.name = "cpu.pool",
                                   .operations = CVY_POOLING_ALL,
                                   .workspace = workspace,
                                   .conservative = true},
                                  run};
