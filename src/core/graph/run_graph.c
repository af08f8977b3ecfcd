/* Runs of graphs: by one command where the device takes it, else operation by operation. What is
 * behind the results is the run, and what that read, as far back as the last run of which the host
 * has the results that the next run reads. */
#include <stdlib.h>
#include <string.h>

#include "core/exec/commit.h"
#include "core/exec/device.h"
#include "core/exec/foreign.h"
#include "core/exec/history.h"
#include "core/exec/launch.h"
#include "core/exec/low_memory.h"
#include "core/exec/run.h"
#include "core/exec/values.h"
#include "core/graph/device_plan.h"
#include "core/graph/foreign_graph.h"
#include "core/graph/plan_summary.h"
#include "core/graph/planned.h"
#include "core/graph/planned_taps.h"
#include "core/graph/steps.h"
#include "core/graph/taps.h"
#include "core/tune/precompile.h"
#include "os/os.h"

/* In the order in which they will be wanted: operation by operation, then by one command. */
static void precompile_here(const convoy_graph *graph) {
  const cvy_nodes *list = &graph->plan->list;
  for (int32_t i = 0; i < list->nodes; i++)
    if (list->node[i].needed) cvy_precompile_here(graph->context, list->node[i].problem);
  for (int32_t i = 0; i < list->nodes; i++)
    if (list->node[i].placed) cvy_precompile_here(graph->context, list->node[i].placed);
}

/* The newest is compiled first, and the first run goes through them from the other end. */
static void precompile(const convoy_graph *graph) {
  const cvy_nodes *list = &graph->plan->list;
  precompile_here(graph);
  if (!cvy_device_ready(graph->context)) return;
  for (int32_t i = 0; i < list->nodes; i++) {
    const cvy_graph_node *node = &list->node[i];
    if (node->placed) cvy_precompile_problem(graph->context, node->placed);
    if (node->needed) cvy_precompile_problem(graph->context, node->problem);
  }
}

/* An engine has the plan that suits it. */
static convoy_status make_plan(convoy_graph *graph) {
  const cvy_engine *engine = cvy_context_engine(graph->context);
  if (graph->plan && graph->plan->engine == engine) return CONVOY_OK;
  cvy_plan_drop(graph->plan);
  graph->plan = NULL;
  convoy_status status = cvy_plan_make(graph, engine, &graph->plan);
  if (!status) precompile(graph);
  return status;
}

/* A trainer that never waits would fill the device with runs. A fault met here has been dealt with.
 */
static void await_turn(const convoy_graph *graph) {
  uint64_t ticket = graph->ticket[graph->runs % CVY_GRAPH_OUTSTANDING];
  if (ticket && cvy_device_ready(graph->context)) cvy_await(graph->context, ticket);
}

/* Verifying all of every result needs all that it was computed from: then histories are those of
 * single calls. */
static int32_t depth_of(const convoy_graph *graph) {
  const cvy_plan *plan = graph->plan;
  int32_t deepest = 0;
  if (graph->context->options.verify == CONVOY_VERIFY_ALL || graph->foreign) return 0;
  for (int32_t i = 0; i < plan->inputs; i++) {
    const cvy_store *store = plan->list.value[plan->input[i]].tensor->store;
    int32_t depth = cvy_history_depth(store);
    if (depth > deepest) deepest = depth;
  }
  return 1 + deepest;
}

static void drop_all(const convoy_graph *graph, cvy_store *out[]) {
  for (int32_t i = 0; i < graph->outputs; i++) cvy_store_drop(out[i]);
}

/* ------------------------------------------------------------------------------ the first time */

/* The results of the same run by one command, after each of its operations has been proved: every
 * bit has to be the same. */
static convoy_status compare(const convoy_graph *graph, cvy_store *const steps[],
                             cvy_store *const planned[], bool *same) {
  convoy_status status = CONVOY_OK;
  *same = true;
  for (int32_t i = 0; i < graph->outputs && !status && *same; i++) {
    if (steps[i] == planned[i]) continue; /* what a tensor had */
    status = cvy_store_fetch(steps[i]);
    if (!status) status = cvy_store_fetch(planned[i]);
    if (!status && steps[i]->host && planned[i]->host)
      *same = memcmp(steps[i]->host, planned[i]->host, (size_t)steps[i]->bytes) == 0;
  }
  return status;
}

