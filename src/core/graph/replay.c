/* A plan's operations on host memory, one after the other. */
#include "core/graph/replay.h"

#include <stdlib.h>
#include <string.h>

#include "core/exec/compute.h"
#include "core/exec/values.h"
#include "core/graph/device_plan.h"
#include "core/verify/nan_watch.h"
#include "problem/operation.h"

/* Host memory by the numbers of values: the inputs' own, and what is computed. */
typedef struct replay {
  convoy_context *context;
  const cvy_nodes *list;
  uint64_t run;
  float **value;
} replay;

static convoy_status begin(cvy_node *node, convoy_context *context, replay *out) {
  const cvy_plan *plan = node->plan;
  *out = (replay){context, &plan->list, node->run, NULL};
  out->value = calloc((size_t)plan->list.values + 1, sizeof *out->value);
  if (!out->value) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a run");
  for (int32_t i = 0; i < plan->inputs; i++) out->value[plan->input[i]] = node->input[i]->host;
  return CONVOY_OK;
}

static bool is_computed(const replay *r, int32_t value) {
  return r->value[value] && !r->list->value[value].tensor;
}

static void drop(replay *r, int32_t value) {
  if (!is_computed(r, value)) return;
  cvy_free_list_give(&r->context->memory, r->value[value], r->list->value[value].bytes);
  r->value[value] = NULL;
}

static void end(replay *r) {
  for (int32_t v = 0; r->value && v < r->list->values; v++) drop(r, v);
  free(r->value);
}

static convoy_status make_results(replay *r, const cvy_graph_node *node, float *out[]) {
  for (int32_t i = 0; i < node->outputs; i++) {
    int64_t bytes = r->list->value[node->out[i]].bytes;
    out[i] = r->value[node->out[i]] = cvy_free_list_take(&r->context->memory, bytes);
    if (!out[i])
      return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %lld bytes", (long long)bytes);
  }
  return CONVOY_OK;
}

static void let_go(replay *r, int32_t n) {
  const cvy_graph_node *node = &r->list->node[n];
  for (int32_t i = 0; i < node->inputs + node->outputs; i++) {
    int32_t v = i < node->inputs ? node->in[i] : node->out[i - node->inputs];
    const cvy_graph_value *value = &r->list->value[v];
    if (!value->kept && value->last_use <= n) drop(r, v);
  }
}

static convoy_status compute_node(replay *r, int32_t n) {
  const cvy_graph_node *node = &r->list->node[n];
  const float *in[CVY_MOST_READ];
  float *out[CVY_MAX_OUTPUTS];
  cvy_problem problem;
  cvy_problem_copy(&problem, node->problem);
  cvy_problem_set_run(&problem, r->run);
  for (int32_t i = 0; i < node->inputs; i++) in[i] = r->value[node->in[i]];
  convoy_status status = make_results(r, node, out);
  if (status) return status;
  if (problem.accumulate)
    memcpy(out[0], in[node->inputs - 1], (size_t)r->list->value[node->out[0]].bytes);
  status = cvy_compute(r->context, &problem, in, out);
  if (!status) let_go(r, n);
  return status;
}

static convoy_status compute_all(replay *r) {
  convoy_status status = CONVOY_OK;
  for (int32_t n = 0; n < r->list->nodes && !status; n++) status = compute_node(r, n);
  return status;
}

/* -------------------------------------------------------------------------------------- results */

/* Whether another tensor gets the same value and does so later. */
static bool is_wanted_again(const cvy_plan *plan, const cvy_node *node, int32_t output) {
  int32_t last = plan->list.value[plan->result[output]].last_output;
  for (int32_t i = output + 1; i <= last; i++)
    if (plan->result[i] == plan->result[output] && node->output[i]) return true;
  return false;
}

static convoy_status publish(replay *r, const cvy_plan *plan, cvy_node *node, int32_t output) {
  cvy_store *store = node->output[output];
  int32_t value = plan->result[output];
  float *values = r->value[value];
  if (is_wanted_again(plan, node, output)) {
    convoy_status status = cvy_values_new(store, &values);
    if (status) return status;
    memcpy(values, r->value[value], (size_t)store->bytes);
  } else {
    r->value[value] = NULL;
  }
  cvy_store_publish(store, values);
  return CONVOY_OK;
}

static convoy_status publish_all(replay *r, cvy_node *node) {
  const cvy_plan *plan = node->plan;
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < plan->outputs && !status; i++) {
    const cvy_store *store = node->output[i];
    if (store && !store->status && !store->host) status = publish(r, plan, node, i);
  }
  return status;
}

static void report(convoy_context *context, const cvy_node *node) {
  const cvy_plan *plan = node->plan;
  context->health.device_operations -= plan->list.nodes;
  context->health.failovers += plan->list.nodes - 1; /* one is what is reported */
  cvy_report(context, CONVOY_EVENT_FAILOVER, context->call.first_fault, "",
             "computed by %s instead of %s: run %llu of a graph of %d operations",
             context->cpu.facts.info.id, context->device.facts.info.id,
             (unsigned long long)node->run, (int)plan->list.nodes);
}

static convoy_context *context_of(const cvy_node *node) {
  for (int32_t i = 0; i < node->outputs; i++)
    if (node->output[i]) return node->output[i]->context;
  return NULL;
}

static convoy_status make(cvy_node *node) {
  convoy_context *context = context_of(node);
  replay r;
  convoy_status status = begin(node, context, &r);
  if (!status) status = compute_all(&r);
  if (!status) report(context, node);
  if (!status) status = publish_all(&r, node);
  end(&r);
  return status;
}

/* -------------------------------------------------------------------------------------- the rest
 */

/* The first operation that makes what is no number is found by carrying all of them out once more,
 * here, where each result is looked at. */
static void watch(cvy_node *node, int32_t output, const float *values) {
  const cvy_store *store = node->output[output];
  convoy_context *context = store->context;
  replay r;
  if (!cvy_watch_finds(context, values, store->bytes)) return;
  if (cvy_node_fetch(node) || context->nonfinite_seen) return; /* what it read was the first */
  if (!begin(node, context, &r)) compute_all(&r);
  end(&r);
}

static const cvy_problem *step_of(const cvy_node *node, int32_t step, const cvy_choice **choice) {
  const cvy_plan *plan = node->plan;
  const cvy_device_plan *made = plan->device;
  if (!made || step < 0 || step >= made->steps) return NULL;
  int32_t n = made->step[step];
  *choice = &made->choice[n];
  return cvy_graph_node_placed(&plan->list.node[n]);
}

static void drop_plan(cvy_node *node) {
  cvy_plan_drop(node->plan);
}

static const cvy_composite run_of_graph = {make, watch, step_of, drop_plan};

cvy_node *cvy_replay_node(cvy_plan *plan, uint64_t run, cvy_store *const input[]) {
  cvy_node *node = cvy_node_new_composite(&run_of_graph, plan, plan->inputs, input, plan->outputs);
  if (!node) return NULL;
  cvy_plan_keep(plan);
  node->run = run;
  return node;
}
