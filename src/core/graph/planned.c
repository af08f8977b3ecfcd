/* What a run reads is brought to the device, what it makes gets memory there, and then one command
 * does it all. */
#include "core/graph/planned.h"

#include "core/exec/compute.h"
#include "core/exec/launch.h"
#include "core/exec/together.h"
#include "core/exec/values.h"
#include "core/graph/device_plan.h"
#include "core/graph/planned_taps.h"
#include "core/graph/replay.h"
#include "core/graph/shared_memory.h"

/* --------------------------------------------------------------------------------------- inputs */

static bool is_there(const cvy_store *store) {
  return store->array || store->bytes == 0;
}

static convoy_status send_inputs(convoy_context *context, const cvy_plan *plan) {
  cvy_store *const *input = plan->device->input;
  convoy_status status = cvy_send_together(context, plan->inputs, input);
  for (int32_t i = 0; i < plan->inputs && !status; i++)
    if (!is_there(input[i])) status = cvy_store_send(input[i]);
  return status;
}

bool cvy_planned_is_there(const convoy_graph *graph) {
  const cvy_plan *plan = graph->plan;
  for (int32_t i = 0; i < plan->inputs; i++)
    if (!is_there(plan->list.value[plan->input[i]].tensor->store)) return false;
  return true;
}

/* A fault met on the way may take what was brought before: once more then. */
static convoy_status bring_inputs(const convoy_graph *graph) {
  const cvy_plan *plan = graph->plan;
  for (int32_t i = 0; i < plan->inputs; i++)
    plan->device->input[i] = plan->list.value[plan->input[i]].tensor->store;
  for (int tries = 0; tries < 2; tries++) {
    convoy_status status = send_inputs(graph->context, plan);
    if (status || cvy_planned_is_there(graph)) return status;
  }
  return cvy_fail(CONVOY_ERR_DEVICE, "%s lost what it was given",
                  graph->context->device.facts.info.id);
}

/* ---------------------------------------------------------------------------------------- memory
 */

/* Stores do not change; somebody else's memory does. */
static cvy_base binding_of(const cvy_store *store) {
  if (store->block) return (cvy_base){store->block->array, store->at, 1, 0};
  return (cvy_base){store->array, 0, !store->foreign, 0};
}

static convoy_status take_memory(const convoy_graph *graph) {
  cvy_device_plan *made = graph->plan->device;
  const cvy_places *places = &made->places;
  cvy_base *binding = made->binding;
  convoy_status status = CONVOY_OK;
  for (int32_t b = 0; b < places->shared && !status; b++, binding++) {
    *binding = (cvy_base){0};
    status = cvy_shared_memory_block(graph->context, b, places->bytes[b], &binding->id);
  }
  for (int32_t b = 0; b < places->own && !status; b++, binding++) {
    status = cvy_launch_block(graph->context, places->bytes[places->shared + b], &made->block[b]);
    if (!status) *binding = (cvy_base){.id = made->block[b]->array};
  }
  for (int32_t i = 0; i < graph->plan->inputs && !status; i++, binding++)
    *binding = binding_of(made->input[i]);
  for (int32_t i = 0; i < graph->outputs && !status; i++)
    if (places->home[i]) *binding++ = binding_of(graph->output[i].tensor->store);
  return status;
}

/* Their stores keep them. */
static void let_go(const cvy_device_plan *made) {
  for (int32_t b = 0; b < made->places.own; b++) {
    cvy_block_drop(made->block[b]);
    made->block[b] = NULL;
  }
}

/* --------------------------------------------------------------------------------------- outputs
 */

static cvy_store *come_home(const convoy_graph *graph, int32_t i) {
  cvy_store *home = graph->output[i].tensor->store;
  home->ticket = graph->context->last_ticket;
  return cvy_store_keep(home);
}

/* What a tensor is given that another one had when the run began is its store. */
static cvy_store *make_output(const convoy_graph *graph, int32_t i) {
  const cvy_plan *plan = graph->plan;
  const cvy_graph_value *value = &plan->list.value[plan->result[i]];
  const cvy_places *places = &plan->device->places;
  if (value->tensor) return cvy_store_keep(value->tensor->store);
  if (places->home[i]) return come_home(graph, i);
  cvy_store *store = cvy_store_new(graph->context, value->bytes);
  if (!store || !value->bytes) return store;
  cvy_block *block = plan->device->block[places->base[plan->result[i]] - places->shared];
  cvy_store_place(store, block, places->at[plan->result[i]], graph->context->last_ticket);
  store->number = graph->context->verification.operations;
  store->irreplaceable = graph->foreign;
  return store;
}

static void remember(const cvy_plan *plan, cvy_node *node, int32_t depth, cvy_store *out[]) {
  for (int32_t i = 0; i < plan->outputs; i++) {
    const cvy_graph_value *value = &plan->list.value[plan->result[i]];
    if (value->tensor || !value->bytes) continue;
    cvy_store_remember(out[i], node, i);
    out[i]->depth = depth;
  }
}

static convoy_status remember_all(const convoy_graph *graph, cvy_store *out[]) {
  cvy_plan *plan = graph->plan;
  cvy_node *node = cvy_replay_node(plan, graph->runs, plan->device->input);
  if (!node) return CONVOY_ERR_MEMORY;
  remember(plan, node, graph->context->run_depth, out);
  cvy_node_drop(node);
  return CONVOY_OK;
}

static convoy_status make_outputs(const convoy_graph *graph, cvy_store *out[]) {
  convoy_status status = CONVOY_OK;
  int32_t made = 0;
  for (; made < graph->plan->outputs && !status; made++) {
    out[made] = make_output(graph, made);
    if (!out[made]) status = CONVOY_ERR_MEMORY;
  }
  if (!status && !graph->foreign) status = remember_all(graph, out);
  for (int32_t i = 0; i < made && status; i++) cvy_store_drop(out[i]);
  return status;
}

/* ------------------------------------------------------------------------------------------ all */

static void count(convoy_context *context, const cvy_plan *plan) {
  int32_t nodes = plan->list.nodes;
  context->verification.operations += nodes;
  context->health.operations += nodes;
  context->health.device_operations += nodes;
  if (nodes) cvy_note_engine(context, &context->device, &plan->device->choice[nodes - 1]);
}

static convoy_status launch(convoy_graph *graph) {
  const cvy_device_plan *made = graph->plan->device;
  convoy_status status = take_memory(graph);
  if (!status && !graph->foreign) status = cvy_planned_tap_begin(graph);
  if (status) return status;
  return cvy_launch_run(graph->context, made->number, graph->runs, made->places.bases,
                        made->binding, made->bytes);
}

convoy_status cvy_run_planned(convoy_graph *graph, cvy_store *out[]) {
  convoy_status status = cvy_device_plan_ready(graph->context, graph->plan);
  if (!status) status = bring_inputs(graph);
  if (status) return status;
  status = launch(graph);
  if (!status) {
    count(graph->context, graph->plan);
    status = make_outputs(graph, out);
  }
  let_go(graph->plan->device);
  if (!status && !graph->foreign)
    cvy_planned_tap_enqueued(graph); /* what fails there has been dealt with */
  return status;
}
