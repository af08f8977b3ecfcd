/* Bias and activation, applied by each algorithm to outputs it has just written. */
#include "cpu/shared/epilogue.h"

void cvy_cpu_epilogue(const cvy_cpu_call *call, float *out, int64_t channel, int64_t length) {
  const cvy_problem *p = call->problem;
  if (!p->conv.has_bias && p->conv.activation == CONVOY_IDENTITY) return;
  float slope = p->conv.activation == CONVOY_IDENTITY     ? 1.0f
                : p->conv.activation == CONVOY_LEAKY_RELU ? p->conv.slope
                                                          : 0.0f;
  call->simd->epilogue(out, p->conv.has_bias ? call->in[2][channel] : 0.0f, slope, length);
}
