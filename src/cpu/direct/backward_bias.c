/* cpu.direct, backward_bias: dy summed over images and positions, in float64 because there may be
 * millions of terms. */
#include "cpu/direct/direct.h"
#include "problem/conv/conv.h"

static void sum_channels(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_call *call = arg;
  const cvy_problem *p = call->problem;
  int64_t volume = cvy_out_volume(p);
  (void)slot;
  for (int64_t k = begin; k < end; k++, cvy_heartbeat_tick()) {
    double sum = p->accumulate ? (double)call->out[0][k] : 0;
    for (int64_t n = 0; n < p->conv.n; n++)
      sum += call->simd->sum(call->in[0] + cvy_conv_place(p, CVY_Y, n, k), volume);
    call->out[0][k] = (float)sum;
  }
}

void cvy_cpu_direct_backward_bias(const cvy_cpu_call *call) {
  cvy_parallel_items(call->threads, call->problem->conv.k, sum_channels, (void *)call);
}
