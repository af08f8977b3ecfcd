/* Maxima: rows of windows, a tap after the other for all windows of a row. Forward a thread makes
 * rows of y and the values are kept; backward it is found which tap they came from, and what all
 * windows of a map give is added to the map's part of dx. */
#include <math.h>

#include "cpu/pool/pool.h"
#include "cpu/threads/heartbeat.h"

/* How many windows a thread takes at a time backward, at most. */
enum { COLUMNS = CVY_CPU_POOL_FLOATS / 2 };

/* Some windows of one row that lie beside each other. */
typedef struct row_windows {
  int64_t oz, oh;
  cvy_range columns;
} row_windows;

/* What a row of windows meets with one tap: elements of a map of x, `step` apart, for the windows
 * `windows`, of which there may be none. */
typedef struct window_tap {
  int64_t number; /* in the window, row-major */
  int64_t first;  /* element in the map */
  int64_t step;
  cvy_range windows;
} window_tap;

/* Those of some windows of a row that have tap `tap` inside the input. */
static cvy_range windows_with(const cvy_pooling_problem *p, int64_t tap, cvy_range some) {
  cvy_range all =
      cvy_outputs_inside(p->in[2], p->out[2], p->stride[2], tap * p->dilation[2] - p->pad[2]);
  int64_t begin = cvy_max(all.begin, some.begin);
  return (cvy_range){begin, cvy_max(begin, cvy_min(all.end, some.end))};
}

/* Calls `each` for every tap that any of the windows has in the map, in row-major order. */
static void for_taps(const cvy_pooling_problem *p, const row_windows *windows,
                     void (*each)(void *arg, const window_tap *tap), void *arg) {
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
        each(arg, &(window_tap){.number = (t * p->window[1] + r) * p->window[2] + s,
                                .first = (z * p->in[1] + h) * p->in[2] + w,
                                .step = p->stride[2],
                                .windows = some});
      }
    }
  }
}

/* ----------------------------------------------------------------------------------- forward */

typedef struct maxima_run {
  const cvy_cpu_call *call;
  const float *x;
  float *y;
  int32_t *keys, *taps; /* of the windows from `first` on */
  int64_t first;
} maxima_run;

static void keep_values(void *arg, const window_tap *tap) {
  const maxima_run *run = arg;
  run->call->simd->maxima(run->y + tap->windows.begin, run->x + tap->first, tap->step,
                          cvy_range_length(tap->windows));
}

static void keep_row(const cvy_cpu_call *call, const row_windows *windows, const float *x,
                     float *y) {
  maxima_run run = {.call = call, .x = x, .y = y};
  for (int64_t i = windows->columns.begin; i < windows->columns.end; i++) y[i] = -INFINITY;
  for_taps(&call->problem->pooling, windows, keep_values, &run);
}

static void make_row(const cvy_cpu_call *call, int64_t row) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  row_windows windows = {row / p->out[1] % p->out[0], row % p->out[1], {0, p->out[2]}};
  int64_t map = row / p->out[1] / p->out[0];
  float *y = call->out[0] + cvy_cpu_pool_y_place(call->problem, map);
  y += row % (p->out[0] * p->out[1]) * p->out[2];
  keep_row(call, &windows, call->in[0] + cvy_cpu_pool_x_place(call->problem, map), y);
}

static void make_rows(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)slot;
  for (int64_t row = begin; row < end; row++, cvy_heartbeat_tick()) make_row(arg, row);
}

void cvy_cpu_max_pool(const cvy_cpu_call *call) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  cvy_parallel_items(call->threads, p->n * p->c * p->out[0] * p->out[1], make_rows,
                     (void *)(uintptr_t)call);
}

/* ---------------------------------------------------------------------------------- backward */

static void keep_taps(void *arg, const window_tap *tap) {
  const maxima_run *run = arg;
  int64_t at = tap->windows.begin - run->first;
  run->call->simd->maxima_taps(run->keys + at, run->taps + at, (int32_t)tap->number,
                               run->x + tap->first, tap->step, cvy_range_length(tap->windows));
}

/* Where tap `tap` of a window lies in the map. */
static int64_t place_of(const cvy_pooling_problem *p, int64_t oz, int64_t oh, int64_t ow,
                        int64_t tap) {
  int64_t s = tap % p->window[2], r = tap / p->window[2] % p->window[1],
          t = tap / p->window[2] / p->window[1];
  int64_t z = oz * p->stride[0] - p->pad[0] + t * p->dilation[0];
  int64_t h = oh * p->stride[1] - p->pad[1] + r * p->dilation[1];
  int64_t w = ow * p->stride[2] - p->pad[2] + s * p->dilation[2];
  return (z * p->in[1] + h) * p->in[2] + w;
}

static void add_windows(const cvy_cpu_call *call, const row_windows *windows, const float *x,
                        const float *dy, float *dx, float *memory) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  int32_t *keys = (int32_t *)(void *)memory, *taps = keys + COLUMNS;
  maxima_run run = {call, x, NULL, keys, taps, windows->columns.begin};
  int64_t count = cvy_range_length(windows->columns);
  for (int64_t i = 0; i < count; i++) keys[i] = CVY_POOLING_NOTHING;
  for (int64_t i = 0; i < count; i++) taps[i] = 0;
  for_taps(p, windows, keep_taps, &run);
  for (int64_t i = 0; i < count; i++) {
    int64_t ow = windows->columns.begin + i;
    if (keys[i] == CVY_POOLING_NOTHING) continue;
    dx[place_of(p, windows->oz, windows->oh, ow, taps[i])] +=
        dy[(windows->oz * p->out[1] + windows->oh) * p->out[2] + ow];
  }
}

static void make_map(const cvy_cpu_call *call, int64_t map, float *memory) {
  const cvy_problem *problem = call->problem;
  const cvy_pooling_problem *p = &problem->pooling;
  const float *x = call->in[0] + cvy_cpu_pool_x_place(problem, map);
  const float *dy = call->in[1] + cvy_cpu_pool_y_place(problem, map);
  float *dx = call->out[0] + cvy_cpu_pool_dx_place(problem, map);
  cvy_cpu_pool_clear(call, map);
  for (int64_t row = 0; row < p->out[0] * p->out[1]; row++) {
    for (int64_t at = 0; at < p->out[2]; at += COLUMNS, cvy_heartbeat_tick()) {
      cvy_range columns = {at, cvy_min(at + COLUMNS, p->out[2])};
      row_windows windows = {row / p->out[1], row % p->out[1], columns};
      add_windows(call, &windows, x, dy, dx, memory);
    }
  }
}

static void make_maps(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_call *call = arg;
  float *memory = (float *)call->workspace + (int64_t)slot * CVY_CPU_POOL_FLOATS;
  for (int64_t map = begin; map < end; map++) make_map(call, map, memory);
}

void cvy_cpu_max_pool_backward(const cvy_cpu_call *call) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  cvy_parallel_items(call->threads, p->n * p->c, make_maps, (void *)(uintptr_t)call);
}