static void refuse(const convoy_graph *graph) {
  graph->plan->device->trust = CVY_PLAN_REFUSED;
  graph->context->health.wrong_results++;
  cvy_report(graph->context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_WRONG, "",
             "a graph of %d operations has other results on %s by one command than operation by "
             "operation, and is carried out so from now on",
             (int)graph->plan->list.nodes, graph->context->device.facts.info.id);
}

/* With its arrays apart it may be proved yet: where an algorithm has another order for slices of
 * larger ones, bits differ and nothing is wrong. */
static void give_up_views(const convoy_graph *graph) {
  cvy_plan_set_apart(graph->plan);
  cvy_report(graph->context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_WRONG, "",
             "a graph of %d operations has other bits on %s where arrays lie within others, and is "
             "planned without that",
             (int)graph->plan->list.nodes, graph->context->device.facts.info.id);
}

static bool is_tight(const convoy_graph *graph) {
  int64_t all = cvy_facts_memory(&graph->context->device.facts);
  convoy_graph_plan sums = {.struct_size = sizeof sums};
  if (all <= 0 || cvy_plan_sums(graph, graph->plan, &sums)) return false;
  return sums.internal_bytes + sums.read_bytes + sums.written_bytes > all / 2;
}

/* Where a run needs most of the memory, what lies here and there in it goes to the host first. */
static convoy_status make_room(convoy_graph *graph, cvy_store *const steps[]) {
  if (!is_tight(graph)) return CONVOY_OK;
  convoy_status status = cvy_tap_verify_all(graph);
  for (int32_t i = 0; i < graph->outputs && !status; i++) status = cvy_store_fetch(steps[i]);
  if (!status) cvy_evict(graph->context);
  return status;
}

/* A fault meanwhile leaves the plan unproven: the next run tries again. */
static void prove(convoy_graph *graph, cvy_store *const steps[]) {
  const convoy_context *context = graph->context;
  int32_t faults = context->call.faults;
  cvy_store **planned = calloc((size_t)graph->outputs + 1, sizeof(cvy_store *));
  bool same = false;
  if (!planned) return;
  convoy_status status = make_room(graph, steps);
  if (!status) status = cvy_run_planned(graph, planned);
  if (!status) {
    status = compare(graph, steps, planned, &same);
    drop_all(graph, planned);
  }
  free(planned);
  if (status || context->call.faults > faults) return;
  if (same)
    graph->plan->device->trust = CVY_PLAN_PROVEN;
  else if (cvy_plan_has_views(graph->plan))
    give_up_views(graph);
  else
    refuse(graph);
}

/* --------------------------------------------------------------------------------------- running
 */

/* Whether the device is to carry it out by one command, which it may have to be told first: that
 * may bring other algorithms. */
static bool is_trusted(convoy_graph *graph) {
  convoy_context *context = graph->context;
  const cvy_device_plan *device = graph->plan->device;
  bool verified = context->options.verify == CONVOY_VERIFY_SAMPLE;
  if (!cvy_device_ready(context) || context->options.verify == CONVOY_VERIFY_ALL) return false;
  if (verified && (!device || device->trust != CVY_PLAN_PROVEN)) return false;
  if (cvy_device_plan_ready(context, graph->plan)) return false;
  return !verified || graph->plan->device->trust == CVY_PLAN_PROVEN;
}

/* Whether it may be one day. */
static bool is_to_be_proved(const convoy_graph *graph) {
  const convoy_context *context = graph->context;
  const cvy_device_plan *device = graph->plan->device;
  return cvy_device_ready(context) && context->options.verify == CONVOY_VERIFY_SAMPLE &&
         (!device || device->trust == CVY_PLAN_NEW);
}

/* Whether a run by one command that has failed stays that: nobody else has what it reads, or
 * nobody else is to compute. */
static bool is_final(const convoy_graph *graph, int32_t faults) {
  const convoy_context *context = graph->context;
  return context->call.faults > faults && (graph->foreign || !context->options.failover);
}

/* What a fault has kept from the device is carried out operation by operation, by whom that takes.
 */
static convoy_status carry_out(convoy_graph *graph, bool recorded, cvy_store *out[]) {
  const convoy_context *context = graph->context;
  int32_t faults = context->call.faults;
  bool trusted = is_trusted(graph);
  if (recorded && !(trusted && cvy_planned_is_there(graph)))
    return cvy_foreign_graph_refuse(graph->context);
  if (trusted) {
    convoy_status status = cvy_run_planned(graph, out);
    bool final = recorded || is_final(graph, faults);
    if (!status || status == CONVOY_ERR_INTERRUPTED || final) return status;
  }
  convoy_status status = cvy_run_steps(graph, out);
  bool untouched = context->call.faults == faults;
  if (!status && untouched && is_to_be_proved(graph)) prove(graph, out);
  return status;
}

