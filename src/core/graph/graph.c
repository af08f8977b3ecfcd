/* Graphs as lists: nodes, values, and which of them are needed. */
#include "core/graph/graph.h"

#include <stdlib.h>
#include <string.h>

convoy_graph *cvy_graph_new(convoy_context *context) {
  convoy_graph *graph = calloc(1, sizeof *graph);
  if (!graph) {
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph");
    return NULL;
  }
  graph->context = context;
  atomic_fetch_add(&context->references, 1);
  return graph;
}

void cvy_graph_shorten(convoy_graph *graph, int32_t nodes, int32_t values) {
  while (graph->nodes > nodes) free(graph->node[--graph->nodes].problem);
  while (graph->values > values) cvy_tensor_drop(graph->value[--graph->values].tensor);
}

void cvy_graph_drop(convoy_graph *graph) {
  convoy_context *context = graph->context;
  for (int32_t i = 0; i < CVY_GRAPH_OUTSTANDING; i++) cvy_store_drop(graph->tap[i]);
  cvy_graph_shorten(graph, 0, 0);
  for (int32_t i = 0; i < graph->outputs; i++) cvy_tensor_drop(graph->output[i].tensor);
  free(graph->node);
  free(graph->value);
  free(graph->output);
  free(graph);
  cvy_pool_drop(context);
}

/* ----------------------------------------------------------------------------------- building */

/* Twice as many each time, so that adding n of them moves fewer than 2 n. */
static convoy_status grow(void **list, int32_t count, int32_t more, int32_t *room, size_t size) {
  if (more <= *room - count) return CONVOY_OK;
  int64_t wanted = 2 * ((int64_t)count + more);
  void *grown = wanted > INT32_MAX ? NULL : realloc(*list, (size_t)wanted * size);
  if (!grown)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph of %d nodes", (int)count);
  *list = grown;
  *room = (int32_t)wanted;
  return CONVOY_OK;
}

convoy_status cvy_graph_reserve(convoy_graph *graph, int32_t nodes, int32_t values) {
  void *node = graph->node, *value = graph->value;
  convoy_status status = grow(&node, graph->nodes, nodes, &graph->node_room, sizeof *graph->node);
  graph->node = node;
  if (!status)
    status = grow(&value, graph->values, values, &graph->value_room, sizeof *graph->value);
  graph->value = value;
  return status;
}

static int32_t add_value(convoy_graph *graph, int64_t bytes, convoy_tensor *tensor) {
  graph->value[graph->values] = (cvy_graph_value){bytes, tensor, NULL, -1, false};
  return graph->values++;
}

int32_t cvy_graph_add_input(convoy_graph *graph, convoy_tensor *tensor) {
  tensor->references++;
  return add_value(graph, tensor->store->bytes, tensor);
}

cvy_graph_node *cvy_graph_add(convoy_graph *graph, const cvy_problem *problem, const int32_t *in) {
  cvy_graph_node node = {.inputs = cvy_problem_reads(problem),
                         .outputs = cvy_problem_outputs(problem)};
  if (cvy_graph_reserve(graph, 1, node.outputs)) return NULL;
  node.problem = malloc(cvy_problem_size(problem));
  if (!node.problem) {
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a node of a graph");
    return NULL;
  }
  cvy_problem_copy(node.problem, problem);
  memcpy(node.in, in, (size_t)node.inputs * sizeof *in);
  for (int32_t i = 0; i < node.outputs; i++)
    node.out[i] = add_value(graph, cvy_problem_output_bytes(problem, i), NULL);
  graph->node[graph->nodes] = node;
  return &graph->node[graph->nodes++];
}

/* ------------------------------------------------------------------------------------ liveness */

static bool makes_what_is_used(const convoy_graph *graph, const cvy_graph_node *node) {
  for (int32_t i = 0; i < node->outputs; i++) {
    const cvy_graph_value *made = &graph->value[node->out[i]];
    if (made->kept || made->last_use >= 0) return true;
  }
  return false;
}

static bool is_read(const convoy_graph *graph, const convoy_tensor *tensor) {
  for (int32_t v = 0; v < graph->values; v++)
    if (graph->value[v].tensor == tensor && cvy_graph_reads(&graph->value[v])) return true;
  return false;
}

/* From the end: whoever reads a result comes later than the node that makes it. */
void cvy_graph_finish(convoy_graph *graph) {
  for (int32_t i = 0; i < graph->outputs; i++) graph->value[graph->output[i].value].kept = true;
  for (int32_t n = graph->nodes - 1; n >= 0; n--) {
    cvy_graph_node *node = &graph->node[n];
    node->needed = makes_what_is_used(graph, node);
    for (int32_t i = 0; i < node->inputs && node->needed; i++) {
      cvy_graph_value *read = &graph->value[node->in[i]];
      if (read->last_use < 0) read->last_use = n;
    }
  }
  for (int32_t i = 0; i < graph->outputs; i++)
    graph->output[i].carried = is_read(graph, graph->output[i].tensor);
}
