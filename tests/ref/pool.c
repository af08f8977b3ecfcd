/* See pool.h. Windows are lists of elements: each is walked through tap by tap, and gradients ask
 * every window that could have an element whether it does. */
#include "pool.h"

#include <math.h>
#include <stdbool.h>

typedef struct map {
  int64_t extent[3]; /* z h w */
} map;

static map map_of(int rank, const int64_t *shape) {
  map out = {{1, 1, 1}};
  for (int i = 0; i < rank; i++) out.extent[3 - rank + i] = shape[2 + i];
  return out;
}

static int64_t volume_of(const map *of) {
  return of->extent[0] * of->extent[1] * of->extent[2];
}

static void find_place(const map *of, int64_t index, int64_t *at) {
  for (int i = 2; i >= 0; i--) {
    at[i] = index % of->extent[i];
    index /= of->extent[i];
  }
}

/* A field of the window along one of the three axes. */
static int64_t along(const convoy_window *w, const int64_t *field, int axis, int64_t missing) {
  return axis < 3 - w->rank ? missing : field[axis - (3 - w->rank)];
}

typedef struct walk {
  const convoy_window *window;
  map in;
  int64_t o[3], tap[3], element;
  bool inside;     /* the input */
  int64_t counted; /* of this walk so far: inside, or with count_padding in the padding too */
} walk;

static walk begin(const convoy_window *window, const map *in, const map *out, int64_t index) {
  walk self = {.window = window, .in = *in, .tap = {0, 0, -1}};
  find_place(out, index, self.o);
  return self;
}

static bool step(walk *self) {
  for (int axis = 2; axis >= 0; axis--) {
    if (++self->tap[axis] < along(self->window, self->window->extent, axis, 1)) return true;
    self->tap[axis] = 0;
  }
  return false;
}

/* The next element of the window; false: there is none. */
static bool next(walk *self) {
  const convoy_window *w = self->window;
  bool padded = true;
  if (!step(self)) return false;
  self->inside = true;
  self->element = 0;
  for (int axis = 0; axis < 3; axis++) {
    int64_t at = self->o[axis] * along(w, w->stride, axis, 1) - along(w, w->pad_begin, axis, 0) +
                 self->tap[axis] * along(w, w->dilation, axis, 1);
    int64_t extent = self->in.extent[axis];
    self->inside = self->inside && at >= 0 && at < extent;
    padded = padded && at < extent + along(w, w->pad_end, axis, 0);
    self->element = self->element * extent + at;
  }
  self->counted += self->inside || (w->count_padding && padded);
  return true;
}

/* Of a window its maximum's element, -1 if it has none, and how many elements a mean counts. */
static int64_t look(walk self, const float *x, int64_t *counted) {
  int64_t best = -1;
  while (next(&self)) {
    if (!self.inside || !x) continue;
    double value = (double)x[self.element];
    if (best < 0 || value > (double)x[best] || isnan(value)) best = self.element;
  }
  *counted = self.counted;
  return best;
}

static ref_value forward(bool max, walk self, const float *x) {
  int64_t counted, best = look(self, x, &counted);
  ref_value out = {0.0, 0.0, 0};
  if (max) return (ref_value){best < 0 ? -INFINITY : (double)x[best], 0.0, 0};
  while (next(&self)) {
    out.terms++;
    if (!self.inside) continue;
    out.value += (double)x[self.element] / (double)counted;
    out.magnitude += fabs((double)x[self.element]) / (double)counted;
  }
  return out;
}

/* What a window gives to an element. */
static double given(bool max, walk self, const float *x, double dy, int64_t element, bool *any) {
  int64_t counted, best = look(self, x, &counted);
  if (max) {
    *any = best == element;
    return *any ? dy : 0.0;
  }
  for (*any = false; !*any && next(&self);) *any = self.inside && self.element == element;
  return *any ? dy / (double)counted : 0.0;
}

/* Windows that could have an element at `at` of an axis: from here on, so many. */
static int64_t first_window(const convoy_window *w, int axis, int64_t at, int64_t windows,
                            int64_t *count) {
  int64_t stride = along(w, w->stride, axis, 1), pad = along(w, w->pad_begin, axis, 0);
  int64_t reach = (along(w, w->extent, axis, 1) - 1) * along(w, w->dilation, axis, 1) + 1 + stride;
  int64_t from = (at + pad - reach) / stride, to = (at + pad) / stride;
  if (from < 0) from = 0;
  if (to > windows - 1) to = windows - 1;
  *count = to < from ? 0 : to - from + 1;
  return from;
}

static ref_value backward(bool max, const convoy_window *w, const map *in, const map *out,
                          const float *x, const float *dy, int64_t element) {
  int64_t at[3], from[3];
  map near;
  ref_value sum = {0.0, 0.0, 0};
  find_place(in, element, at);
  for (int axis = 0; axis < 3; axis++)
    from[axis] = first_window(w, axis, at[axis], out->extent[axis], &near.extent[axis]);
  for (int64_t i = 0; i < volume_of(&near); i++) {
    int64_t o[3], index = 0;
    bool any;
    find_place(&near, i, o);
    for (int axis = 0; axis < 3; axis++) index = index * out->extent[axis] + from[axis] + o[axis];
    double part = given(max, begin(w, in, out, index), x, (double)dy[index], element, &any);
    sum.terms += any;
    sum.value += part;
    sum.magnitude += fabs(part);
  }
  return sum;
}

ref_value ref_pool(convoy_pool what, const convoy_window *window, const int64_t *x_shape,
                   const int64_t *y_shape, const float *const in[2], int64_t index) {
  map x = map_of(window->rank, x_shape), y = map_of(window->rank, y_shape);
  bool max = what == CONVOY_MAX_POOL || what == CONVOY_MAX_POOL_BACKWARD;
  if (what == CONVOY_MAX_POOL || what == CONVOY_AVERAGE_POOL) {
    int64_t which = index / volume_of(&y);
    walk self = begin(window, &x, &y, index % volume_of(&y));
    return forward(max, self, in[0] + which * volume_of(&x));
  }
  int64_t which = index / volume_of(&x);
  const float *map_of_x = max ? in[0] + which * volume_of(&x) : NULL;
  return backward(max, window, &x, &y, map_of_x, in[max] + which * volume_of(&y),
                  index % volume_of(&x));
}
