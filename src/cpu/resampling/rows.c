/* One row of y: nearest elements, or the sum of rows of x and then of neighbours in it. */
#include <string.h>

#include "cpu/resampling/resample.h"

/* ----------------------------------------------------------------------------------- nearest */

static void double_row(const float *x, float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    memcpy(y + 2 * i, x + i, sizeof *y);
    memcpy(y + 2 * i + 1, x + i, sizeof *y);
  }
}

static void take_row(const float *x, const int32_t *low, float *y, int64_t count) {
  for (int64_t o = 0; o < count; o++) memcpy(y + o, x + low[o], sizeof *y);
}

static void add_doubled(const float *dy, float *dx, int64_t count) {
  for (int64_t i = 0; i < count; i++) dx[i] = dx[i] + dy[2 * i] + dy[2 * i + 1];
}

static void add_row(const float *dy, const int32_t *low, float *dx, int64_t count) {
  for (int64_t o = 0; o < count; o++) dx[low[o]] += dy[o];
}

/* ------------------------------------------------------------------------------------- linear */

static void sum_rows(const cvy_cpu_resampling *run, const cvy_cpu_sources *from, const float *x,
                     float *row) {
  int64_t count = run->p->in[2];
  for (int64_t i = 0; i < count; i++) row[i] = from->weight[0] * x[from->row[0] + i];
  for (int32_t k = 1; k < from->count; k++)
    run->call->simd->axpy(row, 1, x + from->row[k], 1, from->weight[k], count);
}

static void mix_row(const cvy_cpu_places *places, const float *row, float *y, int64_t count) {
  const int32_t *low = places->low[2], *high = places->high[2];
  const float *weight = places->weight[2];
  for (int64_t o = 0; o < count; o++)
    y[o] = (1.0f - weight[o]) * row[low[o]] + weight[o] * row[high[o]];
}

static void part_row(const cvy_cpu_places *places, const float *dy, float *row, int64_t count) {
  const int32_t *low = places->low[2], *high = places->high[2];
  const float *weight = places->weight[2];
  for (int64_t o = 0; o < count; o++) {
    row[low[o]] += (1.0f - weight[o]) * dy[o];
    row[high[o]] += weight[o] * dy[o];
  }
}

/* -------------------------------------------------------------------------------- either way */

void cvy_cpu_resample_row(const cvy_cpu_resampling *run, const cvy_cpu_sources *from,
                          const float *x, float *y, float *row) {
  int64_t count = run->p->out[2];
  if (cvy_resampling_doubles(run->call->problem, 2)) {
    double_row(x + from->row[0], y, run->p->in[2]);
  } else if (!cvy_resampling_is_linear(run->call->problem)) {
    take_row(x + from->row[0], run->places.low[2], y, count);
  } else {
    sum_rows(run, from, x, row);
    mix_row(&run->places, row, y, count);
  }
}

void cvy_cpu_resample_row_backward(const cvy_cpu_resampling *run, const cvy_cpu_sources *from,
                                   const float *dy, float *dx, float *row) {
  int64_t count = run->p->out[2];
  if (cvy_resampling_doubles(run->call->problem, 2)) {
    add_doubled(dy, dx + from->row[0], run->p->in[2]);
  } else if (!cvy_resampling_is_linear(run->call->problem)) {
    add_row(dy, run->places.low[2], dx + from->row[0], count);
  } else {
    memset(row, 0, (size_t)run->p->in[2] * sizeof *row);
    part_row(&run->places, dy, row, count);
    for (int32_t k = 0; k < from->count; k++)
      run->call->simd->axpy(dx + from->row[k], 1, row, 1, from->weight[k], run->p->in[2]);
  }
}
