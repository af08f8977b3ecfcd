/* cpu.direct: the sums as they are written, a row at a time. It takes every convolution, needs no
 * scratch memory, and is the fastest where there is little to sum over: depthwise filters and
 * filters of one channel. */
#include "cpu/direct/direct.h"

#include "cpu/shared/merge.h"
#include "problem/conv/conv.h"

static void run(const cvy_cpu_call *call) {
  static void (*const pass[])(const cvy_cpu_call *) = {
      [CONVOY_FORWARD] = cvy_cpu_direct_forward,
      [CONVOY_BACKWARD_DATA] = cvy_cpu_direct_backward_data,
      [CONVOY_BACKWARD_WEIGHTS] = cvy_cpu_direct_backward_weights,
      [CONVOY_BACKWARD_BIAS] = cvy_cpu_direct_backward_bias,
  };
  cvy_problem merged = cvy_merged(call->problem);
  cvy_cpu_call with_merged = *call;
  with_merged.problem = &merged;
  pass[merged.operation](&with_merged);
}

const cvy_cpu_row cvy_cpu_direct = {{.name = "cpu.direct", .operations = CVY_CONV_ALL}, run};