static convoy_status settle(const convoy_graph *graph, cvy_store *const out[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < graph->outputs && !status; i++) status = cvy_settle(out[i]);
  return status;
}

static void hand_over(const convoy_graph *graph, cvy_store *const out[]) {
  for (int32_t i = 0; i < graph->outputs; i++) {
    convoy_tensor *tensor = graph->output[i].tensor;
    if (tensor->store->foreign) continue; /* where the result is by now */
    cvy_store_retire(tensor->store);
    cvy_tensor_swap(tensor, cvy_store_keep(out[i]));
  }
}

/* Whether the host is to get what the next run reads. */
static bool is_commit_due(const convoy_graph *graph, cvy_store *const out[]) {
  const convoy_context *context = graph->context;
  int32_t depth = 0;
  double bytes = 0;
  for (int32_t i = 0; i < graph->outputs; i++) {
    if (!graph->output[i].carried || !out[i]->history) continue;
    if (out[i]->depth > depth) depth = out[i]->depth;
    bytes += (double)out[i]->bytes;
  }
  if (context->health.history_bytes > context->options.history_limit / 2) return depth > 0;
  return cvy_commit_is_due(depth, bytes, cvy_clock() - graph->committed);
}

/* Cuts the histories of what the next run reads, in the background. A copy that fails is one that
 * is asked for again after the next run: nothing is lost meanwhile. */
static void commit(convoy_graph *graph, cvy_store *const out[]) {
  bool due = is_commit_due(graph, out);
  for (int32_t i = 0; i < graph->outputs; i++) {
    bool cut = (due && graph->output[i].carried) || cvy_history_is_long(out[i], CVY_COMMIT_AT_LAST);
    if (out[i]->history && cut) cvy_commit(out[i]);
  }
  if (due) graph->committed = cvy_clock();
  cvy_limit_history(graph->context);
}

/* Results are where they are wanted, and with `run` they are waited for. */
static convoy_status finish(convoy_graph *graph, const convoy_run *run, cvy_store *out[]) {
  convoy_status status = graph->foreign ? cvy_foreign_graph_land(graph, out) : CONVOY_OK;
  if (!status && run) status = settle(graph, out);
  if (!status) hand_over(graph, out);
  graph->context->run_depth = 0;
  if (!status && !graph->foreign) commit(graph, out);
  drop_all(graph, out);
  return status;
}

static convoy_status run_once(convoy_graph *graph, bool recorded, convoy_run *run,
                              cvy_store *out[]) {
  convoy_context *context = graph->context;
  context->run_depth = depth_of(graph);
  convoy_status status = carry_out(graph, recorded, out);
  if (!status) status = finish(graph, run, out);
  context->run_depth = 0;
  if (status) return status;
  graph->ticket[graph->runs++ % CVY_GRAPH_OUTSTANDING] = context->last_ticket;
  if (run) cvy_fill_run(context, run);
  return CONVOY_OK;
}

static convoy_status run_with_room(convoy_graph *graph, bool recorded, convoy_run *run) {
  cvy_store **out = calloc((size_t)graph->outputs + 1, sizeof(cvy_store *));
  if (!out) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a run");
  convoy_status status = run_once(graph, recorded, run, out);
  free(out);
  return status;
}

static convoy_status run_foreign(convoy_graph *graph, convoy_run *run) {
  const convoy_context *context = graph->context;
  int32_t faults = context->call.faults;
  bool recorded;
  convoy_status status = cvy_foreign_graph_check(graph);
  if (!status) status = cvy_foreign_graph_recording(graph, &recorded);
  if (!status && recorded && run) status = cvy_foreign_graph_refuse(graph->context);
  if (!status) status = make_plan(graph);
  if (!status) status = run_with_room(graph, recorded, run);
  if (status && context->call.faults > faults) status = cvy_foreign_fail(context, status);
  convoy_status ended = cvy_foreign_graph_end(graph);
  return status ? status : ended;
}

convoy_status cvy_graph_run(convoy_graph *graph, convoy_run *run) {
  if (graph->foreign) return run_foreign(graph, run);
  await_turn(graph);
  convoy_status status = cvy_tap_verify(graph);
  if (!status) status = cvy_planned_tap_verify(graph);
  if (!status) status = make_plan(graph);
  return status ? status : run_with_room(graph, false, run);
}
