/* A plan is a function of the graph, the device and the algorithms chosen for it, so one that is
 * made to be looked at is the one that runs have. */
#include "core/graph/plan_summary.h"

#include "core/exec/device.h"
#include "core/graph/place.h"

static convoy_status sum_places(const cvy_plan *plan, convoy_graph_plan *out) {
  cvy_places places;
  convoy_status status = cvy_places_find(plan, &places);
  if (status) return status;
  for (int32_t b = 0; b < places.shared + places.own; b++)
    *(b < places.shared ? &out->internal_bytes : &out->written_bytes) += places.bytes[b];
  cvy_places_free(&places);
  return CONVOY_OK;
}

static void sum_operations(const cvy_plan *plan, convoy_graph_plan *out) {
  for (int32_t n = 0; n < plan->list.nodes; n++) {
    const cvy_problem *problem = plan->list.node[n].problem;
    if (plan->list.node[n].idle) continue;
    out->operations++;
    out->flops += cvy_problem_flops(problem);
    out->bytes += cvy_problem_bytes(problem);
  }
  for (int32_t i = 0; i < plan->inputs; i++)
    if (cvy_nodes_reads_first(&plan->list, plan->input[i]))
      out->read_bytes += plan->list.value[plan->input[i]].bytes;
}

convoy_status cvy_plan_sums(const convoy_graph *graph, const cvy_plan *plan,
                            convoy_graph_plan *out) {
  convoy_graph_plan sums = {.captured = graph->list.nodes};
  convoy_status status = sum_places(plan, &sums);
  if (status) return status;
  sum_operations(plan, &sums);
  sums.struct_size = out->struct_size;
  *out = sums;
  return CONVOY_OK;
}

convoy_status cvy_plan_look(const convoy_graph *graph, cvy_plan **out) {
  const cvy_engine *engine = cvy_context_engine(graph->context);
  bool is_there = graph->plan && graph->plan->engine == engine;
  *out = is_there ? cvy_plan_keep(graph->plan) : NULL;
  return is_there ? CONVOY_OK : cvy_plan_make(graph, engine, out);
}

convoy_status cvy_plan_summary(const convoy_graph *graph, convoy_graph_plan *out) {
  cvy_plan *plan;
  convoy_status status = cvy_plan_look(graph, &plan);
  if (status) return status;
  status = cvy_plan_sums(graph, plan, out);
  cvy_plan_drop(plan);
  return status;
}
