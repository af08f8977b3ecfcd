/* cpu.direct, backward_data: each input row gathers from the output rows that read it, so that no
 * two threads write the same row. */
#include <string.h>

#include "cpu/direct/direct.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/filter_row.h"
#include "problem/conv/conv.h"

typedef struct data_run {
  const cvy_cpu_call *call;
  cvy_filter_row row; /* only for stride 1, where dx is a convolution with the filter reversed */
} data_run;

/* Whether there is an output o with o stride - pad + tap dilation = i, and which it is. */
static bool reads(const cvy_problem *p, int axis, int64_t i, int64_t tap, int64_t *o) {
  int64_t at = i + p->conv.pad[axis] - tap * p->conv.dilation[axis];
  *o = at / p->conv.stride[axis];
  return at >= 0 && at % p->conv.stride[axis] == 0 && *o < p->conv.out[axis];
}

static void add_row(const data_run *d, float *dx, const float *dy, const float *w) {
  const cvy_problem *p = d->call->problem;
  if (p->conv.stride[2] == 1) {
    cvy_filter_row_add(d->call->simd, &d->row, dx, dy, w);
    return;
  }
  cvy_filter_row_scatter(d->call->simd, p, dx, dy, w);
}

/* Adds what one output channel gives to the input row (z, h). */
static void add_channel(const data_run *d, const float *dy, const float *w, int64_t z, int64_t h,
                        float *dx) {
  const cvy_problem *p = d->call->problem;
  int64_t oz, oh;
  for (int64_t t = 0; t < p->conv.filter[0]; t++) {
    if (!reads(p, 0, z, t, &oz)) continue;
    for (int64_t r = 0; r < p->conv.filter[1]; r++) {
      if (reads(p, 1, h, r, &oh)) {
        add_row(d, dx, dy + (oz * p->conv.out[1] + oh) * p->conv.out[2],
                w + (t * p->conv.filter[1] + r) * p->conv.filter[2]);
      }
    }
  }
}

static void make_row(const data_run *d, int64_t row) {
  const cvy_cpu_call *call = d->call;
  const cvy_problem *p = call->problem;
  int64_t h = row % p->conv.in[1], plane = row / p->conv.in[1];
  int64_t z = plane % p->conv.in[0], nc = plane / p->conv.in[0];
  int64_t c = nc % p->conv.c, n = nc / p->conv.c;
  int64_t channels = p->conv.c / p->conv.groups, outputs = p->conv.k / p->conv.groups,
          first = c / channels * outputs;
  const float *dy = call->in[0] + cvy_conv_place(p, CVY_Y, n, first);
  const float *w = call->in[1] + (first * channels + c % channels) * cvy_filter_volume(p);
  float *dx = call->out[0] + cvy_conv_place(p, CVY_X, n, c);
  dx += (z * p->conv.in[1] + h) * p->conv.in[2];
  if (!p->accumulate) memset(dx, 0, (size_t)p->conv.in[2] * sizeof *dx);
  for (int64_t k = 0; k < outputs; k++)
    add_channel(d, dy + k * cvy_out_volume(p), w + k * channels * cvy_filter_volume(p), z, h, dx);
  cvy_cpu_epilogue(call, dx, c, p->conv.in[2]);
}

static void make_rows(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)slot;
  for (int64_t row = begin; row < end; row++, cvy_heartbeat_tick()) make_row(arg, row);
}

void cvy_cpu_direct_backward_data(const cvy_cpu_call *call) {
  const cvy_problem *p = call->problem;
  data_run d = {call, cvy_filter_row_make(p->conv.out[2], p->conv.in[2], 1, p->conv.pad[2],
                                          -p->conv.dilation[2], p->conv.filter[2])};
  cvy_parallel_items(call->threads, p->conv.n * p->conv.c * p->conv.in[0] * p->conv.in[1],
                     make_rows, &d);
}
