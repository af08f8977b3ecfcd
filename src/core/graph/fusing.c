/* Two nodes of a plan as one. */
#include "core/graph/fusing.h"

#include "core/graph/costs.h"

static cvy_bound bound_of(const cvy_graph_node *node) {
  return (cvy_bound){node->problem, node->in, node->out};
}

bool cvy_plan_fuses(const cvy_plan *plan, int32_t first, int32_t second, uint32_t kept,
                    cvy_fused *out) {
  const cvy_bound a = bound_of(&plan->list.node[first]);
  const cvy_bound b = bound_of(&plan->list.node[second]);
  return cvy_problem_fuse(&a, &b, kept, out) && cvy_engine_serves(plan->engine, &out->problem);
}

convoy_status cvy_node_take_over(cvy_uses *uses, int32_t n, const cvy_fused *fused) {
  cvy_graph_node *node = &uses->list->node[n];
  cvy_uses_remove(uses, n);
  convoy_status status = cvy_nodes_replace(node, &fused->problem);
  for (int32_t i = 0; i < node->inputs && !status; i++) node->in[i] = fused->in[i];
  for (int32_t i = 0; i < node->outputs && !status; i++) node->out[i] = fused->out[i];
  cvy_uses_add(uses, n);
  return status;
}

void cvy_node_give_up(cvy_uses *uses, int32_t n) {
  uses->list->node[n].outputs = 0;
  cvy_uses_give_up(uses, n);
}
