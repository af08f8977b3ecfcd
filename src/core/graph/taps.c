/* Which operations are tapped, in turn, and what is kept of them. */
#include "core/graph/taps.h"

#include "core/exec/device.h"
#include "core/exec/values.h"
#include "core/graph/plan.h"

/* The store whose turn it is: that of the run before the last two. */
static cvy_store **turn_of(convoy_graph *graph) {
  return &graph->tap[graph->runs % CVY_GRAPH_OUTSTANDING];
}

int32_t cvy_tap_choose(convoy_graph *graph) {
  const convoy_context *context = graph->context;
  const cvy_nodes *list = &graph->plan->list;
  if (!cvy_device_ready(context) || !cvy_verification_may_tap(context)) return -1;
  for (int32_t tries = 0; tries < list->nodes; tries++) {
    int32_t n = graph->next_tap++ % list->nodes;
    graph->next_tap %= list->nodes;
    if (!cvy_problem_empty(list->node[n].problem)) return n;
  }
  return -1;
}

void cvy_tap_keep(convoy_graph *graph, const cvy_node *node, cvy_store *const out[]) {
  int32_t i = (int32_t)(graph->runs % (uint64_t)node->outputs);
  cvy_store **tap = turn_of(graph);
  if (*tap || out[i]->history != node || out[i]->host) return;
  for (int32_t k = 0; k < node->inputs; k++) node->input[k]->tapped = true;
  out[i]->tapped = true;
  *tap = cvy_store_keep(out[i]);
}

static void let_go(cvy_store **tap) {
  const cvy_node *node = (*tap)->history;
  for (int32_t k = 0; node && k < node->inputs; k++) node->input[k]->tapped = false;
  (*tap)->tapped = false;
  cvy_store_drop(*tap);
  *tap = NULL;
}

static convoy_status verify(cvy_store **tap) {
  if (!*tap) return CONVOY_OK;
  convoy_status status = cvy_verify_tapped(*tap);
  let_go(tap);
  return status;
}

convoy_status cvy_tap_verify(convoy_graph *graph) {
  return verify(turn_of(graph));
}

convoy_status cvy_tap_verify_all(convoy_graph *graph) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < CVY_GRAPH_OUTSTANDING && !status; i++) status = verify(&graph->tap[i]);
  return status;
}
