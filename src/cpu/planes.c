/* Moving channels in and out of padded planes, a row at a time. */
#include "cpu/planes.h"

#include <string.h>

#include "cpu/span.h"

cvy_planes_layout cvy_planes_layout_of(const cvy_problem *p) {
  cvy_planes_layout layout = {.problem = p, .plane = 1};
  int64_t phases = 1;
  for (int i = 0; i < 3; i++) {
    layout.extent[i] = p->out[i] + (p->filter[i] - 1) * p->dilation[i] / p->stride[i];
    layout.phases[i] = p->filter[i] == 1 ? 1 : p->stride[i];
    layout.plane = cvy_times(layout.plane, layout.extent[i]);
    phases = cvy_times(phases, layout.phases[i]);
  }
  layout.x_floats = cvy_times(layout.plane, phases);
  int64_t rows = cvy_times(p->out[0] - 1, layout.extent[1]) + p->out[1] - 1;
  layout.y_floats = cvy_times(rows, layout.extent[2]) + p->out[2];
  return layout;
}

/* Begin of the row of padded coordinates z and h: the plane of its phase and phase `w` of the last
 * axis, and the place in it. */
static int64_t row_place(const cvy_planes_layout *layout, int64_t z, int64_t h, int64_t w) {
  const int64_t *s = layout->problem->stride, *e = layout->extent, *f = layout->phases;
  int64_t phase = (z % s[0] * f[1] + h % s[1]) * f[2] + w;
  return phase * layout->plane + (z / s[0] * e[1] + h / s[1]) * e[2];
}

int64_t cvy_planes_tap(const cvy_planes_layout *layout, int64_t t, int64_t r, int64_t s) {
  const int64_t *d = layout->problem->dilation, stride = layout->problem->stride[2];
  return row_place(layout, t * d[0], r * d[1], s * d[2] % stride) + s * d[2] / stride;
}

/* One phase of every input row: `count` elements from x index `first` on, a stride apart. */
typedef struct run {
  int64_t first, count, place;
} run;

static run run_of(const cvy_planes_layout *layout, int64_t phase) {
  const cvy_problem *p = layout->problem;
  int64_t stride = p->stride[2], pad = p->pad[2];
  int64_t first = ((phase - pad) % stride + stride) % stride;
  int64_t place = (first + pad) / stride;
  int64_t count = first < p->in[2] ? (p->in[2] - 1 - first) / stride + 1 : 0;
  return (run){first, cvy_most(cvy_least(count, layout->extent[2] - place), 0), place};
}

/* Input rows of an axis that have a place: those behind the last one any tap reads have none. */
static int64_t used(const cvy_planes_layout *layout, int axis) {
  const cvy_problem *p = layout->problem;
  int64_t places = layout->extent[axis] * p->stride[axis] - p->pad[axis];
  return cvy_most(cvy_least(places, p->in[axis]), 0);
}

static bool is_read(const cvy_planes_layout *layout, int axis, int64_t index) {
  const cvy_problem *p = layout->problem;
  return (index + p->pad[axis]) % p->stride[axis] < layout->phases[axis];
}

typedef void move_fn(const cvy_lanes *lanes, int64_t stride, const cvy_rows *x_to_places);

/* Rows of depth z that go to phase `phase` of the height, from h = first on. */
static void move_rows(const cvy_planes_layout *layout, const cvy_lanes *lanes, move_fn *move,
                      float *x, float *planes, int64_t z, int64_t phase, int64_t width_phase) {
  const cvy_problem *p = layout->problem;
  int64_t stride = p->stride[1], height = used(layout, 1);
  int64_t first = ((phase - p->pad[1]) % stride + stride) % stride;
  run r = run_of(layout, width_phase);
  if (first >= height || r.count <= 0) return;
  move(lanes, p->stride[2],
       &(cvy_rows){.from = x + (z * p->in[1] + first) * p->in[2] + r.first,
                   .from_pitch = stride * p->in[2],
                   .to = planes + row_place(layout, z + p->pad[0], first + p->pad[1], width_phase) +
                         r.place,
                   .to_pitch = layout->extent[2],
                   .rows = (height - 1 - first) / stride + 1,
                   .length = r.count});
}

/* Moves each run of x to its place or back. */
static void for_runs(const cvy_planes_layout *layout, const cvy_lanes *lanes, move_fn *move,
                     float *x, float *planes) {
  for (int64_t w = 0; w < layout->phases[2]; w++)
    for (int64_t z = 0; z < used(layout, 0); z++)
      for (int64_t h = 0; h < layout->phases[1] && is_read(layout, 0, z); h++)
        move_rows(layout, lanes, move, x, planes, z, h, w);
}

