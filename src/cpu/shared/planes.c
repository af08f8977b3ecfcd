/* Moving channels into padded planes, row by row. */
#include "cpu/shared/planes.h"

#include <string.h>

#include "cpu/shared/range.h"

cvy_planes_layout cvy_planes_layout_of(const cvy_problem *p) {
  cvy_planes_layout layout = {.problem = p, .plane = 1};
  int64_t phases = 1;
  for (int i = 0; i < 3; i++) {
    layout.extent[i] =
        p->conv.out[i] + (p->conv.filter[i] - 1) * p->conv.dilation[i] / p->conv.stride[i];
    layout.phases[i] = p->conv.filter[i] == 1 ? 1 : p->conv.stride[i];
    layout.plane = cvy_saturating_mul(layout.plane, layout.extent[i]);
    phases = cvy_saturating_mul(phases, layout.phases[i]);
  }
  layout.x_floats = cvy_saturating_mul(layout.plane, phases);
  int64_t rows = cvy_saturating_mul(p->conv.out[0] - 1, layout.extent[1]) + p->conv.out[1] - 1;
  layout.y_floats = cvy_saturating_mul(rows, layout.extent[2]) + p->conv.out[2];
  return layout;
}

/* Where the row of padded coordinates z and h begins: in the plane of its phase and of phase `w` of
 * the last axis, at its place there. */
static int64_t row_place(const cvy_planes_layout *layout, int64_t z, int64_t h, int64_t w) {
  const int64_t *s = layout->problem->conv.stride, *e = layout->extent, *f = layout->phases;
  int64_t phase = (z % s[0] * f[1] + h % s[1]) * f[2] + w;
  return phase * layout->plane + (z / s[0] * e[1] + h / s[1]) * e[2];
}

int64_t cvy_planes_tap(const cvy_planes_layout *layout, int64_t t, int64_t r, int64_t s) {
  const int64_t *d = layout->problem->conv.dilation, stride = layout->problem->conv.stride[2];
  return row_place(layout, t * d[0], r * d[1], s * d[2] % stride) + s * d[2] / stride;
}

/* The elements of an input row that belong to one phase: `count` from x index `first` on, a stride
 * apart, of which the first has place `place`. */
typedef struct phase_row {
  int64_t first, count, place;
} phase_row;

static phase_row phase_row_of(const cvy_planes_layout *layout, int64_t phase) {
  const cvy_problem *p = layout->problem;
  int64_t stride = p->conv.stride[2], pad = p->conv.pad[2];
  int64_t first = ((phase - pad) % stride + stride) % stride;
  int64_t place = (first + pad) / stride;
  int64_t count = first < p->conv.in[2] ? (p->conv.in[2] - 1 - first) / stride + 1 : 0;
  return (phase_row){first, cvy_max(cvy_min(count, layout->extent[2] - place), 0), place};
}

/* How many input rows of an axis have a place. Those behind the last one that any tap reads have
 * none. */
static int64_t used(const cvy_planes_layout *layout, int axis) {
  const cvy_problem *p = layout->problem;
  int64_t places = layout->extent[axis] * p->conv.stride[axis] - p->conv.pad[axis];
  return cvy_max(cvy_min(places, p->conv.in[axis]), 0);
}

static bool is_read(const cvy_planes_layout *layout, int axis, int64_t index) {
  const cvy_problem *p = layout->problem;
  return (index + p->conv.pad[axis]) % p->conv.stride[axis] < layout->phases[axis];
}

/* Loads the rows of depth z that go to phase `phase` of the height. */
static void load_rows(const cvy_planes_layout *layout, const cvy_simd *simd, const float *x,
                      float *to, int64_t z, int64_t phase, int64_t width_phase) {
  const cvy_problem *p = layout->problem;
  int64_t stride = p->conv.stride[1], height = used(layout, 1);
  int64_t first = ((phase - p->conv.pad[1]) % stride + stride) % stride;
  phase_row r = phase_row_of(layout, width_phase);
  if (first >= height || r.count <= 0) return;
  int64_t place = row_place(layout, z + p->conv.pad[0], first + p->conv.pad[1], width_phase);
  simd->gather_rows(
      &(cvy_copy_rows){.from = x + (z * p->conv.in[1] + first) * p->conv.in[2] + r.first,
                       .from_pitch = stride * p->conv.in[2],
                       .to = to + place + r.place,
                       .to_pitch = layout->extent[2],
                       .rows = (height - 1 - first) / stride + 1,
                       .length = r.count},
      p->conv.stride[2]);
}

/* Whether loading leaves places that no element of x goes to. */
static bool has_gaps(const cvy_planes_layout *layout) {
  const cvy_problem *p = layout->problem;
  for (int i = 0; i < 3; i++)
    if (p->conv.pad[i] > 0 || layout->extent[i] * p->conv.stride[i] > p->conv.in[i]) return true;
  return false;
}

void cvy_planes_fill_x(const cvy_planes_layout *layout, const cvy_simd *simd, const float *x,
                       float *to) {
  for (int64_t w = 0; w < layout->phases[2]; w++) {
    for (int64_t z = 0; z < used(layout, 0); z++) {
      for (int64_t h = 0; h < layout->phases[1] && is_read(layout, 0, z); h++)
        load_rows(layout, simd, x, to, z, h, w);
    }
  }
}

void cvy_planes_load_x(const cvy_planes_layout *layout, const cvy_simd *simd, const float *x,
                       float *to) {
  if (has_gaps(layout)) memset(to, 0, (size_t)layout->x_floats * sizeof *to);
  cvy_planes_fill_x(layout, simd, x, to);
}

void cvy_planes_load_y(const cvy_planes_layout *layout, const cvy_simd *simd, const float *y,
                       float *to) {
  const cvy_problem *p = layout->problem;
  for (int64_t z = 0; z < p->conv.out[0]; z++) {
    simd->gather_rows(&(cvy_copy_rows){.from = y + z * p->conv.out[1] * p->conv.out[2],
                                       .from_pitch = p->conv.out[2],
                                       .to = to + z * layout->extent[1] * layout->extent[2],
                                       .to_pitch = layout->extent[2],
                                       .rows = p->conv.out[1],
                                       .length = p->conv.out[2]},
                      1);
  }
}
