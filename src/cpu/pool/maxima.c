/* Maxima: forward the values are kept, backward which tap they came from. */
#include <math.h>

#include "cpu/pool/pool.h"

typedef struct maxima_run {
  const cvy_cpu_call *call;
  const float *x;
  float *y;
  int32_t *keys, *taps; /* of the windows from `first` on */
  int64_t first;
} maxima_run;

static void keep_values(void *arg, const cvy_cpu_tap *tap) {
  const maxima_run *run = arg;
  run->call->simd->maxima(run->y + tap->windows.begin, run->x + tap->first, tap->step,
                          cvy_range_length(tap->windows));
}

void cvy_cpu_max_pool(const cvy_cpu_call *call, const cvy_cpu_windows *windows, const float *x,
                      float *y) {
  maxima_run run = {.call = call, .x = x, .y = y};
  for (int64_t i = windows->columns.begin; i < windows->columns.end; i++) y[i] = -INFINITY;
  cvy_cpu_pool_taps(&call->problem->pooling, windows, keep_values, &run);
}

static void keep_taps(void *arg, const cvy_cpu_tap *tap) {
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

void cvy_cpu_max_pool_backward(const cvy_cpu_call *call, const cvy_cpu_windows *windows,
                               const float *x, const float *dy, float *dx, float *memory) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  int32_t *keys = (int32_t *)(void *)memory, *taps = keys + CVY_CPU_POOL_COLUMNS;
  maxima_run run = {call, x, NULL, keys, taps, windows->columns.begin};
  int64_t count = cvy_range_length(windows->columns);
  for (int64_t i = 0; i < count; i++) keys[i] = CVY_POOLING_NOTHING;
  for (int64_t i = 0; i < count; i++) taps[i] = 0;
  cvy_cpu_pool_taps(p, windows, keep_taps, &run);
  for (int64_t i = 0; i < count; i++) {
    int64_t ow = windows->columns.begin + i;
    if (keys[i] == CVY_POOLING_NOTHING) continue;
    dx[place_of(p, windows->oz, windows->oh, ow, taps[i])] +=
        dy[(windows->oz * p->out[1] + windows->oh) * p->out[2] + ow];
  }
}
