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

convoy_status cvy_node_take_over(cvy_graph_node *node, const cvy_fused *fused) {
  convoy_status status = cvy_nodes_replace(node, &fused->problem);
  if (status) return status;
  for (int32_t i = 0; i < node->inputs; i++) node->in[i] = fused->in[i];
  for (int32_t i = 0; i < node->outputs; i++) node->out[i] = fused->out[i];
  return CONVOY_OK;
}

void cvy_node_give_up(cvy_nodes *list, int32_t n) {
  list->node[n].needed = false;
  list->node[n].outputs = 0;
  cvy_nodes_finish(list);
}