static void load_rows(const cvy_lanes *lanes, int64_t stride, const cvy_rows *rows) {
  lanes->gather_rows(rows, stride);
}

/* The same rows the other way. */
static cvy_rows turned(const cvy_rows *rows) {
  return (cvy_rows){.from = rows->to,
                    .from_pitch = rows->to_pitch,
                    .to = (float *)rows->from, /* x, which the walk took from its writer */
                    .to_pitch = rows->from_pitch,
                    .rows = rows->rows,
                    .length = rows->length};
}

static void store_rows(const cvy_lanes *lanes, int64_t stride, const cvy_rows *rows) {
  cvy_rows back = turned(rows);
  lanes->scatter_rows(&back, stride);
}

static void add_rows(const cvy_lanes *lanes, int64_t stride, const cvy_rows *rows) {
  cvy_rows back = turned(rows);
  for (int64_t i = 0; i < back.rows; i++, back.to += back.to_pitch, back.from += back.from_pitch)
    lanes->axpy(back.to, stride, back.from, 1, 1.0f, back.length);
}

/* Whether loading leaves places that no element of x goes to. */
static bool has_gaps(const cvy_planes_layout *layout) {
  const cvy_problem *p = layout->problem;
  for (int i = 0; i < 3; i++)
    if (p->pad[i] > 0 || layout->extent[i] * p->stride[i] > p->in[i]) return true;
  return false;
}

/* Loading only reads x; it shares its walk with storing, which writes it. */
void cvy_planes_fill_x(const cvy_planes_layout *layout, const cvy_lanes *lanes, const float *x,
                       float *to) {
  for_runs(layout, lanes, load_rows, (float *)x, to);
}

void cvy_planes_load_x(const cvy_planes_layout *layout, const cvy_lanes *lanes, const float *x,
                       float *to) {
  if (has_gaps(layout)) memset(to, 0, (size_t)layout->x_floats * sizeof *to);
  cvy_planes_fill_x(layout, lanes, x, to);
}

/* Whether every element of x has a place. */
static bool covers(const cvy_planes_layout *layout) {
  const cvy_problem *p = layout->problem;
  for (int i = 0; i < 3; i++)
    if (layout->phases[i] < p->stride[i] || used(layout, i) < p->in[i]) return false;
  return true;
}

void cvy_planes_store_x(const cvy_planes_layout *layout, const cvy_lanes *lanes, float *from,
                        bool add, float *dx) {
  if (!add && !covers(layout)) memset(dx, 0, (size_t)cvy_in_volume(layout->problem) * sizeof *dx);
  for_runs(layout, lanes, add ? add_rows : store_rows, dx, from);
}

/* The rows of y at depth z. */
static cvy_rows rows_of_y(const cvy_planes_layout *layout, int64_t z, const float *from, float *to,
                          bool to_planes) {
  const cvy_problem *p = layout->problem;
  int64_t places = z * layout->extent[1] * layout->extent[2], dense = z * p->out[1] * p->out[2];
  return (cvy_rows){.from = from + (to_planes ? dense : places),
                    .to = to + (to_planes ? places : dense),
                    .from_pitch = to_planes ? p->out[2] : layout->extent[2],
                    .to_pitch = to_planes ? layout->extent[2] : p->out[2],
                    .rows = p->out[1],
                    .length = p->out[2]};
}

void cvy_planes_load_y(const cvy_planes_layout *layout, const cvy_lanes *lanes, const float *y,
                       float *to) {
  for (int64_t z = 0; z < layout->problem->out[0]; z++) {
    cvy_rows rows = rows_of_y(layout, z, y, to, true);
    lanes->gather_rows(&rows, 1);
  }
}

void cvy_planes_store_y(const cvy_planes_layout *layout, const cvy_lanes *lanes, const float *from,
                        bool add, float *y) {
  for (int64_t z = 0; z < layout->problem->out[0]; z++) {
    cvy_rows rows = rows_of_y(layout, z, from, y, false);
    if (!add) lanes->gather_rows(&rows, 1);
    for (int64_t h = 0; add && h < rows.rows; h++)
      lanes->axpy(rows.to + h * rows.to_pitch, 1, rows.from + h * rows.from_pitch, 1, 1.0f,
                  rows.length);
  }
}
