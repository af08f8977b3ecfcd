/* cpu.depthwise: one input channel per group. A strip of padded rows stays in the first level of
 * cache; results are summed in registers and go straight to where they belong. */
#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/sizes.h"
#include "cpu/shared/workspace.h"

/* Outputs per group. With more, a matrix product is faster, except where they are summed into one
 * channel. */
#define MOST_OUTPUTS 2
#define MOST_SUMMED 64

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t channels = problem->c / problem->groups, outputs = problem->k / problem->groups;
  int64_t most = problem->direction == CONVOY_BACKWARD_DATA ? MOST_SUMMED : MOST_OUTPUTS;
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

static void run(const cvy_cpu_call *call) {
  static cvy_task *const sums[] = {
      [CVY_DEPTHWISE_STRIPS] = cvy_cpu_depthwise_sum_channels,
      [CVY_DEPTHWISE_AS_IT_LIES] = cvy_cpu_depthwise_sum_channels,
      [CVY_DEPTHWISE_INTERLEAVED] = cvy_cpu_depthwise_sum_blocks,
      [CVY_DEPTHWISE_SCATTERED] = cvy_cpu_depthwise_scatter_channels,
  };
  static cvy_task *const dots[] = {
      [CVY_DEPTHWISE_STRIPS] = cvy_cpu_depthwise_dot_channels,
      [CVY_DEPTHWISE_AS_IT_LIES] = cvy_cpu_depthwise_dot_channels,
      [CVY_DEPTHWISE_INTERLEAVED] = cvy_cpu_depthwise_dot_blocks,
  };
  cvy_cpu_depthwise_run d = {.call = call,
                             .plan = cvy_cpu_depthwise_plan_for(call->problem, call->facts)};
  const cvy_problem *p = &d.plan.p;
  int64_t blocks = cvy_div_up(p->c, d.plan.width);
  if (d.plan.mode != CVY_DEPTHWISE_SCATTERED) cvy_cpu_depthwise_list(&d);
  if (p->direction == CONVOY_BACKWARD_WEIGHTS)
    cvy_parallel_items(call->threads, blocks, dots[d.plan.mode], &d);
  else
    cvy_parallel_items(call->threads, p->n * blocks, sums[d.plan.mode], &d);
}

const cvy_cpu_row cvy_cpu_depthwise = {
    {.name = "cpu.depthwise",
     .directions =
         1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA | 1u << CONVOY_BACKWARD_WEIGHTS,
     .accepts = accepts,
     .workspace = workspace},
    run};
