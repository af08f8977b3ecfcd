/* Excerpts of convolutions. Groups are independent of each other; of one group
 *
 * - forward: one image and one of its output channels;
 * - backward_data: one image, all its channels, whose filters lie together;
 * - backward_weights: one input and one output channel, of all images;
 * - backward_bias: one channel, of all images. */
#include "problem/excerpt.h"
#include "problem/conv/conv.h"

enum { FLOAT = sizeof(float) };

/* Channels of each side in a group, and the bytes of a filter of one channel. */
typedef struct sizes {
  int64_t c, k, filter;
} sizes;

static sizes sizes_of(const cvy_problem *p) {
  const cvy_conv_problem *conv = &p->conv;
  return (sizes){conv->c / conv->groups, conv->k / conv->groups, FLOAT * cvy_filter_volume(p)};
}

/* `count` channels of image n, side by side. */
static cvy_stretches channels(const cvy_problem *p, cvy_conv_array array, int64_t n, int64_t first,
                              int64_t count) {
  int64_t begin = cvy_conv_place(p, array, n, first);
  int64_t end = cvy_conv_place(p, array, n, first + count);
  return cvy_one_stretch(begin * FLOAT, (end - begin) * FLOAT);
}

/* A channel of every image. */
static cvy_stretches channel(const cvy_problem *p, cvy_conv_array array, int64_t number) {
  cvy_stretches of_first = channels(p, array, 0, number, 1);
  of_first.stride = cvy_conv_pitch(p, array) * FLOAT;
  of_first.count = p->conv.n;
  return of_first;
}

static void set(cvy_excerpt *out, int64_t n, int64_t c, int64_t k) {
  out->problem.conv.n = n;
  out->problem.conv.c = c;
  out->problem.conv.k = k;
  out->problem.conv.groups = 1;
}

static void add_prior(const cvy_problem *p, cvy_excerpt *out) {
  if (p->accumulate) out->in[2 + p->conv.has_bias] = out->out[0];
}

static bool of_forward(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  sizes s = sizes_of(p);
  int64_t n = cvy_excerpt_pick(seed, 0, p->conv.n), k = cvy_excerpt_pick(seed, 1, p->conv.k);
  int64_t group = k / s.k;
  set(out, 1, s.c, 1);
  out->in[0] = channels(p, CVY_X, n, group * s.c, s.c);
  out->in[1] = cvy_one_stretch(k * s.c * s.filter, s.c * s.filter);
  if (p->conv.has_bias) out->in[2] = cvy_one_stretch(k * FLOAT, FLOAT);
  out->out[0] = channels(p, CVY_Y, n, k, 1);
  add_prior(p, out);
  return true;
}

static bool of_backward_data(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  sizes s = sizes_of(p);
  int64_t n = cvy_excerpt_pick(seed, 0, p->conv.n);
  int64_t group = cvy_excerpt_pick(seed, 1, p->conv.groups);
  set(out, 1, s.c, s.k);
  out->in[0] = channels(p, CVY_Y, n, group * s.k, s.k);
  out->in[1] = cvy_one_stretch(group * s.k * s.c * s.filter, s.k * s.c * s.filter);
  if (p->conv.has_bias) out->in[2] = cvy_one_stretch(group * s.c * FLOAT, s.c * FLOAT);
  out->out[0] = channels(p, CVY_X, n, group * s.c, s.c);
  add_prior(p, out);
  return true;
}

static bool of_backward_weights(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  sizes s = sizes_of(p);
  int64_t k = cvy_excerpt_pick(seed, 0, p->conv.k), c = cvy_excerpt_pick(seed, 1, s.c);
  set(out, p->conv.n, 1, 1);
  out->in[0] = channel(p, CVY_X, k / s.k * s.c + c);
  out->in[1] = channel(p, CVY_Y, k);
  out->out[0] = cvy_one_stretch((k * s.c + c) * s.filter, s.filter);
  add_prior(p, out);
  return true;
}

static bool of_backward_bias(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  int64_t i = cvy_excerpt_pick(seed, 0, p->conv.k);
  set(out, p->conv.n, 1, 1);
  out->in[0] = channel(p, CVY_Y, i);
  out->out[0] = cvy_one_stretch(i * FLOAT, FLOAT);
  if (p->accumulate) out->in[1] = out->out[0];
  return true;
}

typedef bool excerpt_fn(const cvy_problem *p, uint64_t seed, cvy_excerpt *out);
static excerpt_fn *const excerpts[CVY_CONV_OPERATIONS] = {
    [CVY_CONV_FORWARD] = of_forward,
    [CVY_CONV_BACKWARD_DATA] = of_backward_data,
    [CVY_CONV_BACKWARD_WEIGHTS] = of_backward_weights,
    [CVY_CONV_BACKWARD_BIAS] = of_backward_bias,
};

bool cvy_conv_excerpt(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  return excerpts[p->operation](p, seed, out);
}
