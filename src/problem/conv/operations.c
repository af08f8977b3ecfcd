/* The four rows of the family. */
#include <string.h>

#include "problem/conv/conv.h"

/* ----------------------------------------------------------------------------------- arrays */

static int32_t with_bias(const cvy_problem *problem) {
  return 2 + problem->conv.has_bias;
}

static cvy_array array(const cvy_problem *p, cvy_conv_array which) {
  switch (which) {
    case CVY_X:
      return (cvy_array){CONVOY_FLOAT32,
                         true,
                         {p->conv.n, p->conv.c, p->conv.in[0], p->conv.in[1], p->conv.in[2]},
                         p->conv.x};
    case CVY_W:
      return (cvy_array){CONVOY_FLOAT32,
                         false,
                         {p->conv.k, p->conv.c / p->conv.groups, p->conv.filter[0],
                          p->conv.filter[1], p->conv.filter[2]},
                         {0, 0}};
    case CVY_Y:
      return (cvy_array){CONVOY_FLOAT32,
                         true,
                         {p->conv.n, p->conv.k, p->conv.out[0], p->conv.out[1], p->conv.out[2]},
                         p->conv.y};
    default:
      return (cvy_array){CONVOY_FLOAT32, false, {1, 1, 1, 1, cvy_conv_count(p, CVY_BIAS)}, {0, 0}};
  }
}

static cvy_array input(const cvy_problem *problem, int32_t i) {
  return array(problem, cvy_conv_in(problem, i));
}

static cvy_array output(const cvy_problem *problem, int32_t i) {
  (void)i;
  return array(problem, cvy_conv_out(problem));
}

/* --------------------------------------------------------------------------------- legality */

static bool positive(const int64_t *values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i] < 1) return false;
  return true;
}

static bool bytes_fit(int64_t a, int64_t b, const int64_t *extents) {
  const int64_t factors[] = {a, b, extents[0], extents[1], extents[2]};
  return cvy_bytes_fit(factors, (int32_t)CVY_COUNT(factors));
}

/* A bias is added to maps, and never to what is added to something itself. */
static bool bias_legal(const cvy_problem *p) {
  bool maps = cvy_conv_out(p) == CVY_X || cvy_conv_out(p) == CVY_Y;
  return p->conv.has_bias == 0 || (p->conv.has_bias == 1 && maps && !p->accumulate);
}

static bool switches_legal(const cvy_problem *p) {
  return bias_legal(p) && p->conv.activation >= CONVOY_IDENTITY &&
         p->conv.activation <= CONVOY_LEAKY_RELU && p->conv.rank >= 1 &&
         p->conv.rank <= CONVOY_MAX_RANK;
}

static bool extents_legal(const cvy_problem *p) {
  if (p->conv.n < 0 || p->conv.c < 1 || p->conv.k < 1 || p->conv.groups < 1) return false;
  if (p->conv.c % p->conv.groups != 0 || p->conv.k % p->conv.groups != 0) return false;
  if (!positive(p->conv.in, 3) || !positive(p->conv.filter, 3) || !positive(p->conv.out, 3))
    return false;
  if (!positive(p->conv.stride, 3) || !positive(p->conv.dilation, 3)) return false;
  for (int i = 0; i < 3; i++)
    if (p->conv.pad[i] < 0) return false;
  return bytes_fit(p->conv.n, p->conv.c, p->conv.in) &&
         bytes_fit(p->conv.n, p->conv.k, p->conv.out) &&
         bytes_fit(p->conv.k, p->conv.c / p->conv.groups, p->conv.filter);
}

/* A sum over dy has no x. */
static bool views_legal(const cvy_problem *p) {
  if (p->operation == CVY_CONV_BACKWARD_BIAS && cvy_array_view_is_part(&p->conv.x)) return false;
  return cvy_array_view_legal(&p->conv.x, p->conv.n, p->conv.c * cvy_in_volume(p)) &&
         cvy_array_view_legal(&p->conv.y, p->conv.n, p->conv.k * cvy_out_volume(p));
}

static bool legal(const cvy_problem *problem) {
  return switches_legal(problem) && extents_legal(problem) && views_legal(problem);
}

/* ------------------------------------------------------------------------------------ batch */

static cvy_batch batch(const cvy_problem *problem) {
  cvy_conv_array out = cvy_conv_out(problem);
  return out == CVY_X || out == CVY_Y ? CVY_BATCH_INDEPENDENT : CVY_BATCH_SUMMED;
}

static int64_t images(const cvy_problem *problem) {
  return problem->conv.n;
}

static void set_images(cvy_problem *problem, int64_t count) {
  problem->conv.n = count;
}

/* ----------------------------------------------------------------------- work and judgement */

static double flops(const cvy_problem *p) {
  double outputs = (double)p->conv.n * (double)p->conv.k * (double)cvy_out_volume(p);
  if (p->operation == CVY_CONV_BACKWARD_BIAS) return outputs;
  return 2.0 * outputs * (double)(p->conv.c / p->conv.groups) * (double)cvy_filter_volume(p);
}

/* Without its activation a convolution is linear. */
static void absolute(const cvy_problem *problem, cvy_problem *out) {
  cvy_problem_copy(out, problem);
  out->conv.activation = CONVOY_IDENTITY;
  out->conv.slope = 0.0f;
}

