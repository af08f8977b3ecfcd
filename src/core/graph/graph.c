/* Making and freeing graphs. */
#include "core/graph/graph.h"

#include <stdlib.h>

#include "core/graph/plan.h"
#include "core/graph/planned_taps.h"

convoy_graph *cvy_graph_new(convoy_context *context) {
  convoy_graph *graph = calloc(1, sizeof *graph);
  if (!graph) {
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph");
    return NULL;
  }
  graph->context = context;
  graph->seed = context->seed;
  graph->stages = 1;
  atomic_fetch_add(&context->references, 1);
  return graph;
}

static void drop(convoy_graph *graph) {
  convoy_context *context = graph->context;
  for (int32_t i = 0; i < CVY_GRAPH_OUTSTANDING; i++) {
    cvy_store_drop(graph->tap[i]);
    cvy_planned_tap_drop(graph->planned_tap[i]);
  }
  cvy_plan_drop(graph->plan);
  cvy_nodes_drop(&graph->list);
  for (int32_t i = 0; i < graph->outputs; i++) cvy_tensor_drop(graph->output[i].tensor);
  free(graph->output);
  free(graph);
  cvy_pool_drop(context);
}

void cvy_graph_drop_stages(convoy_graph *graph) {
  for (int32_t i = 0; graph->stage && i < graph->stages; i++)
    if (graph->stage[i]) drop(graph->stage[i]);
  for (int32_t i = 0; i < graph->tensors_between; i++) cvy_tensor_drop(graph->between[i]);
  free(graph->stage);
  free(graph->between);
  graph->stage = NULL;
  graph->between = NULL;
  graph->tensors_between = 0;
}

void cvy_graph_drop(convoy_graph *graph) {
  cvy_graph_drop_stages(graph);
  drop(graph);
}

/* ------------------------------------------------------------------------------------ ending */

static void mark_read(const cvy_nodes *list, bool marked) {
  for (int32_t v = 0; v < list->values; v++)
    if (cvy_graph_reads(&list->value[v])) list->value[v].tensor->marked = marked;
}

static void find_carried(convoy_graph *graph) {
  mark_read(&graph->list, true);
  for (int32_t i = 0; i < graph->outputs; i++)
    graph->output[i].carried = graph->output[i].tensor->marked;
  mark_read(&graph->list, false);
}

static bool is_foreign(const convoy_graph *graph) {
  const cvy_nodes *list = &graph->list;
  bool found = false;
  for (int32_t v = 0; v < list->values; v++)
    found |= list->value[v].tensor && list->value[v].tensor->store->foreign;
  for (int32_t i = 0; i < graph->outputs; i++) found |= graph->output[i].tensor->store->foreign;
  return found;
}

void cvy_graph_finish(convoy_graph *graph) {
  for (int32_t i = 0; i < graph->outputs; i++)
    graph->list.value[graph->output[i].value].kept = true;
  cvy_nodes_finish(&graph->list);
  find_carried(graph);
  graph->foreign |= is_foreign(graph);
}
