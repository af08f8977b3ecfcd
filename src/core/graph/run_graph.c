/* A run of a graph: its operations one after the other, each as if it had been called, except that
 * what is made on the way is not kept on the device. Should it be wanted again, since the device
 * was lost, it is made anew from what the run read (exec/values.c), and what that was made from, as
 * far back as the last run of which the host has the results that the next run reads. */
#include <stdlib.h>

#include "core/exec/commit.h"
#include "core/exec/device.h"
#include "core/exec/history.h"
#include "core/exec/launch.h"
#include "core/exec/run.h"
#include "core/exec/values.h"
#include "core/graph/plan.h"
#include "core/graph/taps.h"

/* Runs after which the host gets what the next one reads: a lost device costs so many runs of the
 * CPU's time at most, and three more that are under way. */
enum { COMMIT_EVERY = 16 };

/* A run's stores, by the numbers of values; NULL: not there yet, or not needed any more. */
typedef struct pass {
  convoy_graph *graph;
  const cvy_nodes *list; /* the plan's */
  cvy_store **store;
  int32_t tap; /* the node that is tapped, -1: none */
} pass;

/* An engine has the plan that suits it. */
static convoy_status make_plan(convoy_graph *graph) {
  const cvy_engine *engine = cvy_context_engine(graph->context);
  if (graph->plan && graph->plan->engine == engine) return CONVOY_OK;
  cvy_plan_drop(graph->plan);
  graph->plan = NULL;
  return cvy_plan_make(graph, engine, &graph->plan);
}

static convoy_status begin(convoy_graph *graph, pass *out) {
  const cvy_nodes *list = &graph->plan->list;
  *out = (pass){graph, list, calloc((size_t)list->values + 1, sizeof(cvy_store *)), -1};
  if (!out->store)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a run of %d values", (int)list->values);
  for (int32_t v = 0; v < list->values; v++) {
    const cvy_graph_value *value = &list->value[v];
    if (cvy_graph_reads(value)) out->store[v] = cvy_store_keep(value->tensor->store);
  }
  return CONVOY_OK;
}

/* Verifying all of every result needs all that it was computed from: then histories are those of
 * single calls. */
static int32_t depth_of(const pass *p) {
  int32_t deepest = 0;
  if (p->graph->context->options.verify == CONVOY_VERIFY_ALL) return 0;
  for (int32_t v = 0; v < p->list->values; v++) {
    int32_t depth = p->store[v] ? cvy_history_depth(p->store[v]) : 0;
    if (depth > deepest) deepest = depth;
  }
  return 1 + deepest;
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

/* Nobody reads it any more, except to make others anew. Then the device need not keep it, since it
 * can be made anew itself, unless it is to be verified or is on its way to the host. */
static void retire(const convoy_context *context, cvy_store *store) {
  bool is_others = store->references > store->held + 1;
  if (!context->run_depth || is_others || store->fetch || store->tapped) return;
  if (store->history) cvy_store_leave_device(store);
}

/* What nobody reads after this node, and no tensor gets. */
static void let_go(pass *p, int32_t n) {
  const cvy_graph_node *node = &p->list->node[n];
  for (int32_t i = 0; i < node->inputs + node->outputs; i++) {
    int32_t v = i < node->inputs ? node->in[i] : node->out[i - node->inputs];
    const cvy_graph_value *value = &p->list->value[v];
    if (value->kept || value->last_use > n || !p->store[v]) continue;
    retire(p->graph->context, p->store[v]);
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

/* A trainer that never waits would fill the device with runs. A fault met here has been dealt with.
 */
static void await_turn(const convoy_graph *graph) {
  uint64_t ticket = graph->ticket[graph->runs % CVY_GRAPH_OUTSTANDING];
  if (ticket && cvy_device_ready(graph->context)) cvy_await(graph->context, ticket);
}

static convoy_status settle(const pass *p) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < p->graph->outputs && !status; i++)
    status = cvy_settle(p->store[p->graph->plan->result[i]]);
  return status;
}

static void hand_over(pass *p) {
  for (int32_t i = 0; i < p->graph->outputs; i++) {
    const cvy_graph_output *output = &p->graph->output[i];
    retire(p->graph->context, output->tensor->store);
    cvy_tensor_swap(output->tensor, cvy_store_keep(p->store[p->graph->plan->result[i]]));
  }
}

/* Cuts the histories of what the next run reads, in the background. A copy that fails is one that
 * is asked for again after the next run: nothing is lost meanwhile. */
static void commit(const pass *p) {
  convoy_context *context = p->graph->context;
  bool full = context->health.history_bytes > context->options.history_limit / 2;
  for (int32_t i = 0; i < p->graph->outputs; i++) {
    cvy_store *store = p->store[p->graph->plan->result[i]];
    bool due = p->graph->output[i].carried && (full || store->depth >= COMMIT_EVERY);
    if (store->history && (due || cvy_history_is_long(store))) cvy_commit(store);
  }
  cvy_limit_history(context);
}

convoy_status cvy_graph_run(convoy_graph *graph, convoy_run *run) {
  convoy_context *context = graph->context;
  pass p;
  await_turn(graph);
  convoy_status status = cvy_tap_verify(graph);
  if (!status) status = make_plan(graph);
  if (!status) status = begin(graph, &p);
  if (status) return status;
  p.tap = cvy_tap_choose(graph);
  context->run_depth = depth_of(&p);
  status = perform_all(&p);
  if (!status && run) status = settle(&p);
  if (!status) hand_over(&p);
  context->run_depth = 0;
  if (!status) {
    commit(&p);
    graph->ticket[graph->runs++ % CVY_GRAPH_OUTSTANDING] = context->last_ticket;
    if (run) cvy_fill_run(context, run);
  }
  end(&p);
  return status;
}
