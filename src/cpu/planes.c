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

typedef void move_fn(const cvy_lanes *lanes, int64_t stride, int64_t count, float *x, float *place);

/* Moves each run of x to its place or back. */
static void for_runs(const cvy_planes_layout *layout, const cvy_lanes *lanes, move_fn *move,
                     float *x, float *planes) {
  const cvy_problem *p = layout->problem;
  int64_t depth = used(layout, 0), height = used(layout, 1);
  for (int64_t phase = 0; phase < layout->phases[2]; phase++) {
    run r = run_of(layout, phase);
    for (int64_t z = 0; z < depth && r.count > 0; z++)
      for (int64_t h = 0; h < height; h++)
        if (is_read(layout, 0, z) && is_read(layout, 1, h))
          move(lanes, p->stride[2], r.count, x + (z * p->in[1] + h) * p->in[2] + r.first,
               planes + row_place(layout, z + p->pad[0], h + p->pad[1], phase) + r.place);
  }
}

static void load_run(const cvy_lanes *lanes, int64_t stride, int64_t count, float *x,
                     float *place) {
  lanes->gather(place, x, stride, count);
}

static void store_run(const cvy_lanes *lanes, int64_t stride, int64_t count, float *x,
                      float *place) {
  lanes->axpy(x, stride, place, 1, 1.0f, count);
}

/* Whether loading leaves places that no element of x goes to. */
static bool has_gaps(const cvy_planes_layout *layout) {
  const cvy_problem *p = layout->problem;
  for (int i = 0; i < 3; i++)
    if (p->pad[i] > 0 || layout->extent[i] * p->stride[i] > p->in[i]) return true;
  return false;
}

/* Loading only reads x; it shares its walk with storing, which writes it. */
void cvy_planes_load_x(const cvy_planes_layout *layout, const cvy_lanes *lanes, const float *x,
                       float *to) {
  if (has_gaps(layout)) memset(to, 0, (size_t)layout->x_floats * sizeof *to);
  for_runs(layout, lanes, load_run, (float *)x, to);
}

void cvy_planes_store_x(const cvy_planes_layout *layout, const cvy_lanes *lanes, float *from,
                        bool add, float *dx) {
  if (!add) memset(dx, 0, (size_t)cvy_in_volume(layout->problem) * sizeof *dx);
  for_runs(layout, lanes, store_run, dx, from);
}

void cvy_planes_load_y(const cvy_planes_layout *layout, const float *y, float *to) {
  const cvy_problem *p = layout->problem;
  for (int64_t z = 0; z < p->out[0]; z++)
    for (int64_t h = 0; h < p->out[1]; h++, y += p->out[2])
      memcpy(to + (z * layout->extent[1] + h) * layout->extent[2], y,
             (size_t)p->out[2] * sizeof *y);
}

void cvy_planes_store_y(const cvy_planes_layout *layout, const cvy_lanes *lanes, const float *from,
                        bool add, float *y) {
  const cvy_problem *p = layout->problem;
  for (int64_t z = 0; z < p->out[0]; z++)
    for (int64_t h = 0; h < p->out[1]; h++, y += p->out[2]) {
      const float *row = from + (z * layout->extent[1] + h) * layout->extent[2];
      if (add)
        lanes->axpy(y, 1, row, 1, 1.0f, p->out[2]);
      else
        memcpy(y, row, (size_t)p->out[2] * sizeof *y);
    }
}
