/* Making plans: one pass after the other over a copy of what was captured. */
#include "core/graph/plan.h"

#include <stdlib.h>

#include "core/graph/device_plan.h"
#include "core/graph/passes.h"

typedef convoy_status pass_fn(cvy_plan *plan);
static pass_fn *const passes[CVY_PASSES] = {
    [CVY_PASS_COMMON] = cvy_pass_common, [CVY_PASS_FUSE] = cvy_pass_fuse,
    [CVY_PASS_MERGE] = cvy_pass_merge,   [CVY_PASS_RECOMPUTE] = cvy_pass_recompute,
    [CVY_PASS_VIEWS] = cvy_pass_views,
};

static convoy_status begin(const convoy_graph *graph, cvy_plan *plan) {
  size_t outputs = (size_t)graph->outputs + 1, values = (size_t)graph->list.values + 1;
  convoy_status status = cvy_nodes_copy(&graph->list, &plan->list);
  if (status) return status;
  plan->input = malloc(values * sizeof *plan->input);
  plan->result = malloc(outputs * sizeof *plan->result);
  plan->carried = malloc(outputs * sizeof *plan->carried);
  plan->foreign = malloc(outputs * sizeof *plan->foreign);
  if (!plan->input || !plan->result || !plan->carried || !plan->foreign)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  plan->outputs = graph->outputs;
  for (int32_t i = 0; i < graph->outputs; i++) {
    plan->result[i] = graph->output[i].value;
    plan->carried[i] = graph->output[i].carried;
    plan->foreign[i] = graph->output[i].tensor->store->foreign;
  }
  return CONVOY_OK;
}

/* Nodes that are not needed go; the numbers of values stay. */
static void leave_out(cvy_plan *plan) {
  cvy_nodes *list = &plan->list;
  int32_t kept = 0;
  for (int32_t v = 0; v < list->values; v++) list->value[v].kept = false;
  for (int32_t i = 0; i < plan->outputs; i++) {
    cvy_graph_value *value = &list->value[plan->result[i]];
    if (!value->kept) value->first_output = i;
    value->kept = true;
    value->last_output = i;
  }
  cvy_nodes_finish(list);
  for (int32_t n = 0; n < list->nodes; n++) {
    if (list->node[n].needed)
      list->node[kept++] = list->node[n];
    else
      cvy_nodes_free_node(&list->node[n]);
  }
  if (kept == list->nodes) return;
  list->nodes = kept;
  cvy_nodes_finish(list); /* they have other numbers */
}

static void find_inputs(cvy_plan *plan) {
  for (int32_t v = 0; v < plan->list.values; v++)
    if (cvy_graph_reads(&plan->list.value[v])) plan->input[plan->inputs++] = v;
}

/* Stages have been planned together; but their arrays are placed apart, so that what they leave for
 * each other is arrays of their own. */
static uint32_t passes_for(const convoy_graph *graph) {
  const uint32_t places = 1u << CVY_PASS_VIEWS, wanted = graph->context->options.graph_passes;
  if (graph->is_stage) return wanted & places;
  return graph->stages > 1 ? wanted & ~places : wanted;
}

convoy_status cvy_plan_make(const convoy_graph *graph, const cvy_engine *engine, cvy_plan **out) {
  const uint32_t wanted = passes_for(graph);
  cvy_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  plan->references = 1;
  plan->engine = engine;
  plan->chooser = &graph->context->chooser;
  convoy_status status = begin(graph, plan);
  if (!status) leave_out(plan);
  for (int i = 0; i < CVY_PASSES && !status; i++) {
    if (!(wanted >> i & 1)) continue;
    status = passes[i](plan);
    if (!status) leave_out(plan);
  }
  if (!status) find_inputs(plan);
  if (status)
    cvy_plan_drop(plan);
  else
    *out = plan;
  return status;
}

cvy_plan *cvy_plan_keep(cvy_plan *plan) {
  plan->references++;
  return plan;
}

bool cvy_plan_has_views(const cvy_plan *plan) {
  for (int32_t v = 0; v < plan->list.values; v++)
    if (plan->list.value[v].inside >= 0) return true;
  return false;
}

void cvy_plan_set_apart(cvy_plan *plan) {
  cvy_nodes_set_apart(&plan->list);
  cvy_device_plan_free(plan->device);
  plan->device = NULL;
}

void cvy_plan_drop(cvy_plan *plan) {
  if (!plan || --plan->references > 0) return;
  cvy_device_plan_free(plan->device);
  cvy_nodes_drop(&plan->list);
  free(plan->input);
  free(plan->result);
  free(plan->carried);
  free(plan->foreign);
  free(plan);
}
