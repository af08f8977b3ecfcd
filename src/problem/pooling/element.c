/* The definition of one element. */
#include <math.h>

#include "problem/pooling/pooling.h"

typedef struct place {
  int64_t map, at[3];
} place;

static place place_of(int64_t index, const int64_t extent[3]) {
  int64_t row = index / extent[2], plane = row / extent[1];
  return (place){plane / extent[0], {plane % extent[0], row % extent[1], index % extent[2]}};
}

/* Where tap `tap` of window `o` lies in the map; false: in the padding. */
static bool find_tap(const cvy_pooling_problem *p, const int64_t o[3], int64_t tap, int64_t *out) {
  int64_t left = tap, number[3];
  for (int axis = 2; axis >= 0; axis--) {
    number[axis] = left % p->window[axis];
    left /= p->window[axis];
  }
  *out = 0;
  for (int axis = 0; axis < 3; axis++) {
    int64_t at = o[axis] * p->stride[axis] - p->pad[axis] + number[axis] * p->dilation[axis];
    if (at < 0 || at >= p->in[axis]) return false;
    *out = *out * p->in[axis] + at;
  }
  return true;
}

/* ----------------------------------------------------------------------------------- windows */

static int32_t bits_of(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The place of the maximum in its map; -1: the window has nothing of it. */
static int64_t find_maximum(const cvy_problem *problem, const float *map, const int64_t o[3]) {
  int64_t taps = cvy_pooling_taps(problem), found = -1, at;
  int32_t best = CVY_POOLING_NOTHING;
  for (int64_t tap = 0; tap < taps; tap++) {
    if (!find_tap(&problem->pooling, o, tap, &at)) continue;
    int32_t key = cvy_pooling_key(bits_of(map[at]));
    if (!cvy_pooling_takes(key, best)) continue;
    best = key;
    found = at;
  }
  return found;
}

static double divisor(const cvy_pooling_problem *p, const int64_t o[3]) {
  double counted = 1.0;
  for (int axis = 0; axis < 3; axis++) counted *= (double)cvy_pooling_counted(p, axis, o[axis]);
  return counted;
}

/* Map `map` of all images of x. */
static const float *map_of(const cvy_problem *problem, const float *x, int64_t map) {
  return x + cvy_pooling_map(problem, cvy_pooling_x_pitch(problem), cvy_pooling_in_volume(problem),
                             map);
}

static cvy_element maximum(const cvy_problem *problem, const float *x, int64_t index) {
  place o = place_of(index, problem->pooling.out);
  const float *map = map_of(problem, x, o.map);
  int64_t at = find_maximum(problem, map, o.at);
  double value = at < 0 ? -INFINITY : (double)map[at];
  return (cvy_element){.value = value, .flushed = value};
}

static cvy_element average(const cvy_problem *problem, const float *x, int64_t index) {
  place o = place_of(index, problem->pooling.out);
  const float *map = map_of(problem, x, o.map);
  int64_t taps = cvy_pooling_taps(problem), at;
  double sum = 0.0, magnitude = 0.0, share = 1.0 / divisor(&problem->pooling, o.at);
  for (int64_t tap = 0; tap < taps; tap++) {
    if (!find_tap(&problem->pooling, o.at, tap, &at)) continue;
    sum += (double)map[at];
    magnitude += fabs((double)map[at]);
  }
  return (cvy_element){sum * share, magnitude * share, sum * share};
}

/* --------------------------------------------------------------------------------- gradients */

/* The windows of an axis that have an element: [begin, end), some of which may step over it. */
typedef struct window_range {
  int64_t begin, end;
} window_range;

static window_range windows_of(const cvy_pooling_problem *p, int axis, int64_t at) {
  int64_t first = at + p->pad[axis] - (p->window[axis] - 1) * p->dilation[axis];
  int64_t begin = first <= 0 ? 0 : (first + p->stride[axis] - 1) / p->stride[axis];
  int64_t end = (at + p->pad[axis]) / p->stride[axis] + 1;
  return (window_range){begin, end < p->out[axis] ? end : p->out[axis]};
}

/* Whether window `o`, which may reach over the element, counts: an average has no gaps. */
static bool counts(const cvy_problem *problem, const float *map, const int64_t o[3],
                   int64_t index) {
  return !cvy_pooling_is_max(problem) || find_maximum(problem, map, o) == index;
}

/* What is added to. */
static double prior_of(const cvy_problem *problem, const cvy_values *from, int64_t index) {
  if (!problem->accumulate) return 0.0;
  const cvy_array dx = cvy_problem_output(problem, 0);
  return (double)from->in[cvy_problem_inputs(problem)][cvy_array_place(&dx, index)];
}

static cvy_element gradient(const cvy_problem *problem, const cvy_values *from, int64_t index) {
  const cvy_pooling_problem *p = &problem->pooling;
  place in = place_of(index, p->in);
  bool max = cvy_pooling_is_max(problem);
  int64_t first = in.map * cvy_pooling_in_volume(problem);
  const float *map = max ? map_of(problem, from->in[0], in.map) : NULL;
  const float *dy = from->in[max] + cvy_pooling_map(problem, cvy_pooling_y_pitch(problem),
                                                    cvy_pooling_out_volume(problem), in.map);
  double sum = prior_of(problem, from, index), magnitude = fabs(sum);
  window_range z = windows_of(p, 0, in.at[0]), h = windows_of(p, 1, in.at[1]),
               w = windows_of(p, 2, in.at[2]);
  for (int64_t oz = z.begin; oz < z.end; oz++) {
    for (int64_t oh = h.begin; oh < h.end; oh++) {
      for (int64_t ow = w.begin; ow < w.end; ow++) {
        const int64_t o[3] = {oz, oh, ow};
        if (!counts(problem, map, o, index - first)) continue;
        double part = (double)dy[(oz * p->out[1] + oh) * p->out[2] + ow];
        if (!max) part /= divisor(p, o);
        sum += part;
        magnitude += fabs(part);
      }
    }
  }
  return (cvy_element){sum, magnitude, sum};
}

cvy_element cvy_pooling_element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                                int64_t index) {
  (void)output;
  if (cvy_pooling_is_backward(problem)) return gradient(problem, from, index);
  return cvy_pooling_is_max(problem) ? maximum(problem, from->in[0], index)
                                     : average(problem, from->in[0], index);
}

/* The most windows that have an element. */
static int64_t most_windows(const cvy_pooling_problem *p) {
  int64_t windows = 1;
  for (int axis = 0; axis < 3; axis++) {
    int64_t many = (p->window[axis] - 1) * p->dilation[axis] / p->stride[axis] + 1;
    if (many > p->window[axis]) many = p->window[axis];
    windows *= many < p->out[axis] ? many : p->out[axis];
  }
  return windows;
}

int64_t cvy_pooling_summed(const cvy_problem *problem) {
  return cvy_pooling_is_backward(problem) ? most_windows(&problem->pooling)
                                          : cvy_pooling_taps(problem);
}

/* A maximum's gradient looks at the elements of each window. */
int64_t cvy_pooling_terms(const cvy_problem *problem) {
  int64_t looks = problem->operation == CVY_POOLING_MAX_BACKWARD ? cvy_pooling_taps(problem) : 1;
  return cvy_pooling_summed(problem) * looks;
}
