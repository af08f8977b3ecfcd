/* One element of a result by its definition, in float64: what results of devices are judged by. The
 * loops run over the terms only, so an element costs what one output costs, whatever the array. */
#include <math.h>

#include "problem/conv/conv.h"

/* The arrays of a problem by their letters. */
typedef struct arrays {
  const float *x, *w, *y;
} arrays;

typedef struct sum {
  double value, magnitude;
} sum;

static void add(sum *to, float a, float b) {
  double term = (double)a * (double)b;
  to->value += term;
  to->magnitude += fabs(term);
}

/* A place in space: z h w, or t r s, or oz oh ow. */
typedef struct place {
  int64_t at[3];
} place;

static place place_of(int64_t index, const int64_t extent[3]) {
  place p;
  for (int axis = 2; axis >= 0; axis--) {
    p.at[axis] = index % extent[axis];
    index /= extent[axis];
  }
  return p;
}

static int64_t index_of(const place *p, const int64_t extent[3]) {
  return (p->at[0] * extent[1] + p->at[1]) * extent[2] + p->at[2];
}

/* The input under output `o` and tap `f`; false if it is padding. */
static bool input_at(const cvy_problem *p, const place *o, const place *f, place *in) {
  for (int axis = 0; axis < 3; axis++) {
    in->at[axis] = o->at[axis] * p->conv.stride[axis] - p->conv.pad[axis] +
                   f->at[axis] * p->conv.dilation[axis];
    if (in->at[axis] < 0 || in->at[axis] >= p->conv.in[axis]) return false;
  }
  return true;
}

/* The output that reads input `in` through tap `f`; false if there is none. */
static bool output_at(const cvy_problem *p, const place *in, const place *f, place *o) {
  for (int axis = 0; axis < 3; axis++) {
    int64_t from = in->at[axis] + p->conv.pad[axis] - f->at[axis] * p->conv.dilation[axis];
    o->at[axis] = from / p->conv.stride[axis];
    if (from < 0 || from % p->conv.stride[axis] || o->at[axis] >= p->conv.out[axis]) return false;
  }
  return true;
}

static sum forward(const cvy_problem *p, const arrays *v, int64_t index) {
  int64_t volume = cvy_out_volume(p), taps = cvy_filter_volume(p),
          per_group = p->conv.c / p->conv.groups;
  int64_t k = index / volume % p->conv.k, n = index / volume / p->conv.k;
  int64_t first = k / (p->conv.k / p->conv.groups) * per_group;
  place o = place_of(index % volume, p->conv.out);
  sum total = {0, 0};
  for (int64_t tap = 0; tap < taps; tap++) {
    place f = place_of(tap, p->conv.filter), in;
    if (!input_at(p, &o, &f, &in)) continue;
    const float *x = v->x + cvy_conv_place(p, CVY_X, n, first) + index_of(&in, p->conv.in);
    const float *w = v->w + k * per_group * taps + tap;
    for (int64_t c = 0; c < per_group; c++) add(&total, x[c * cvy_in_volume(p)], w[c * taps]);
  }
  return total;
}

static sum backward_data(const cvy_problem *p, const arrays *v, int64_t index) {
  int64_t volume = cvy_in_volume(p), taps = cvy_filter_volume(p),
          per_group = p->conv.c / p->conv.groups;
  int64_t c = index / volume % p->conv.c, n = index / volume / p->conv.c,
          outs = p->conv.k / p->conv.groups;
  int64_t first = c / per_group * outs;
  place in = place_of(index % volume, p->conv.in);
  sum total = {0, 0};
  for (int64_t tap = 0; tap < taps; tap++) {
    place f = place_of(tap, p->conv.filter), o;
    if (!output_at(p, &in, &f, &o)) continue;
    const float *y = v->y + cvy_conv_place(p, CVY_Y, n, first) + index_of(&o, p->conv.out);
    const float *w = v->w + (first * per_group + c % per_group) * taps + tap;
    for (int64_t k = 0; k < outs; k++)
      add(&total, y[k * cvy_out_volume(p)], w[k * per_group * taps]);
  }
  return total;
}

/* The o with 0 <= o stride + offset < in, as the half-open range [*begin, *end). */
static void range_of(int64_t in, int64_t out, int64_t stride, int64_t offset, int64_t *begin,
                     int64_t *end) {
  *begin = offset >= 0 ? 0 : (stride - 1 - offset) / stride;
  *end = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  if (*end > out) *end = out;
}

