/* cpu.copy: rows of y, each taken from x as one piece, or apart, or in tiles where x lies across.
 */
#include <string.h>

#include "cpu/row.h"
#include "cpu/shared/range.h"
#include "cpu/threads/heartbeat.h"
#include "problem/move/move.h"

enum {
  COLUMNS = 16384, /* of a row that a thread takes at a time */
  TILE = 16,       /* neighbours in x: a line of cache */
  ACROSS = 8,      /* lines of x at a time: as many as any cache keeps of one set */
  LEAST_ACROSS = 8 /* of so few neighbours a line of cache is not worth a tile */
};

typedef struct copy_run {
  const cvy_move_copy *p;
  const cvy_simd *simd;
  const void *x;
  float *y;
  int32_t last;   /* axis of a row */
  int64_t pieces; /* of a row */
  int32_t across; /* tiles: the axis whose elements are neighbours in x */
  int64_t blocks; /* of it */
} copy_run;

/* ------------------------------------------------------------------------------------- lines */

static const char *element_at(const copy_run *run, int64_t at) {
  return (const char *)run->x + at * cvy_dtype_bytes(run->p->dtype);
}

static void fill_line(float *to, float value, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = value;
}

static void take_floats(const copy_run *run, float *to, const float *from, int64_t stride,
                        int64_t count) {
  if (stride == 1)
    memcpy(to, from, (size_t)count * sizeof *to);
  else if (stride > 1)
    run->simd->gather(to, from, stride, count);
  else
    for (int64_t i = 0; i < count; i++) memcpy(to + i, from + i * stride, sizeof *to);
}

/* to[i] = x[at + i stride] */
static void take_line(const copy_run *run, float *to, int64_t at, int64_t stride, int64_t count) {
  const void *from = element_at(run, at);
  const int32_t *numbers = from;
  const uint8_t *bytes = from;
  if (run->p->dtype == CONVOY_FLOAT32)
    take_floats(run, to, from, stride, count);
  else if (run->p->dtype == CONVOY_INT32)
    for (int64_t i = 0; i < count; i++) to[i] = (float)numbers[i * stride];
  else
    for (int64_t i = 0; i < count; i++) to[i] = (float)bytes[i * stride];
}

/* -------------------------------------------------------------------------------------- rows */

/* Columns `columns` of a row; `at`: where x has the row's first element, -1: it has none. */
static void make_columns(const copy_run *run, int64_t at, cvy_range columns, float *y) {
  const cvy_move_copy *p = run->p;
  int64_t count = p->count[run->last], begin = p->begin[run->last], step = p->step[run->last],
          stride = p->stride[run->last];
  if (at < 0) count = 0;
  cvy_range some =
      cvy_outputs_inside(columns.end - columns.begin, count, step, begin - columns.begin);
  int64_t length = cvy_range_length(columns), first = begin + some.begin * step - columns.begin;
  if (step == 1 && cvy_range_length(some) > 0) {
    int64_t end = first + cvy_range_length(some);
    fill_line(y, p->fill, first);
    take_line(run, y + first, at + some.begin * stride, stride, cvy_range_length(some));
    fill_line(y + end, p->fill, length - end);
    return;
  }
  fill_line(y, p->fill, length);
  for (int64_t k = some.begin; k < some.end; k++)
    take_line(run, y + begin + k * step - columns.begin, at + k * stride, 1, 1);
}

/* Where x has the first element of a row; -1: it is outside the box. */
static int64_t find_row(const cvy_move_copy *p, int64_t row) {
  int64_t at = p->offset;
  for (int32_t axis = p->axes - 2; axis >= 0; axis--) {
    int64_t place = row % p->extent[axis] - p->begin[axis], k = place / p->step[axis];
    row /= p->extent[axis];
    if (place < 0 || k * p->step[axis] != place || k >= p->count[axis]) return -1;
    at += k * p->stride[axis];
  }
  return at;
}

static void make_rows(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const copy_run *run = arg;
  int64_t length = run->p->extent[run->last];
  (void)slot;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    int64_t row = i / run->pieces, first = i % run->pieces * COLUMNS;
    cvy_range columns = {first, cvy_min(first + COLUMNS, length)};
    make_columns(run, find_row(run->p, row), columns, run->y + row * length + first);
  }
}

/* ------------------------------------------------------------------------------------- tiles */

/* An axis whose elements are neighbours in x, with y's rows across; -1: there is none, or it would
 * not pay. */
static int32_t find_across(const cvy_move_copy *p) {
  int32_t last = p->axes - 1;
  if (!cvy_move_copy_is_full(p) || p->dtype != CONVOY_FLOAT32) return -1;
  if (p->stride[last] == 1) return -1;
  for (int32_t axis = 0; axis < last; axis++)
    if (p->stride[axis] == 1 && p->extent[axis] >= LEAST_ACROSS) return axis;
  return -1;
}

/* A block of the axis across, all of a row long. */
static void make_tiles_of(const copy_run *run, int64_t at, float *y, int64_t pitch, int64_t count) {
  const float *x = (const float *)run->x + at;
  int64_t stride = run->p->stride[run->last], length = run->p->extent[run->last];
  for (int64_t first = 0; first < length; first += ACROSS) {
    int64_t end = cvy_min(first + ACROSS, length);
    for (int64_t i = 0; i < count; i++)
      for (int64_t column = first; column < end; column++)
        memcpy(y + i * pitch + column, x + i + column * stride, sizeof *y);
  }
}

static void make_tiles(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const copy_run *run = arg;
  const cvy_move_copy *p = run->p;
  (void)slot;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    int64_t rest = i, at = p->offset, to = 0, pitch = p->extent[run->last], across = 0, first = 0;
    for (int32_t axis = run->last - 1; axis >= 0; axis--) {
      int64_t extent = axis == run->across ? run->blocks : p->extent[axis];
      int64_t place = rest % extent * (axis == run->across ? TILE : 1);
      rest /= extent;
      if (axis == run->across) {
        across = pitch;
        first = place;
      }
      at += place * p->stride[axis];
      to += place * pitch;
      pitch *= p->extent[axis];
    }
    int64_t count = cvy_min(TILE, p->extent[run->across] - first);
    make_tiles_of(run, at, run->y + to, across, count);
  }
}

/* --------------------------------------------------------------------------------------- row */

static void run_copy(const cvy_cpu_call *call) {
  const cvy_move_copy *p = &call->problem->move.copy;
  int32_t last = p->axes - 1;
  copy_run run = {p, call->simd, call->in[0], call->out[0], last, 0, find_across(p), 0};
  int64_t rows = cvy_move_copy_results(p) / p->extent[last];
  run.pieces = cvy_div_up(p->extent[last], COLUMNS);
  if (run.across < 0) {
    cvy_parallel_for(call->threads, rows * run.pieces, make_rows, &run);
    return;
  }
  run.blocks = cvy_div_up(p->extent[run.across], TILE);
  cvy_parallel_for(call->threads, rows / p->extent[run.across] * run.blocks, make_tiles, &run);
}

const cvy_cpu_row cvy_cpu_copy = {
    {.name = "cpu.copy", .operations = CVY_OPERATION_BIT(CVY_MOVE_COPY), .conservative = true},
    run_copy};
