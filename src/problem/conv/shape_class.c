/* The shape class of a convolution, such as "forward_r2_c5_k6_in0,6,6_small_s1_grouped_pad_sum":
 *   direction and rank; log2 buckets (0: 1, 1: 2, 2: 3..4, 3: 5..8) of the channels per group on
 *   both sides and of the input's extents; the filter's kind (point, small: no extent above 3,
 *   large); the largest stride's kind (s1, s2, s3 for all above); then, where they apply, dil
 *   (dilation), grouped or depthwise, pad (padding), sum (adds to what is there), act (bias or
 *   activation), x or y with the elements it is aligned to (part of a larger tensor).
 * The batch is left out: it repeats the same work. */
#include "problem/conv/conv.h"

static int64_t largest(const int64_t extent[3]) {
  int64_t most = extent[0];
  for (int axis = 1; axis < 3; axis++) most = extent[axis] > most ? extent[axis] : most;
  return most;
}

static const char *filter_kind(const cvy_problem *p) {
  int64_t most = largest(p->conv.filter);
  return most == 1 ? "point" : most <= 3 ? "small" : "large";
}

static const char *groups_kind(const cvy_problem *p) {
  if (p->conv.groups == 1) return "";
  return p->conv.groups == p->conv.c ? "_depthwise" : "_grouped";
}

/* Also padding at the end alone, which only the extents show. */
static bool is_padded(const cvy_problem *p) {
  for (int axis = 0; axis < 3; axis++) {
    int64_t last = (p->conv.out[axis] - 1) * p->conv.stride[axis] +
                   (p->conv.filter[axis] - 1) * p->conv.dilation[axis];
    if (p->conv.pad[axis] || last - p->conv.pad[axis] >= p->conv.in[axis]) return true;
  }
  return false;
}

void cvy_conv_class(const cvy_problem *p, cvy_text *text) {
  static const char *const directions[CONVOY_DIRECTIONS] = {"forward", "data", "weights", "bias"};
  int64_t stride = largest(p->conv.stride);
  cvy_text_add(text, "%s_r%d_c%d_k%d_in%d,%d,%d_%s_s%d", directions[p->operation],
               (int)p->conv.rank, cvy_class_bucket(p->conv.c / p->conv.groups),
               cvy_class_bucket(p->conv.k / p->conv.groups), cvy_class_bucket(p->conv.in[0]),
               cvy_class_bucket(p->conv.in[1]), cvy_class_bucket(p->conv.in[2]), filter_kind(p),
               (int)(stride > 3 ? 3 : stride));
  cvy_text_add(text, "%s%s%s%s%s", largest(p->conv.dilation) > 1 ? "_dil" : "", groups_kind(p),
               is_padded(p) ? "_pad" : "", p->accumulate ? "_sum" : "",
               p->conv.has_bias || p->conv.activation ? "_act" : "");
  cvy_array_view_class(&p->conv.x, "x", text);
  cvy_array_view_class(&p->conv.y, "y", text);
}