/* One plane of x and dy: the products of all outputs under one tap. */
static void add_plane(const cvy_problem *p, const float *x, const float *y, const place *f,
                      sum *total) {
  int64_t offset[3], begin[3], end[3];
  for (int axis = 0; axis < 3; axis++) {
    offset[axis] = f->at[axis] * p->conv.dilation[axis] - p->conv.pad[axis];
    range_of(p->conv.in[axis], p->conv.out[axis], p->conv.stride[axis], offset[axis], &begin[axis],
             &end[axis]);
  }
  for (int64_t oz = begin[0]; oz < end[0]; oz++) {
    for (int64_t oh = begin[1]; oh < end[1]; oh++) {
      int64_t z = oz * p->conv.stride[0] + offset[0], h = oh * p->conv.stride[1] + offset[1];
      const float *from = x + (z * p->conv.in[1] + h) * p->conv.in[2] + offset[2];
      const float *row = y + (oz * p->conv.out[1] + oh) * p->conv.out[2];
      for (int64_t ow = begin[2]; ow < end[2]; ow++)
        add(total, from[ow * p->conv.stride[2]], row[ow]);
    }
  }
}

static sum backward_weights(const cvy_problem *p, const arrays *v, int64_t index) {
  int64_t taps = cvy_filter_volume(p), per_group = p->conv.c / p->conv.groups;
  int64_t k = index / taps / per_group;
  int64_t c = k / (p->conv.k / p->conv.groups) * per_group + index / taps % per_group;
  place f = place_of(index % taps, p->conv.filter);
  sum total = {0, 0};
  for (int64_t n = 0; n < p->conv.n; n++) {
    add_plane(p, v->x + cvy_conv_place(p, CVY_X, n, c), v->y + cvy_conv_place(p, CVY_Y, n, k), &f,
              &total);
  }
  return total;
}

static sum backward_bias(const cvy_problem *p, const arrays *v, int64_t index) {
  sum total = {0, 0};
  for (int64_t n = 0; n < p->conv.n; n++) {
    const float *y = v->y + cvy_conv_place(p, CVY_Y, n, index);
    for (int64_t i = 0; i < cvy_out_volume(p); i++) add(&total, y[i], 1.0f);
  }
  return total;
}

typedef sum element_fn(const cvy_problem *problem, const arrays *values, int64_t index);

static element_fn *const directions[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = forward,
    [CONVOY_BACKWARD_DATA] = backward_data,
    [CONVOY_BACKWARD_WEIGHTS] = backward_weights,
    [CONVOY_BACKWARD_BIAS] = backward_bias,
};

static arrays arrays_of(const cvy_problem *problem, const float *a, const float *b) {
  const float *values[] = {[CVY_X] = NULL, [CVY_W] = NULL, [CVY_Y] = NULL};
  values[cvy_conv_in(problem, 0)] = a;
  if (cvy_problem_inputs(problem) > 1) values[cvy_conv_in(problem, 1)] = b;
  return (arrays){values[CVY_X], values[CVY_W], values[CVY_Y]};
}

/* The channel of the result's element, whose bias is added. */
static int64_t channel_of(const cvy_problem *p, int64_t index) {
  return p->operation == CONVOY_BACKWARD_DATA ? index / cvy_in_volume(p) % p->conv.c
                                              : index / cvy_out_volume(p) % p->conv.k;
}

static double activated(const cvy_problem *problem, double value) {
  double slope = problem->conv.activation == CONVOY_LEAKY_RELU ? (double)problem->conv.slope : 0.0;
  if (problem->conv.activation == CONVOY_IDENTITY || value > 0 || isnan(value)) return value;
  return slope * value;
}

/* What the result's element had before. */
static double prior_of(const cvy_problem *problem, const cvy_values *from, int64_t index) {
  cvy_array out = cvy_problem_output(problem, 0);
  if (!problem->accumulate) return 0.0;
  return (double)from->in[cvy_problem_inputs(problem)][cvy_array_place(&out, index)];
}

cvy_element cvy_conv_element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                             int64_t index) {
  (void)output;
  arrays values = arrays_of(problem, from->in[0], from->in[1]);
  sum total = directions[problem->operation](problem, &values, index);
  double bias = problem->conv.has_bias ? (double)from->in[2][channel_of(problem, index)] : 0.0;
  double prior = prior_of(problem, from, index);
  double steepest = fmax(1.0, fabs((double)problem->conv.slope));
  double value = activated(problem, total.value + bias + prior);
  return (cvy_element){.value = value,
                       .magnitude = steepest * (total.magnitude + fabs(bias) + fabs(prior)),
                       .flushed = value};
}

int64_t cvy_conv_terms(const cvy_problem *p) {
  const int64_t terms[CONVOY_DIRECTIONS] = {
      [CONVOY_FORWARD] = p->conv.c / p->conv.groups * cvy_filter_volume(p),
      [CONVOY_BACKWARD_DATA] = p->conv.k / p->conv.groups * cvy_filter_volume(p),
      [CONVOY_BACKWARD_WEIGHTS] = p->conv.n * cvy_out_volume(p),
      [CONVOY_BACKWARD_BIAS] = p->conv.n * cvy_out_volume(p),
  };
  return terms[p->operation];
}

double cvy_conv_bound(const cvy_problem *problem, double magnitude) {
  return cvy_sum_bound(cvy_conv_terms(problem), magnitude);
}