/* ----------------------------------------------------------------------------------- choice */

static void set_apart(cvy_problem *problem) {
  problem->conv.x = problem->conv.y = (cvy_array_view){0, 0};
}

/* Weights and biases have no images. */
static bool lay(cvy_problem *problem, bool output_side, int32_t i, const cvy_region *region) {
  cvy_conv_array which = output_side ? cvy_conv_out(problem) : cvy_conv_in(problem, i);
  const cvy_array whole = array(problem, which);
  cvy_array_view view;
  if (!cvy_region_view(&whole, region, &view)) return false;
  if (which == CVY_X) problem->conv.x = view;
  if (which == CVY_Y) problem->conv.y = view;
  return true;
}

static void bare(const cvy_problem *problem, cvy_problem *out) {
  cvy_problem_copy(out, problem);
  out->conv.has_bias = out->conv.activation = out->conv.rank = 0;
  out->conv.slope = 0;
  out->conv.transposed = 0;
  memset(out->conv.pad_end, 0, sizeof out->conv.pad_end);
}

static uint64_t space_hash(const cvy_problem *p, uint64_t hash) {
  const int64_t *const axes[] = {p->conv.in,     p->conv.filter, p->conv.out,
                                 p->conv.stride, p->conv.pad,    p->conv.dilation};
  const bool fours[] = {cvy_array_view_takes_fours(&p->conv.x),
                        cvy_array_view_takes_fours(&p->conv.y)};
  for (size_t i = 0; i < CVY_COUNT(axes); i++) hash = cvy_hash(hash, axes[i], sizeof(p->conv.in));
  hash = cvy_hash(hash, fours, sizeof(fours));
  return cvy_hash(hash, &p->conv.groups, sizeof(p->conv.groups));
}

/* The same layer in its other directions, as training usually has it, on arrays of their own: where
 * gradients lie is not known here. */
static bool other_pass(const cvy_problem *problem, int32_t i, cvy_problem *out) {
  static const int32_t others[][2] = {
      [CVY_CONV_FORWARD] = {CVY_CONV_BACKWARD_DATA, CVY_CONV_BACKWARD_WEIGHTS},
      [CVY_CONV_BACKWARD_DATA] = {CVY_CONV_FORWARD, CVY_CONV_BACKWARD_WEIGHTS},
      [CVY_CONV_BACKWARD_WEIGHTS] = {CVY_CONV_FORWARD, CVY_CONV_BACKWARD_DATA},
  };
  if (i >= 2) return false;
  absolute(problem, out);
  out->operation = others[problem->operation][i];
  out->accumulate = out->conv.has_bias = 0;
  set_apart(out);
  return true;
}

/* ------------------------------------------------------------------------------------- rows */

enum { SIZE = CVY_PROBLEM_HEAD + sizeof(cvy_conv_problem) };

static const cvy_family family = {
    .size = SIZE,
    .legal = legal,
    .images = images,
    .set_images = set_images,
    .element = cvy_conv_element,
    .terms = cvy_conv_terms,
    .flops = flops,
    .excerpt = cvy_conv_excerpt,
    .print = cvy_conv_print,
    .remark = cvy_conv_remark,
    .parse = cvy_conv_parse,
    .shape_class = cvy_conv_class,
    .set_apart = set_apart,
    .lay = lay,
    .bare = bare,
    .space_hash = space_hash,
};

const cvy_operation cvy_conv_forward = {
    .name = "forward",
    .family = &family,
    .input_names = {"x", "w", "bias"},
    .output_names = {"y"},
    .inputs = with_bias,
    .input = input,
    .output = output,
    .batch = batch,
    .bound = cvy_conv_bound,
    .absolute = absolute,
    .wide_magnitude = cvy_conv_wide_magnitude,
    .gradient = cvy_conv_gradient,
    .related = other_pass,
};

const cvy_operation cvy_conv_backward_data = {
    .name = "backward_data",
    .family = &family,
    .input_names = {"dy", "w", "bias"},
    .output_names = {"dx"},
    .inputs = with_bias,
    .input = input,
    .output = output,
    .batch = batch,
    .bound = cvy_conv_bound,
    .absolute = absolute,
    .wide_magnitude = cvy_conv_wide_magnitude,
    .gradient = cvy_conv_gradient,
    .related = other_pass,
};

const cvy_operation cvy_conv_backward_weights = {
    .name = "backward_weights",
    .family = &family,
    .input_names = {"x", "dy"},
    .output_names = {"dw"},
    .given = 2,
    .input = input,
    .output = output,
    .batch = batch,
    .bound = cvy_conv_bound,
    .absolute = absolute,
    .wide_magnitude = cvy_conv_wide_magnitude,
    .gradient = cvy_conv_gradient,
    .related = other_pass,
};

/* It knows no filter, so nothing follows from it. */
const cvy_operation cvy_conv_backward_bias = {
    .name = "backward_bias",
    .family = &family,
    .input_names = {"dy"},
    .output_names = {"db"},
    .given = 1,
    .input = input,
    .output = output,
    .batch = batch,
    .bound = cvy_conv_bound,
    .absolute = absolute,
    .gradient = cvy_conv_gradient,
};
