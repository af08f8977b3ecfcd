/* See ref.h. A convolution relates two arrays: `dense`, which the filter slides over, and
 * `strided`, which has one position per step. Ordinary: dense is x, strided is y. Transposed: the
 * other way round. The relation is the same: dense position = strided position * stride - pad + tap
 * * dilation, and the weights are [strided channel][dense channel within the group][taps]. */
#include "ref.h"

#include <math.h>
#include <stdbool.h>

#define AXES 3

typedef struct side {
  int64_t channels, extent[AXES];
} side;

typedef struct geometry {
  int64_t batch, groups;
  side dense, strided;
  int64_t taps[AXES], stride[AXES], dilation[AXES], pad[AXES];
} geometry;

static int64_t count_positions(int64_t extent, int64_t taps, int64_t stride, int64_t dilation) {
  int64_t positions = 0;
  for (int64_t first = 0; first + (taps - 1) * dilation < extent; first += stride) positions++;
  return positions;
}

static int64_t count_covered(int64_t extent, int64_t taps, int64_t stride, int64_t dilation) {
  int64_t last = 0;
  for (int64_t i = 1; i < extent; i++) last += stride;
  for (int64_t tap = 1; tap < taps; tap++) last += dilation;
  return last + 1;
}

void ref_output_shape(const convoy_conv *conv, const int64_t *x_shape, const int64_t *w_shape,
                      int64_t *y_shape) {
  y_shape[0] = x_shape[0];
  y_shape[1] = conv->transposed ? w_shape[1] * conv->groups : w_shape[0];
  for (int a = 0; a < conv->rank; a++) {
    const int64_t in = x_shape[2 + a], taps = w_shape[2 + a];
    const int64_t pads = conv->pad_begin[a] + conv->pad_end[a];
    y_shape[2 + a] = conv->transposed
                         ? count_covered(in, taps, conv->stride[a], conv->dilation[a]) - pads +
                               conv->output_padding[a]
                         : count_positions(in + pads, taps, conv->stride[a], conv->dilation[a]);
  }
}

static side make_side(const int64_t *shape, int rank) {
  side s = {.channels = shape[1], .extent = {1, 1, 1}};
  for (int a = 0; a < rank; a++) s.extent[AXES - rank + a] = shape[2 + a];
  return s;
}

/* Axes a problem does not have get extent, tap and stride 1 in front. */
static geometry make_geometry(const convoy_conv *conv, const int64_t *x_shape,
                              const int64_t *w_shape) {
  int64_t y_shape[CONVOY_MAX_DIMS];
  ref_output_shape(conv, x_shape, w_shape, y_shape);
  const side x = make_side(x_shape, conv->rank), y = make_side(y_shape, conv->rank);
  geometry g = {.batch = x_shape[0],
                .groups = conv->groups,
                .dense = conv->transposed ? y : x,
                .strided = conv->transposed ? x : y,
                .taps = {1, 1, 1},
                .stride = {1, 1, 1},
                .dilation = {1, 1, 1}};
  for (int a = 0; a < conv->rank; a++) {
    const int axis = AXES - conv->rank + a;
    g.taps[axis] = w_shape[2 + a];
    g.stride[axis] = conv->stride[a];
    g.dilation[axis] = conv->dilation[a];
    g.pad[axis] = conv->pad_begin[a];
  }
  return g;
}

static int64_t volume(const int64_t *extent) {
  return extent[0] * extent[1] * extent[2];
}

static void split(int64_t index, const int64_t *extent, int64_t *place) {
  for (int a = AXES - 1; a >= 0; a--) {
    place[a] = index % extent[a];
    index /= extent[a];
  }
}

/* Index into a side's array, or -1 if the position lies in the padding. */
static int64_t at(const side *s, int64_t n, int64_t channel, const int64_t *place) {
  int64_t index = n * s->channels + channel;
  for (int a = 0; a < AXES; a++) {
    if (place[a] < 0 || place[a] >= s->extent[a]) return -1;
    index = index * s->extent[a] + place[a];
  }
  return index;
}

static void add(ref_value *s, double a, double b) {
  s->value += a * b;
  s->magnitude += fabs(a) * fabs(b);
  s->terms++;
}

static int64_t dense_per_group(const geometry *g) {
  return g->dense.channels / g->groups;
}

static int64_t strided_per_group(const geometry *g) {
  return g->strided.channels / g->groups;
}

static void reach_dense(const geometry *g, const int64_t *strided, const int64_t *tap,
                        int64_t *dense) {
  for (int a = 0; a < AXES; a++)
    dense[a] = strided[a] * g->stride[a] - g->pad[a] + tap[a] * g->dilation[a];
}

/* The strided position that reaches `dense` with `tap`, if one does. */
static bool reach_strided(const geometry *g, const int64_t *dense, const int64_t *tap,
                          int64_t *strided) {
  for (int a = 0; a < AXES; a++) {
    const int64_t distance = dense[a] + g->pad[a] - tap[a] * g->dilation[a];
    if (distance < 0 || distance % g->stride[a] != 0) return false;
    strided[a] = distance / g->stride[a];
  }
  return true;
}

