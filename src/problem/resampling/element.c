/* The definition of one element, and which elements of y an element of x is a part of. */
#include "problem/resampling/resampling.h"

typedef struct place {
  int64_t map, at[3];
} place;

static place place_of(int64_t index, const int64_t extent[3]) {
  int64_t row = index / extent[2], plane = row / extent[1];
  return (place){plane / extent[0], {plane % extent[0], row % extent[1], index % extent[2]}};
}

/* ------------------------------------------------------------------------------------- ranges */

/* About where an element of y lies at `target`: the way back, wherever it rounds. */
static double guess(const cvy_resampling_problem *p, int axis, int64_t target) {
  double at = (double)target, step = (double)p->step[axis];
  if (p->mode == CONVOY_NEAREST_EXACT) return at / step - 0.5;
  return p->mode == CONVOY_LINEAR ? (at + 0.5) / step - 0.5 : at / step;
}

int64_t cvy_resampling_first(const cvy_resampling_problem *p, int axis, int64_t target) {
  int64_t out = p->out[axis];
  if (target <= 0) return 0;
  if (target >= p->in[axis] || p->step[axis] == 0.0f) return out;
  double near = guess(p, axis, target);
  int64_t o = !(near > 0.0) ? 0 : near < (double)out ? (int64_t)near : out;
  while (o > 0 && cvy_resampling_place_of(p, axis, o - 1).low >= target) o--;
  while (o < out && cvy_resampling_place_of(p, axis, o).low < target) o++;
  return o;
}

/* Those with it as `low`, and where they are linear as `high`. */
cvy_resampling_range cvy_resampling_reach(const cvy_problem *problem, int axis, int64_t i) {
  const cvy_resampling_problem *p = &problem->resampling;
  int64_t from = cvy_resampling_is_linear(problem) ? i - 1 : i;
  return (cvy_resampling_range){cvy_resampling_first(p, axis, from),
                                cvy_resampling_first(p, axis, i + 1)};
}

/* ------------------------------------------------------------------------------------ elements */

/* The part of element `i` of x that an element of y is made of, along an axis. */
static double share_of(bool linear, cvy_resampling_place at, int64_t i) {
  if (!linear) return at.low == i ? 1.0 : 0.0;
  double high = (double)at.weight;
  return (at.low == i ? 1.0 - high : 0.0) + (at.high == i ? high : 0.0);
}

static cvy_element forward(const cvy_problem *problem, const float *x, int64_t index) {
  const cvy_resampling_problem *p = &problem->resampling;
  place o = place_of(index, p->out);
  bool linear = cvy_resampling_is_linear(problem);
  const float *map = x + cvy_resampling_map(problem, cvy_resampling_x_pitch(problem),
                                            cvy_resampling_in_volume(problem), o.map);
  cvy_resampling_place at[3];
  cvy_element sum = {0.0, 0.0, 0.0};
  for (int axis = 0; axis < 3; axis++) at[axis] = cvy_resampling_place_of(p, axis, o.at[axis]);
  for (int corner = 0; corner < (linear ? 8 : 1); corner++) {
    double share = 1.0;
    int64_t from = 0;
    for (int axis = 0; axis < 3; axis++) {
      bool high = corner >> axis & 1;
      double weight = (double)at[axis].weight;
      if (linear) share *= high ? weight : 1.0 - weight;
      from = from * p->in[axis] + (high ? at[axis].high : at[axis].low);
    }
    sum.value += share * (double)map[from];
    sum.magnitude += fabs(share * (double)map[from]);
  }
  sum.flushed = sum.value;
  if (!linear) sum.magnitude = 0.0; /* it is exact */
  return sum;
}

static cvy_element backward(const cvy_problem *problem, const float *dy, int64_t index) {
  const cvy_resampling_problem *p = &problem->resampling;
  place i = place_of(index, p->in);
  bool linear = cvy_resampling_is_linear(problem);
  const float *map = dy + cvy_resampling_map(problem, cvy_resampling_y_pitch(problem),
                                             cvy_resampling_out_volume(problem), i.map);
  cvy_resampling_range reach[3];
  cvy_element sum = {0.0, 0.0, 0.0};
  for (int axis = 0; axis < 3; axis++)
    reach[axis] = cvy_resampling_reach(problem, axis, i.at[axis]);
  for (int64_t oz = reach[0].begin; oz < reach[0].end; oz++) {
    for (int64_t oh = reach[1].begin; oh < reach[1].end; oh++) {
      for (int64_t ow = reach[2].begin; ow < reach[2].end; ow++) {
        const int64_t o[3] = {oz, oh, ow};
        double part = (double)map[(oz * p->out[1] + oh) * p->out[2] + ow];
        for (int axis = 0; axis < 3; axis++)
          part *= share_of(linear, cvy_resampling_place_of(p, axis, o[axis]), i.at[axis]);
        sum.value += part;
        sum.magnitude += fabs(part);
      }
    }
  }
  sum.flushed = sum.value;
  return sum;
}

cvy_element cvy_resampling_element(const cvy_problem *problem, const cvy_values *from,
                                   int32_t output, int64_t index) {
  (void)output;
  return cvy_resampling_is_backward(problem) ? backward(problem, from->in[0], index)
                                             : forward(problem, from->in[0], index);
}

/* Of an element of x, along an axis: about as many as fit its place, or those at the end. */
static int64_t most_along(const cvy_problem *problem, int axis) {
  const cvy_resampling_problem *p = &problem->resampling;
  int64_t places = cvy_resampling_is_linear(problem) ? 2 : 1, out = p->out[axis];
  cvy_resampling_range last = cvy_resampling_reach(problem, axis, p->in[axis] - 1);
  double usual = p->step[axis] > 0.0f ? (double)places / (double)p->step[axis] + 2.0 : (double)out;
  int64_t most = usual < (double)out ? (int64_t)usual : out;
  return last.end - last.begin > most ? last.end - last.begin : most;
}

int64_t cvy_resampling_terms(const cvy_problem *problem) {
  const cvy_resampling_problem *p = &problem->resampling;
  int64_t terms = 1;
  for (int axis = 0; axis < 3; axis++) {
    if (cvy_resampling_is_backward(problem))
      terms *= most_along(problem, axis);
    else if (cvy_resampling_is_linear(problem) && p->in[axis] > 1)
      terms *= 2;
  }
  return terms;
}
