/* The magnitude by which results of algorithms are judged that mix neighbouring values: every value
 * counts as the largest near it. See Accuracy in convoy.h. Strides are 1. */
#include <math.h>

#include "problem/conv/conv.h"

/* Places of an axis, begin to end. */
typedef struct stretch {
  int64_t begin[3], end[3];
} stretch;

/* What output `at`, or with `back` the outputs that read input `at`, see of the other side, widened
 * and cut to its extents. */
static stretch window(const cvy_problem *p, const int64_t at[3], bool back, int64_t reach) {
  stretch w;
  for (int i = 0; i < 3; i++) {
    int64_t span = (p->conv.filter[i] - 1) * p->conv.dilation[i],
            wide = p->conv.filter[i] > 1 ? reach : 0;
    int64_t first = back ? at[i] + p->conv.pad[i] - span : at[i] - p->conv.pad[i];
    int64_t extent = back ? p->conv.out[i] : p->conv.in[i];
    w.begin[i] = first - wide > 0 ? first - wide : 0;
    w.end[i] = first + span + wide + 1 < extent ? first + span + wide + 1 : extent;
  }
  return w;
}

static double largest(const float *plane, const int64_t extent[3], const stretch *w) {
  float most = 0;
  for (int64_t z = w->begin[0]; z < w->end[0]; z++)
    for (int64_t h = w->begin[1]; h < w->end[1]; h++)
      for (int64_t i = w->begin[2]; i < w->end[2]; i++)
        most = fmaxf(most, fabsf(plane[(z * extent[1] + h) * extent[2] + i]));
  return (double)most;
}

static double sum_taps(const float *w, int64_t taps) {
  double sum = 0;
  for (int64_t i = 0; i < taps; i++) sum += fabs((double)w[i]);
  return sum;
}

static void place_of(int64_t index, const int64_t extent[3], int64_t at[3]) {
  at[2] = index % extent[2];
  at[1] = index / extent[2] % extent[1];
  at[0] = index / extent[2] / extent[1];
}

static double forward(const cvy_problem *p, const cvy_values *from, int64_t index, int64_t reach) {
  int64_t volume = cvy_out_volume(p), taps = cvy_filter_volume(p),
          channels = p->conv.c / p->conv.groups;
  int64_t k = index / volume % p->conv.k, n = index / volume / p->conv.k, at[3];
  int64_t first = k / (p->conv.k / p->conv.groups) * channels;
  place_of(index % volume, p->conv.out, at);
  stretch w = window(p, at, false, reach);
  const float *x = from->in[0] + cvy_conv_place(p, CVY_X, n, first);
  double sum = 0;
  for (int64_t c = 0; c < channels; c++)
    sum += largest(x + c * cvy_in_volume(p), p->conv.in, &w) *
           sum_taps(from->in[1] + (k * channels + c) * taps, taps);
  return sum;
}

static double backward_data(const cvy_problem *p, const cvy_values *from, int64_t index,
                            int64_t reach) {
  int64_t volume = cvy_in_volume(p), taps = cvy_filter_volume(p),
          channels = p->conv.c / p->conv.groups;
  int64_t c = index / volume % p->conv.c, n = index / volume / p->conv.c,
          outs = p->conv.k / p->conv.groups, at[3];
  int64_t first = c / channels * outs;
  place_of(index % volume, p->conv.in, at);
  stretch w = window(p, at, true, reach);
  double sum = 0;
  for (int64_t k = first; k < first + outs; k++)
    sum += largest(from->in[0] + cvy_conv_place(p, CVY_Y, n, k), p->conv.out, &w) *
           sum_taps(from->in[1] + (k * channels + c % channels) * taps, taps);
  return sum;
}

static double backward_weights(const cvy_problem *p, const cvy_values *from, int64_t index,
                               int64_t reach) {
  int64_t taps = cvy_filter_volume(p), channels = p->conv.c / p->conv.groups,
          volume = cvy_out_volume(p);
  int64_t k = index / taps / channels, at[3];
  int64_t c = k / (p->conv.k / p->conv.groups) * channels + index / taps % channels;
  double sum = 0;
  for (int64_t n = 0; n < p->conv.n; n++) {
    const float *x = from->in[0] + cvy_conv_place(p, CVY_X, n, c);
    const float *dy = from->in[1] + cvy_conv_place(p, CVY_Y, n, k);
    for (int64_t o = 0; o < volume; o++) {
      place_of(o, p->conv.out, at);
      stretch w = window(p, at, false, reach);
      sum += largest(x, p->conv.in, &w) * fabs((double)dy[o]);
    }
  }
  return sum;
}

typedef double magnitude_fn(const cvy_problem *p, const cvy_values *from, int64_t index,
                            int64_t reach);

double cvy_conv_wide_magnitude(const cvy_problem *problem, const cvy_values *from, int64_t index,
                               int64_t reach) {
  static magnitude_fn *const directions[] = {[CONVOY_FORWARD] = forward,
                                             [CONVOY_BACKWARD_DATA] = backward_data,
                                             [CONVOY_BACKWARD_WEIGHTS] = backward_weights};
  double steepest = fmax(1.0, fabs((double)problem->conv.slope));
  return steepest * directions[problem->operation](problem, from, index, reach);
}