static ref_value sum_strided(const geometry *g, const float *dense, const float *w, int64_t index) {
  ref_value s = {0};
  const int64_t taps = volume(g->taps), positions = volume(g->strided.extent);
  const int64_t k = index / positions % g->strided.channels;
  const int64_t n = index / positions / g->strided.channels;
  const int64_t first = k / strided_per_group(g) * dense_per_group(g);
  int64_t place[AXES], tap[AXES], reached[AXES];
  split(index % positions, g->strided.extent, place);
  for (int64_t c = 0; c < dense_per_group(g); c++)
    for (int64_t t = 0; t < taps; t++) {
      split(t, g->taps, tap);
      reach_dense(g, place, tap, reached);
      const int64_t from = at(&g->dense, n, first + c, reached);
      if (from >= 0) add(&s, dense[from], w[(k * dense_per_group(g) + c) * taps + t]);
    }
  return s;
}

static ref_value sum_dense(const geometry *g, const float *strided, const float *w, int64_t index) {
  ref_value s = {0};
  const int64_t taps = volume(g->taps), positions = volume(g->dense.extent);
  const int64_t channel = index / positions % g->dense.channels;
  const int64_t n = index / positions / g->dense.channels;
  const int64_t c = channel % dense_per_group(g);
  const int64_t first = channel / dense_per_group(g) * strided_per_group(g);
  int64_t place[AXES], tap[AXES], reached[AXES];
  split(index % positions, g->dense.extent, place);
  for (int64_t k = first; k < first + strided_per_group(g); k++)
    for (int64_t t = 0; t < taps; t++) {
      split(t, g->taps, tap);
      if (!reach_strided(g, place, tap, reached)) continue;
      const int64_t from = at(&g->strided, n, k, reached);
      if (from >= 0) add(&s, strided[from], w[(k * dense_per_group(g) + c) * taps + t]);
    }
  return s;
}

static ref_value sum_weight(const geometry *g, const float *dense, const float *strided,
                            int64_t index) {
  ref_value s = {0};
  const int64_t taps = volume(g->taps), positions = volume(g->strided.extent);
  const int64_t c = index / taps % dense_per_group(g), k = index / taps / dense_per_group(g);
  const int64_t channel = k / strided_per_group(g) * dense_per_group(g) + c;
  int64_t place[AXES], tap[AXES], reached[AXES];
  split(index % taps, g->taps, tap);
  for (int64_t n = 0; n < g->batch; n++)
    for (int64_t o = 0; o < positions; o++) {
      split(o, g->strided.extent, place);
      reach_dense(g, place, tap, reached);
      const int64_t from = at(&g->dense, n, channel, reached);
      if (from >= 0) add(&s, dense[from], strided[at(&g->strided, n, k, place)]);
    }
  return s;
}

static ref_value sum_bias(const geometry *g, const side *y, const float *dy, int64_t index) {
  ref_value s = {0};
  const int64_t positions = volume(y->extent);
  for (int64_t n = 0; n < g->batch; n++)
    for (int64_t o = 0; o < positions; o++)
      add(&s, dy[(n * y->channels + index) * positions + o], 1.0);
  return s;
}

static ref_value element(const geometry *g, int transposed, convoy_direction direction,
                         const float *a, const float *b, int64_t index) {
  const bool to_dense = (direction == CONVOY_BACKWARD_DATA) != (transposed != 0);
  if (direction == CONVOY_BACKWARD_BIAS)
    return sum_bias(g, transposed ? &g->dense : &g->strided, a, index);
  if (direction == CONVOY_BACKWARD_WEIGHTS)
    return transposed ? sum_weight(g, b, a, index) : sum_weight(g, a, b, index);
  return to_dense ? sum_dense(g, a, b, index) : sum_strided(g, a, b, index);
}

void ref_element(const convoy_conv *conv, convoy_direction direction, const int64_t *x_shape,
                 const int64_t *w_shape, const float *a, const float *b, int64_t index,
                 double *value, double *magnitude, int64_t *terms) {
  const geometry g = make_geometry(conv, x_shape, w_shape);
  const ref_value s = element(&g, conv->transposed, direction, a, b, index);
  *value = s.value;
  *magnitude = s.magnitude;
  *terms = s.terms;
}

/* ------------------------------------------------------------- with neighbours (see ref.h) */

typedef struct box {
  int64_t from[AXES], to[AXES]; /* both inclusive */
} box;

/* The positions of the other side that a place meets, with strides of 1, and `reach` more. */
static box meets(const geometry *g, const int64_t *place, int side_of_place, int64_t reach) {
  box b;
  for (int a = 0; a < AXES; a++) {
    const int64_t more = g->taps[a] > 1 ? reach : 0, span = (g->taps[a] - 1) * g->dilation[a];
    const int64_t begin = place[a] + side_of_place * g->pad[a] - (side_of_place > 0 ? span : 0);
    b.from[a] = begin - more;
    b.to[a] = begin + span + more;
  }
  return b;
}

