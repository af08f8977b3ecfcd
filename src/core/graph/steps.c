/* Nodes and stores for a plan's operations, as calls make them. */
#include "core/graph/steps.h"

#include <stdlib.h>

#include "core/exec/low_memory.h"
#include "core/exec/run.h"
#include "core/graph/taps.h"

/* A run's stores, by the numbers of values; NULL: not there yet, or not needed any more. */
typedef struct pass {
  convoy_graph *graph;
  const cvy_nodes *list; /* the plan's */
  cvy_store **store;
  int32_t tap; /* the node that is tapped, -1: none */
} pass;

/* Results have arrays of their own: for these and for what plans share there may be no room. */
static convoy_status begin(convoy_graph *graph, pass *out) {
  const cvy_nodes *list = &graph->plan->list;
  *out = (pass){graph, list, calloc((size_t)list->values + 1, sizeof(cvy_store *)), -1};
  if (!out->store)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a run of %d values", (int)list->values);
  cvy_shared_blocks_let_go(graph->context);
  for (int32_t v = 0; v < list->values; v++) {
    const cvy_graph_value *value = &list->value[v];
    if (cvy_graph_reads(value)) out->store[v] = cvy_store_keep(value->tensor->store);
  }
  return CONVOY_OK;
}

static void end(pass *p) {
  for (int32_t v = 0; v < p->list->values; v++) cvy_store_drop(p->store[v]);
  free(p->store);
}

static convoy_status make_results(pass *p, const cvy_graph_node *node, cvy_store *out[]) {
  for (int32_t i = 0; i < node->outputs; i++) {
    out[i] = cvy_store_new(p->graph->context, p->list->value[node->out[i]].bytes);
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

static convoy_status perform(pass *p, int32_t n) {
  const cvy_graph_node *at = &p->list->node[n];
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
  if (!status && n == p->tap) cvy_tap_keep(p->graph, node, out);
  cvy_node_drop(node);
  return status;
}

/* What nobody reads after this node, and no tensor gets. */
static void let_go(pass *p, int32_t n) {
  const cvy_graph_node *node = &p->list->node[n];
  for (int32_t i = 0; i < node->inputs + node->outputs; i++) {
    int32_t v = i < node->inputs ? node->in[i] : node->out[i - node->inputs];
    const cvy_graph_value *value = &p->list->value[v];
    if (value->kept || value->last_use > n || !p->store[v]) continue;
    cvy_store_retire(p->store[v]);
    cvy_store_drop(p->store[v]);
    p->store[v] = NULL;
  }
}

static convoy_status perform_all(pass *p) {
  convoy_status status = CONVOY_OK;
  for (int32_t n = 0; n < p->list->nodes && !status; n++) {
    if (!p->list->node[n].needed) continue;
    status = perform(p, n);
    if (!status) let_go(p, n);
  }
  return status;
}

convoy_status cvy_run_steps(convoy_graph *graph, cvy_store *out[]) {
  pass p;
  convoy_status status = begin(graph, &p);
  if (status) return status;
  p.tap = graph->foreign ? -1 : cvy_tap_choose(graph);
  status = perform_all(&p);
  for (int32_t i = 0; i < graph->outputs && !status; i++)
    out[i] = cvy_store_keep(p.store[graph->plan->result[i]]);
  end(&p);
  return status;
}
