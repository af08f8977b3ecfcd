/* cpu.direct, backward_weights: each filter element is a sum of products of two planes per image.
 * It is summed in float32 within a plane and in float64 across planes, always in the same order. */
#include "cpu/direct/direct.h"
#include "cpu/shared/range.h"
#include "problem/conv/conv.h"

/* An element of the filters. */
typedef struct filter_element {
  int64_t k, c, t, r, s; /* c within the group */
} filter_element;

/* The sum over one plane of dy and the plane of x that this tap saw. */
static double plane_sum(const cvy_cpu_call *call, const filter_element *at, const float *dy,
                        const float *x) {
  const cvy_problem *p = call->problem;
  int64_t up = at->r * p->conv.dilation[1] - p->conv.pad[1],
          left = at->s * p->conv.dilation[2] - p->conv.pad[2];
  cvy_range rows = cvy_outputs_inside(p->conv.in[1], p->conv.out[1], p->conv.stride[1], up);
  cvy_range row = cvy_outputs_inside(p->conv.in[2], p->conv.out[2], p->conv.stride[2], left);
  if (rows.begin >= rows.end || row.begin >= row.end) return 0;
  cvy_plane_pair planes = {
      .a = dy + rows.begin * p->conv.out[2] + row.begin,
      .b = x + (rows.begin * p->conv.stride[1] + up) * p->conv.in[2] +
           row.begin * p->conv.stride[2] + left,
      .a_pitch = p->conv.out[2],
      .b_pitch = p->conv.stride[1] * p->conv.in[2],
      .b_stride = p->conv.stride[2],
      .rows = cvy_range_length(rows),
      .length = cvy_range_length(row),
  };
  return call->simd->dot(&planes);
}

static double weight_sum(const cvy_cpu_call *call, const filter_element *at) {
  const cvy_problem *p = call->problem;
  int64_t channels = p->conv.c / p->conv.groups, group = at->k / (p->conv.k / p->conv.groups);
  int64_t back = at->t * p->conv.dilation[0] - p->conv.pad[0];
  cvy_range depth = cvy_outputs_inside(p->conv.in[0], p->conv.out[0], p->conv.stride[0], back);
  double sum = 0;
  for (int64_t n = 0; n < p->conv.n; n++) {
    const float *dy = call->in[1] + cvy_conv_place(p, CVY_Y, n, at->k);
    const float *x = call->in[0] + cvy_conv_place(p, CVY_X, n, group * channels + at->c);
    for (int64_t oz = depth.begin; oz < depth.end; oz++) {
      sum += plane_sum(call, at, dy + oz * p->conv.out[1] * p->conv.out[2],
                       x + (oz * p->conv.stride[0] + back) * p->conv.in[1] * p->conv.in[2]);
    }
  }
  return sum;
}

static void make_weights(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_call *call = arg;
  const cvy_problem *p = call->problem;
  const int64_t *f = p->conv.filter;
  (void)slot;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    int64_t plane = i / (f[0] * f[1] * f[2]), channels = p->conv.c / p->conv.groups;
    filter_element at = {plane / channels, plane % channels, i / (f[1] * f[2]) % f[0],
                         i / f[2] % f[1], i % f[2]};
    double sum = weight_sum(call, &at);
    call->out[0][i] = p->accumulate ? (float)((double)call->out[0][i] + sum) : (float)sum;
  }
}

void cvy_cpu_direct_backward_weights(const cvy_cpu_call *call) {
  const cvy_problem *p = call->problem;
  cvy_parallel_items(call->threads, p->conv.k * (p->conv.c / p->conv.groups) * cvy_filter_volume(p),
                     make_weights, (void *)call);
}
