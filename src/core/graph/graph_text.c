/* A graph for people. */
#include "core/graph/graph.h"

static void add_values(cvy_text *text, const int32_t *value, int32_t count) {
  for (int32_t i = 0; i < count; i++) cvy_text_add(text, "%sv%d", i ? " " : "", (int)value[i]);
}

static void add_node(cvy_text *text, const cvy_graph_node *node) {
  char problem[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(node->problem, problem, sizeof problem);
  add_values(text, node->out, node->outputs);
  cvy_text_add(text, " = %s of ", problem);
  add_values(text, node->in, node->inputs);
  cvy_text_add(text, "%s\n", node->needed ? "" : " (not needed)");
}

static int32_t count_inputs(const convoy_graph *graph) {
  int32_t count = 0;
  for (int32_t v = 0; v < graph->list.values; v++) count += cvy_nodes_reads_first(&graph->list, v);
  return count;
}

/* The most bytes of results that are there at one time. */
static int64_t most_bytes(const convoy_graph *graph) {
  int64_t now = 0, most = 0;
  for (int32_t n = 0; n < graph->list.nodes; n++) {
    const cvy_graph_node *node = &graph->list.node[n];
    if (!node->needed) continue;
    for (int32_t i = 0; i < node->outputs; i++) now += graph->list.value[node->out[i]].bytes;
    most = now > most ? now : most;
    for (int32_t v = 0; v < graph->list.values; v++) {
      const cvy_graph_value *value = &graph->list.value[v];
      if (!value->tensor && !value->kept && value->last_use == n) now -= value->bytes;
    }
  }
  return most;
}

convoy_status cvy_graph_text(const convoy_graph *graph, char *to, size_t size) {
  cvy_text text = cvy_text_in(to, size);
  cvy_text_add(&text,
               "%d nodes, %d tensors read, %d written, at most %.1f MiB of results at a time\n",
               (int)graph->list.nodes, (int)count_inputs(graph), (int)graph->outputs,
               (double)most_bytes(graph) / (1 << 20));
  for (int32_t v = 0; v < graph->list.values; v++)
    if (cvy_graph_reads(&graph->list.value[v]))
      cvy_text_add(&text, "v%d: %lld bytes of a tensor\n", (int)v,
                   (long long)graph->list.value[v].bytes);
  for (int32_t n = 0; n < graph->list.nodes; n++) add_node(&text, &graph->list.node[n]);
  for (int32_t i = 0; i < graph->outputs; i++)
    cvy_text_add(&text, "%sv%d", i ? " " : "written: ", (int)graph->output[i].value);
  cvy_text_add(&text, graph->outputs ? "\n" : "");
  if (!text.overflow) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "the graph's text does not fit into %zu bytes", size);
}
