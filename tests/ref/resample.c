/* See resample.h. Of each element of y, and of each axis, all shares of all elements of x can be
 * asked for: forward and backward are sums over these. */
#include "resample.h"

#include <math.h>
#include <stdbool.h>

typedef struct axis {
  int32_t mode;
  int64_t in, out;
  float step;
} axis;

static axis axis_of(const convoy_resampling *how, const int64_t *x, const int64_t *y, int number) {
  int at = number - (3 - how->rank);
  axis self = {how->mode, at < 0 ? 1 : x[2 + at], at < 0 ? 1 : y[2 + at], 0.0f};
  double scale = at < 0 ? 0.0 : how->scale[at];
  if (self.mode == CONVOY_LINEAR_ALIGNED)
    self.step = self.out > 1 ? (float)(self.in - 1) / (float)(self.out - 1) : 0.0f;
  else
    self.step = scale > 0.0 ? (float)(1.0 / scale) : (float)self.in / (float)self.out;
  return self;
}

/* Of element `o` of y. */
static float position_of(const axis *self, int64_t o) {
  float place = (float)o;
  switch (self->mode) {
    case CONVOY_NEAREST_EXACT:
      return (place + 0.5f) * self->step;
    case CONVOY_LINEAR: {
      float shifted = fmaf(place + 0.5f, self->step, -0.5f);
      return shifted < 0.0f ? 0.0f : shifted;
    }
    default:
      return place * self->step;
  }
}

/* How much of element `i` of x is in element `o` of y. */
static double share(const axis *self, int64_t o, int64_t i) {
  float position = position_of(self, o);
  double below = floor((double)position), last = (double)(self->in - 1);
  if (below > last) below = last;
  if (self->mode < CONVOY_LINEAR) return (double)i == below ? 1.0 : 0.0;
  double above = below + 1.0 > last ? last : below + 1.0;
  double high = (double)(position - (float)below), sum = 0.0;
  if (high > 1.0) high = 1.0;
  if ((double)i == below) sum += 1.0 - high;
  if ((double)i == above) sum += high;
  return sum;
}

static void find_place(const axis *axes, bool of_x, int64_t index, int64_t *map, int64_t *at) {
  for (int a = 2; a >= 0; a--) {
    int64_t extent = of_x ? axes[a].in : axes[a].out;
    at[a] = index % extent;
    index /= extent;
  }
  *map = index;
}

/* The elements on the other side of an axis that could have a share. */
static void find_near(const axis *self, bool backward, int64_t at, int64_t *begin, int64_t *end) {
  int64_t other = backward ? self->out : self->in;
  *begin = *end = -1;
  if (!backward) { /* around its position */
    double low = floor((double)position_of(self, at)), last = (double)(other - 1);
    *begin = (int64_t)(low < last ? low : last);
    *end = *begin + 2 < other ? *begin + 2 : other;
    return;
  }
  for (int64_t o = 0; o < other; o++) {
    bool any = share(self, o, at) > 0.0;
    if (any && *begin < 0) *begin = o;
    if (any) *end = o + 1;
  }
}

ref_value ref_resample(int32_t backward, const convoy_resampling *how, const int64_t *x_shape,
                       const int64_t *y_shape, const float *in, int64_t index) {
  axis axes[3];
  int64_t map, at[3], begin[3], end[3], near[3];
  ref_value sum = {0.0, 0.0, 0};
  for (int a = 0; a < 3; a++) axes[a] = axis_of(how, x_shape, y_shape, a);
  find_place(axes, backward, index, &map, at);
  for (int a = 0; a < 3; a++) find_near(&axes[a], backward, at[a], &begin[a], &end[a]);
  for (near[0] = begin[0]; near[0] < end[0]; near[0]++) {
    for (near[1] = begin[1]; near[1] < end[1]; near[1]++) {
      for (near[2] = begin[2]; near[2] < end[2]; near[2]++) {
        double part = 1.0;
        int64_t from = map;
        for (int a = 0; a < 3; a++) {
          part *= backward ? share(&axes[a], near[a], at[a]) : share(&axes[a], at[a], near[a]);
          from = from * (backward ? axes[a].out : axes[a].in) + near[a];
        }
        if (part == 0.0 && how->mode < CONVOY_LINEAR) continue;
        part *= (double)in[from];
        sum.value += part;
        sum.magnitude += fabs(part);
        sum.terms++;
      }
    }
  }
  if (!backward && how->mode < CONVOY_LINEAR) sum.magnitude = 0.0;
  return sum;
}
