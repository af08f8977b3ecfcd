/* cpu.direct, forward: an output row stays in cache while all channels and filter rows add to
 * it. */
#include <string.h>

#include "cpu/direct/direct.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/filter_row.h"
#include "problem/conv/conv.h"

typedef struct forward_run {
  const cvy_cpu_call *call;
  cvy_filter_row row;
} forward_run;

/* Adds what one input channel gives to the row (oz, oh). */
static void add_channel(const forward_run *f, const float *x, const float *w, int64_t oz,
                        int64_t oh, float *y) {
  const cvy_problem *p = f->call->problem;
  for (int64_t t = 0; t < p->conv.filter[0]; t++) {
    int64_t z = oz * p->conv.stride[0] - p->conv.pad[0] + t * p->conv.dilation[0];
    if (z < 0 || z >= p->conv.in[0]) continue;
    for (int64_t r = 0; r < p->conv.filter[1]; r++) {
      int64_t h = oh * p->conv.stride[1] - p->conv.pad[1] + r * p->conv.dilation[1];
      if (h < 0 || h >= p->conv.in[1]) continue;
      cvy_filter_row_add(f->call->simd, &f->row, y, x + (z * p->conv.in[1] + h) * p->conv.in[2],
                         w + (t * p->conv.filter[1] + r) * p->conv.filter[2]);
    }
  }
}

static void make_row(const forward_run *f, int64_t row) {
  const cvy_cpu_call *call = f->call;
  const cvy_problem *p = call->problem;
  int64_t oh = row % p->conv.out[1], plane = row / p->conv.out[1];
  int64_t oz = plane % p->conv.out[0], nk = plane / p->conv.out[0];
  int64_t k = nk % p->conv.k, n = nk / p->conv.k, channels = p->conv.c / p->conv.groups;
  int64_t first = k / (p->conv.k / p->conv.groups) * channels;
  const float *x = call->in[0] + cvy_conv_place(p, CVY_X, n, first);
  const float *w = call->in[1] + k * channels * cvy_filter_volume(p);
  float *y = call->out[0] + cvy_conv_place(p, CVY_Y, n, k);
  y += (oz * p->conv.out[1] + oh) * p->conv.out[2];
  if (!p->accumulate) memset(y, 0, (size_t)p->conv.out[2] * sizeof *y);
  for (int64_t c = 0; c < channels; c++)
    add_channel(f, x + c * cvy_in_volume(p), w + c * cvy_filter_volume(p), oz, oh, y);
  cvy_cpu_epilogue(call, y, k, p->conv.out[2]);
}

static void make_rows(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)slot;
  for (int64_t row = begin; row < end; row++, cvy_heartbeat_tick()) make_row(arg, row);
}

void cvy_cpu_direct_forward(const cvy_cpu_call *call) {
  const cvy_problem *p = call->problem;
  forward_run f = {
      call, cvy_filter_row_make(p->conv.in[2], p->conv.out[2], p->conv.stride[2], -p->conv.pad[2],
                                p->conv.dilation[2], p->conv.filter[2])};
  cvy_parallel_items(call->threads, p->conv.n * p->conv.k * p->conv.out[0] * p->conv.out[1],
                     make_rows, &f);
}
