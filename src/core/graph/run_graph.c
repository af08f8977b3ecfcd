/* A run of a graph: its operations one after the other, each as if it had been called. */
#include <stdlib.h>

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/run.h"
#include "core/graph/graph.h"

/* A run's stores, by the numbers of values; NULL: not there yet, or not needed any more. */
typedef struct pass {
  convoy_graph *graph;
  cvy_store **store;
} pass;

static convoy_status begin(convoy_graph *graph, pass *out) {
  *out = (pass){graph, calloc((size_t)graph->values + 1, sizeof(cvy_store *))};
  if (!out->store)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a run of %d values", (int)graph->values);
  for (int32_t v = 0; v < graph->values; v++) {
    const cvy_graph_value *value = &graph->value[v];
    bool read = value->tensor && (value->last_use >= 0 || value->kept);
    if (read) out->store[v] = cvy_store_keep(value->tensor->store);
  }
  return CONVOY_OK;
}

static void end(pass *p) {
  for (int32_t v = 0; v < p->graph->values; v++) cvy_store_drop(p->store[v]);
  free(p->store);
}

static convoy_status make_results(pass *p, const cvy_graph_node *node, cvy_store *out[]) {
  for (int32_t i = 0; i < node->outputs; i++) {
    out[i] = cvy_store_new(p->graph->context, p->graph->value[node->out[i]].bytes);
    if (!out[i]) return CONVOY_ERR_MEMORY;
    p->store[node->out[i]] = out[i];
  }
  return CONVOY_OK;
}

/* Of an empty batch nothing is computed: sums are the zeros of new stores, or what they add to. */
static void pass_on(pass *p, const cvy_graph_node *node) {
  if (!node->problem->accumulate) return;
  cvy_store_drop(p->store[node->out[0]]);
  p->store[node->out[0]] = cvy_store_keep(p->store[node->in[node->inputs - 1]]);
}

static convoy_status perform(pass *p, const cvy_graph_node *at) {
  convoy_context *context = p->graph->context;
  cvy_store *in[CVY_MOST_READ], *out[CVY_MAX_OUTPUTS];
  for (int32_t i = 0; i < at->inputs; i++) in[i] = p->store[at->in[i]];
  convoy_status status = make_results(p, at, out);
  if (status) return status;
  if (cvy_problem_empty(at->problem)) {
    pass_on(p, at);
    return CONVOY_OK;
  }
  cvy_node *node = cvy_node_new(at->problem, in);
  if (!node) return CONVOY_ERR_MEMORY;
  cvy_problem_set_run(&node->problem, p->graph->runs);
  status = cvy_perform(context, node, out);
  cvy_node_drop(node);
  return status;
}

/* What nobody reads after this node, and no tensor gets. */
static void let_go(pass *p, int32_t n) {
  const cvy_graph_node *node = &p->graph->node[n];
  for (int32_t i = 0; i < node->inputs + node->outputs; i++) {
    int32_t v = i < node->inputs ? node->in[i] : node->out[i - node->inputs];
    const cvy_graph_value *value = &p->graph->value[v];
    if (value->kept || value->last_use > n) continue;
    cvy_store_drop(p->store[v]);
    p->store[v] = NULL;
  }
}

static convoy_status perform_all(pass *p) {
  convoy_status status = CONVOY_OK;
  for (int32_t n = 0; n < p->graph->nodes && !status; n++) {
    if (!p->graph->node[n].needed) continue;
    status = perform(p, &p->graph->node[n]);
    if (!status) let_go(p, n);
  }
  return status;
}

/* A trainer that never waits would fill the device with runs. A fault met here has been dealt with.
 */
static void await_turn(const convoy_graph *graph) {
  uint64_t ticket = graph->ticket[graph->runs % CVY_GRAPH_OUTSTANDING];
  if (ticket && cvy_device_ready(graph->context)) cvy_await(graph->context, ticket);
}

static convoy_status settle(const pass *p) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < p->graph->outputs && !status; i++)
    status = cvy_settle(p->store[p->graph->output[i].value]);
  return status;
}

static void hand_over(pass *p) {
  for (int32_t i = 0; i < p->graph->outputs; i++) {
    const cvy_graph_output *output = &p->graph->output[i];
    cvy_tensor_swap(output->tensor, cvy_store_keep(p->store[output->value]));
  }
}

convoy_status cvy_graph_run(convoy_graph *graph, convoy_run *run) {
  convoy_context *context = graph->context;
  pass p;
  await_turn(graph);
  convoy_status status = begin(graph, &p);
  if (status) return status;
  status = perform_all(&p);
  if (!status && run) status = settle(&p);
  if (!status) {
    hand_over(&p);
    graph->ticket[graph->runs++ % CVY_GRAPH_OUTSTANDING] = context->last_ticket;
    if (run) cvy_fill_run(context, run);
  }
  end(&p);
  return status;
}