static double largest(const side *s, const float *values, int64_t n, int64_t channel,
                      const box *b) {
  double most = 0;
  int64_t place[AXES];
  for (place[0] = b->from[0]; place[0] <= b->to[0]; place[0]++)
    for (place[1] = b->from[1]; place[1] <= b->to[1]; place[1]++)
      for (place[2] = b->from[2]; place[2] <= b->to[2]; place[2]++) {
        const int64_t i = at(s, n, channel, place);
        if (i >= 0) most = fmax(most, fabs((double)values[i]));
      }
  return most;
}

static double absolute_sum(const float *w, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += fabs((double)w[i]);
  return sum;
}

static double wide_strided(const geometry *g, const float *dense, const float *w, int64_t index,
                           int64_t reach) {
  const int64_t taps = volume(g->taps), positions = volume(g->strided.extent);
  const int64_t k = index / positions % g->strided.channels;
  const int64_t n = index / positions / g->strided.channels;
  int64_t place[AXES];
  split(index % positions, g->strided.extent, place);
  const box b = meets(g, place, -1, reach);
  double sum = 0;
  for (int64_t c = 0; c < dense_per_group(g); c++)
    sum += largest(&g->dense, dense, n, k / strided_per_group(g) * dense_per_group(g) + c, &b) *
           absolute_sum(w + (k * dense_per_group(g) + c) * taps, taps);
  return sum;
}

static double wide_dense(const geometry *g, const float *strided, const float *w, int64_t index,
                         int64_t reach) {
  const int64_t taps = volume(g->taps), positions = volume(g->dense.extent);
  const int64_t channel = index / positions % g->dense.channels;
  const int64_t n = index / positions / g->dense.channels;
  const int64_t c = channel % dense_per_group(g);
  const int64_t first = channel / dense_per_group(g) * strided_per_group(g);
  int64_t place[AXES];
  split(index % positions, g->dense.extent, place);
  const box b = meets(g, place, 1, reach);
  double sum = 0;
  for (int64_t k = first; k < first + strided_per_group(g); k++)
    sum += largest(&g->strided, strided, n, k, &b) *
           absolute_sum(w + (k * dense_per_group(g) + c) * taps, taps);
  return sum;
}

static double wide_weight(const geometry *g, const float *dense, const float *strided,
                          int64_t index, int64_t reach) {
  const int64_t taps = volume(g->taps), positions = volume(g->strided.extent);
  const int64_t c = index / taps % dense_per_group(g), k = index / taps / dense_per_group(g);
  const int64_t channel = k / strided_per_group(g) * dense_per_group(g) + c;
  int64_t place[AXES];
  double sum = 0;
  for (int64_t n = 0; n < g->batch; n++)
    for (int64_t o = 0; o < positions; o++) {
      split(o, g->strided.extent, place);
      const box b = meets(g, place, -1, reach);
      sum += largest(&g->dense, dense, n, channel, &b) *
             fabs((double)strided[at(&g->strided, n, k, place)]);
    }
  return sum;
}

double ref_wide_magnitude(const convoy_conv *conv, convoy_direction direction,
                          const int64_t *x_shape, const int64_t *w_shape, const float *a,
                          const float *b, int64_t index, int64_t reach) {
  const geometry g = make_geometry(conv, x_shape, w_shape);
  const bool to_dense = (direction == CONVOY_BACKWARD_DATA) != (conv->transposed != 0);
  if (direction == CONVOY_BACKWARD_WEIGHTS)
    return conv->transposed ? wide_weight(&g, b, a, index, reach)
                            : wide_weight(&g, a, b, index, reach);
  return to_dense ? wide_dense(&g, a, b, index, reach) : wide_strided(&g, a, b, index, reach);
}

/* ----------------------------------------------------------------------------- all elements */

int64_t ref_output_count(const convoy_conv *conv, convoy_direction direction,
                         const int64_t *x_shape, const int64_t *w_shape) {
  int64_t y_shape[CONVOY_MAX_DIMS];
  ref_output_shape(conv, x_shape, w_shape, y_shape);
  const int64_t *shape[CONVOY_DIRECTIONS] = {y_shape, x_shape, w_shape, NULL};
  if (direction == CONVOY_BACKWARD_BIAS) return y_shape[1];
  int64_t count = 1;
  for (int a = 0; a < conv->rank + 2; a++) count *= shape[direction][a];
  return count;
}

void ref_run(const convoy_conv *conv, convoy_direction direction, const int64_t *x_shape,
             const int64_t *w_shape, const float *a, const float *b, ref_value *out) {
  const geometry g = make_geometry(conv, x_shape, w_shape);
  const int64_t count = ref_output_count(conv, direction, x_shape, w_shape);
  for (int64_t i = 0; i < count; i++) out[i] = element(&g, conv->transposed, direction, a, b, i);
}
