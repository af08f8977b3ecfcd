/* Choosing for a device, placing, and telling it. */
#include "core/graph/device_plan.h"

#include <stdlib.h>

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/graph/shared_memory.h"

/* --------------------------------------------------------------------------------------- making */

static cvy_device_plan *new_plan(convoy_context *context) {
  cvy_device_plan *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->context = context;
  cvy_shared_memory_use(context);
  return made;
}

static void empty(cvy_device_plan *made) {
  cvy_places_free(&made->places);
  free(made->choice);
  free(made->step);
  free(made->binding);
  free(made->input);
  free(made->block);
  made->choice = NULL;
  made->step = NULL;
  made->binding = NULL;
  made->input = NULL;
  made->block = NULL;
}

static convoy_status check_bases(const cvy_plan *plan, const cvy_places *places) {
  if (places->bases <= CVY_MAX_BASES) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%d tensors are read and %d written, at most %d can be",
                  (int)plan->inputs, (int)places->homes, (int)CVY_MAX_BASES);
}

/* Two steps at most for each node: what it adds to is copied to where it adds. */
static convoy_status fill(const cvy_plan *plan, cvy_device_plan *made) {
  size_t nodes = (size_t)plan->list.nodes + 1;
  convoy_status status = cvy_places_find(plan, &made->places);
  if (!status) status = check_bases(plan, &made->places);
  if (status) {
    cvy_places_free(&made->places);
    return status;
  }
  made->choice = calloc(nodes, sizeof *made->choice);
  made->step = malloc(2 * nodes * sizeof *made->step);
  made->binding = calloc((size_t)made->places.bases + 1, sizeof *made->binding);
  made->input = calloc((size_t)plan->inputs + 1, sizeof(cvy_store *));
  made->block = calloc((size_t)made->places.own + 1, sizeof(cvy_block *));
  bool complete = made->choice && made->step && made->binding && made->input && made->block;
  if (!complete) {
    empty(made);
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  }
  for (int32_t b = 0; b < made->places.shared + made->places.own; b++)
    made->bytes += made->places.bytes[b];
  return CONVOY_OK;
}

static convoy_status choose(convoy_context *context, const cvy_plan *plan, cvy_device_plan *made) {
  convoy_status status = CONVOY_OK;
  made->learned = context->chooser.learned;
  for (int32_t n = 0; n < plan->list.nodes && !status; n++) {
    cvy_choice before = made->choice[n];
    const cvy_problem *problem = cvy_graph_node_placed(&plan->list.node[n]);
    status = cvy_choose(&context->chooser, &context->device, problem, &made->choice[n]);
    bool other = made->trust == CVY_PLAN_PROVEN && !cvy_choice_same(&before, &made->choice[n]);
    if (other) made->trust = CVY_PLAN_NEW;
  }
  return status;
}

/* -------------------------------------------------------------------------------------- telling */

static cvy_operand place_of(const cvy_device_plan *made, int32_t value) {
  int32_t base = made->places.base[value];
  cvy_operand nothing = {.id = 0};
  return base == CVY_NOWHERE ? nothing : cvy_place(base, made->places.at[value]);
}

static convoy_status send_copy(convoy_context *context, const cvy_plan *plan, uint64_t number,
                               int32_t n) {
  cvy_device_plan *made = plan->device;
  const cvy_graph_node *node = &plan->list.node[n];
  int32_t prior = node->in[node->inputs - 1];
  made->step[made->steps++] = n;
  const cvy_command command = {
      CVY_PLAN_COPY, .plan_copy = {number, place_of(made, prior), place_of(made, node->out[0]),
                                   plan->list.value[prior].bytes}};
  return cvy_device_execute(context, &command);
}

static convoy_status send_job(convoy_context *context, const cvy_plan *plan, uint64_t number,
                              int32_t n) {
  cvy_device_plan *made = plan->device;
  const cvy_graph_node *node = &plan->list.node[n];
  const cvy_choice *choice = &made->choice[n];
  cvy_job job;
  cvy_job_set(&job, cvy_graph_node_placed(node), choice->row, &choice->params);
  for (int32_t i = 0; i < cvy_problem_inputs(node->problem); i++)
    job.in[i] = place_of(made, node->in[i]);
  for (int32_t i = 0; i < node->outputs; i++) job.out[i] = place_of(made, node->out[i]);
  made->step[made->steps++] = n;
  const cvy_command command = {CVY_PLAN_JOB, .plan_job = {number}, .job = &job};
  return cvy_device_execute(context, &command);
}

static convoy_status send(convoy_context *context, void *user, uint64_t number) {
  const cvy_plan *plan = user;
  convoy_status status = CONVOY_OK;
  plan->device->steps = 0;
  for (int32_t n = 0; n < plan->list.nodes && !status; n++) {
    if (plan->list.node[n].idle) continue;
    if (plan->list.node[n].problem->accumulate) status = send_copy(context, plan, number, n);
    if (!status) status = send_job(context, plan, number, n);
  }
  return status;
}

/* --------------------------------------------------------------------------------------- asking */

/* What has no images needs more than jobs, and foreign memory may change while others use
 * it. */
static convoy_status check(const convoy_context *context, const cvy_plan *plan) {
  if (!cvy_backend_takes(context->device.backend, CVY_PLAN_RUN))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s takes no plans", context->device.facts.info.id);
  if (!plan->list.nodes) return cvy_fail(CONVOY_ERR_UNSUPPORTED, "there is nothing to do");
  for (int32_t n = 0; n < plan->list.nodes; n++) {
    if (cvy_problem_empty(plan->list.node[n].problem))
      return cvy_fail(CONVOY_ERR_UNSUPPORTED, "an operation of the graph has no images");
  }
  return CONVOY_OK;
}

/* Whether it can be carried out by one command does not change. */
static convoy_status prepare(const convoy_context *context, const cvy_plan *plan,
                             cvy_device_plan *made) {
  convoy_status status = made->binding ? CONVOY_OK : check(context, plan);
  if (!status && !made->binding) status = fill(plan, made);
  if (status == CONVOY_ERR_UNSUPPORTED) made->trust = CVY_PLAN_REFUSED;
  return status;
}

static void drop(const cvy_device_plan *made) {
  const cvy_command command = {CVY_PLAN_DROP, .plan_drop = {made->number}};
  if (made->number && cvy_device_ready(made->context)) cvy_device_execute(made->context, &command);
}

static convoy_status tell(convoy_context *context, cvy_plan *plan, cvy_device_plan *made) {
  convoy_status status = choose(context, plan, made);
  if (status) return status;
  drop(made);
  made->number = ++context->last_plan;
  made->told = context->faults_met;
  status = cvy_launch_plan(context, send, plan, made->number);
  if (status) made->number = 0;
  return status;
}

convoy_status cvy_device_plan_ready(convoy_context *context, cvy_plan *plan) {
  if (!plan->device) plan->device = new_plan(context);
  cvy_device_plan *made = plan->device;
  if (!made) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  if (made->trust == CVY_PLAN_REFUSED)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "the graph is carried out operation by operation");
  bool told = made->number && made->told == context->faults_met &&
              made->learned == context->chooser.learned;
  if (told) return CONVOY_OK;
  convoy_status status = prepare(context, plan, made);
  return status ? status : tell(context, plan, made);
}

void cvy_device_plan_free(cvy_device_plan *plan) {
  if (!plan) return;
  drop(plan);
  cvy_shared_memory_leave(plan->context);
  empty(plan);
  free(plan);
}
