/* cpu.pool: where maps lie, and which operation is asked for. */
#include "cpu/pool/pool.h"

#include <string.h>

int64_t cvy_cpu_pool_x_place(const cvy_problem *problem, int64_t map) {
  return cvy_pooling_map(problem, cvy_pooling_x_pitch(problem), cvy_pooling_in_volume(problem),
                         map);
}

int64_t cvy_cpu_pool_y_place(const cvy_problem *problem, int64_t map) {
  return cvy_pooling_map(problem, cvy_pooling_y_pitch(problem), cvy_pooling_out_volume(problem),
                         map);
}

int64_t cvy_cpu_pool_dx_place(const cvy_problem *problem, int64_t map) {
  return cvy_pooling_map(problem, cvy_pooling_dx_pitch(problem), cvy_pooling_in_volume(problem),
                         map);
}

void cvy_cpu_pool_clear(const cvy_cpu_call *call, int64_t map) {
  float *dx = call->out[0] + cvy_cpu_pool_dx_place(call->problem, map);
  size_t bytes = (size_t)cvy_pooling_in_volume(call->problem) * sizeof *dx;
  if (!call->problem->accumulate) memset(dx, 0, bytes);
}

cvy_range cvy_cpu_pool_meets(const cvy_pooling_problem *p, int axis, int64_t o) {
  int64_t begin = o * p->stride[axis] - p->pad[axis], end = begin + p->window[axis];
  begin = cvy_max(begin, 0);
  return (cvy_range){begin, cvy_max(begin, cvy_min(end, p->in[axis]))};
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)problem;
  (void)params;
  return (int64_t)facts->info.compute_units * CVY_CPU_POOL_FLOATS * (int64_t)sizeof(float);
}

static void run(const cvy_cpu_call *call) {
  static void (*const run_of[2][2])(const cvy_cpu_call *) = {
      {cvy_cpu_average_pool, cvy_cpu_average_pool_backward},
      {cvy_cpu_max_pool, cvy_cpu_max_pool_backward}};
  run_of[cvy_pooling_is_max(call->problem)][cvy_pooling_is_backward(call->problem)](call);
}

const cvy_cpu_row cvy_cpu_pool = {{.name = "cpu.pool",
                                   .operations = CVY_POOLING_ALL,
                                   .workspace = workspace,
                                   .conservative = true},
                                  run};
