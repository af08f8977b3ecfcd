/* Backward_data of cpu.depthwise where dy's rows are short beside dx's, so that most of dx has no
 * tap. */
#include <string.h>

#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/filter_row.h"
#include "problem/conv/conv.h"

/* Adds what the rows of one output channel at one tap row of the filter give. */
static void add_rows(const cvy_cpu_depthwise_run *d, int64_t deep, int64_t top, const float *w,
                     const float *dy, float *dx) {
  const cvy_problem *p = &d->plan.p;
  cvy_range z = cvy_outputs_inside(p->conv.in[0], p->conv.out[0], p->conv.stride[0], deep);
  cvy_range h = cvy_outputs_inside(p->conv.in[1], p->conv.out[1], p->conv.stride[1], top);
  for (int64_t oz = z.begin; oz < z.end; oz++) {
    for (int64_t oh = h.begin; oh < h.end; oh++) {
      int64_t row = (oz * p->conv.stride[0] + deep) * p->conv.in[1] + oh * p->conv.stride[1] + top;
      cvy_filter_row_scatter(d->call->simd, p, dx + row * p->conv.in[2],
                             dy + (oz * p->conv.out[1] + oh) * p->conv.out[2], w);
    }
  }
}

static void add_output(const cvy_cpu_depthwise_run *d, const float *w, const float *dy, float *dx) {
  const cvy_problem *p = &d->plan.p;
  for (int64_t t = 0; t < p->conv.filter[0]; t++) {
    for (int64_t r = 0; r < p->conv.filter[1]; r++, w += p->conv.filter[2]) {
      int64_t deep = t * p->conv.dilation[0] - p->conv.pad[0],
              top = r * p->conv.dilation[1] - p->conv.pad[1];
      add_rows(d, deep, top, w, dy, dx);
    }
  }
}

void cvy_cpu_depthwise_scatter_channels(void *run, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = run;
  const cvy_problem *p = &d->plan.p;
  int64_t volume = cvy_in_volume(p), pixels = cvy_out_volume(p), taps = cvy_filter_volume(p);
  (void)slot;
  for (int64_t nc = begin; nc < end; nc++, cvy_heartbeat_tick()) {
    int64_t n = nc / p->conv.c, c = nc % p->conv.c;
    float *dx = d->call->out[0] + cvy_conv_place(p, CVY_X, n, c);
    const float *dy = d->call->in[0] + cvy_conv_place(p, CVY_Y, n, c * d->plan.inputs);
    if (!p->accumulate) memset(dx, 0, (size_t)volume * sizeof *dx);
    for (int64_t i = 0; i < d->plan.inputs; i++) {
      add_output(d, d->call->in[1] + (c * d->plan.inputs + i) * taps, dy + i * pixels, dx);
    }
    cvy_cpu_epilogue(d->call, dx, c, volume);
  }
}
