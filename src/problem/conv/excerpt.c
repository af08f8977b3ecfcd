/* Excerpts of convolutions. Groups are independent of each other; of one group
 *
 * - forward: one image and one of its output channels;
 * - backward_data: one image, all its channels, whose filters lie together;
 * - backward_weights: one input and one output channel, of all images;
 * - backward_bias: one channel, of all images. */
#include "problem/excerpt.h"
#include "problem/conv/conv.h"

enum { FLOAT = sizeof(float) };

/* Channels of each side in a group, and the bytes of a map and of a filter of one channel. */
typedef struct sizes {
  int64_t c, k, x, y, filter;
} sizes;

static sizes sizes_of(const cvy_problem *p) {
  const cvy_conv_problem *conv = &p->conv;
  return (sizes){conv->c / conv->groups, conv->k / conv->groups,
                 FLOAT * conv->in[0] * conv->in[1] * conv->in[2],
                 FLOAT * conv->out[0] * conv->out[1] * conv->out[2], FLOAT * cvy_filter_volume(p)};
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
  out->in[0] = cvy_one_stretch((n * p->conv.c + group * s.c) * s.x, s.c * s.x);
  out->in[1] = cvy_one_stretch(k * s.c * s.filter, s.c * s.filter);
  if (p->conv.has_bias) out->in[2] = cvy_one_stretch(k * FLOAT, FLOAT);
  out->out[0] = cvy_one_stretch((n * p->conv.k + k) * s.y, s.y);
  add_prior(p, out);
  return true;
}

static bool of_backward_data(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  sizes s = sizes_of(p);
  int64_t n = cvy_excerpt_pick(seed, 0, p->conv.n);
  int64_t group = cvy_excerpt_pick(seed, 1, p->conv.groups);
  set(out, 1, s.c, s.k);
  out->in[0] = cvy_one_stretch((n * p->conv.k + group * s.k) * s.y, s.k * s.y);
  out->in[1] = cvy_one_stretch(group * s.k * s.c * s.filter, s.k * s.c * s.filter);
  if (p->conv.has_bias) out->in[2] = cvy_one_stretch(group * s.c * FLOAT, s.c * FLOAT);
  out->out[0] = cvy_one_stretch((n * p->conv.c + group * s.c) * s.x, s.c * s.x);
  add_prior(p, out);
  return true;
}

/* A channel of every image. */
static cvy_stretches channel(int64_t number, int64_t channels, int64_t bytes, int64_t images) {
  return (cvy_stretches){number * bytes, bytes, channels * bytes, images};
}

static bool of_backward_weights(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  sizes s = sizes_of(p);
  int64_t k = cvy_excerpt_pick(seed, 0, p->conv.k), c = cvy_excerpt_pick(seed, 1, s.c);
  set(out, p->conv.n, 1, 1);
  out->in[0] = channel(k / s.k * s.c + c, p->conv.c, s.x, p->conv.n);
  out->in[1] = channel(k, p->conv.k, s.y, p->conv.n);
  out->out[0] = cvy_one_stretch((k * s.c + c) * s.filter, s.filter);
  add_prior(p, out);
  return true;
}

static bool of_backward_bias(const cvy_problem *p, uint64_t seed, cvy_excerpt *out) {
  sizes s = sizes_of(p);
  int64_t i = cvy_excerpt_pick(seed, 0, p->conv.k);
  set(out, p->conv.n, 1, 1);
  out->in[0] = channel(i, p->conv.k, s.y, p->conv.n);
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
