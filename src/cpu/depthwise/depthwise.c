/* cpu.depthwise: one input channel per group. A strip of padded rows stays in the first level of
 * cache; results are summed in registers and go straight to where they belong. */
#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/sizes.h"
#include "cpu/shared/workspace.h"
#include "problem/conv/conv.h"

/* Outputs per group. With more, a matrix product is faster, except where they are summed into one
 * channel. */
#define MOST_OUTPUTS 2
#define MOST_SUMMED 64

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t channels = problem->conv.c / problem->conv.groups,
          outputs = problem->conv.k / problem->conv.groups;
  int64_t most = problem->operation == CONVOY_BACKWARD_DATA ? MOST_SUMMED : MOST_OUTPUTS;
  if (channels != 1 || outputs > most) {
    cvy_text_add(reason, "%lld input and %lld output channels per group, it is for 1 and 1 to %lld",
                 (long long)channels, (long long)outputs, (long long)most);
    return false;
  }
  cvy_cpu_depthwise_plan plan = cvy_cpu_depthwise_plan_for(problem, facts);
  return cvy_cpu_fits(cvy_cpu_depthwise_bytes(&plan), facts, reason);
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  cvy_cpu_depthwise_plan plan = cvy_cpu_depthwise_plan_for(problem, facts);
  (void)params;
  return cvy_cpu_depthwise_bytes(&plan);
}

/* The task of each mode: first that of forward and backward_data, then that of backward_weights,
 * which is never scattered. */
static cvy_task *const tasks[][2] = {
    [CVY_DEPTHWISE_STRIPS] = {cvy_cpu_depthwise_sum_channels, cvy_cpu_depthwise_dot_channels},
    [CVY_DEPTHWISE_AS_IT_LIES] = {cvy_cpu_depthwise_sum_channels, cvy_cpu_depthwise_dot_channels},
    [CVY_DEPTHWISE_INTERLEAVED] = {cvy_cpu_depthwise_sum_blocks, cvy_cpu_depthwise_dot_blocks},
    [CVY_DEPTHWISE_SCATTERED] = {cvy_cpu_depthwise_scatter_channels, NULL},
};

static void run(const cvy_cpu_call *call) {
  cvy_cpu_depthwise_run d = {.call = call,
                             .plan = cvy_cpu_depthwise_plan_for(call->problem, call->facts)};
  const cvy_problem *p = &d.plan.p;
  bool weights = p->operation == CONVOY_BACKWARD_WEIGHTS;
  int64_t blocks = cvy_div_up(p->conv.c, d.plan.width);
  if (d.plan.mode != CVY_DEPTHWISE_SCATTERED) cvy_cpu_depthwise_list(&d);
  cvy_parallel_items(call->threads, weights ? blocks : p->conv.n * blocks,
                     tasks[d.plan.mode][weights], &d);
}

const cvy_cpu_row cvy_cpu_depthwise = {{.name = "cpu.depthwise",
                                        .operations = CVY_CONV_FILTERED,
                                        .accepts = accepts,
                                        .workspace = workspace},
                                       run};
