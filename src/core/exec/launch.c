/* Commands in the order in which an operation needs them. */
#include "core/exec/launch.h"

#include <math.h>
#include <string.h>

#include "core/exec/device.h"
#include "core/exec/fetches.h"
#include "core/exec/recover.h"
#include "core/tune/precompile.h"

static convoy_status checked(convoy_context *context, convoy_status status) {
  return status ? cvy_recover(context, status) : CONVOY_OK;
}

static convoy_status order(convoy_context *context, const cvy_command *command) {
  return checked(context, cvy_device_execute(context, command));
}

static convoy_status present(const convoy_context *context) {
  if (cvy_device_ready(context)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "%s was closed for good", context->device.facts.info.id);
}

bool cvy_launch_announce(convoy_context *context, const cvy_problem *problem,
                         const cvy_choice *choice) {
  uint64_t before;
  if (!cvy_blackbox_first_use(context, problem, choice, &before)) return false;
  if (before) cvy_await(context, before); /* a fault met there has been dealt with */
  cvy_blackbox_name(context, problem, choice);
  return true;
}

/* ---------------------------------------------------------------------------------- arrays */

/* A new array on the device, contents undefined; the store has no values there yet. */
static convoy_status allocate(cvy_store *store) {
  convoy_context *context = store->context;
  store->array = ++context->last_id;
  store->ticket = UINT64_MAX; /* until written, any fault makes it worthless */
  return order(context, &(cvy_command){CVY_ALLOCATE, .allocate = {store->array, store->bytes}});
}

static convoy_status fill(cvy_store *store) {
  convoy_context *context = store->context;
  convoy_status status = allocate(store);
  if (status) return status;
  status = cvy_device_fill(context, store->array, store->host, store->bytes);
  store->ticket = context->last_ticket;
  return checked(context, status);
}

/* Part of a block, it becomes an array when it is wanted as one. */
static convoy_status name(cvy_store *store) {
  if (!store->unnamed) return CONVOY_OK;
  convoy_context *context = store->context;
  const cvy_command command = {
      CVY_PART_OF, .part_of = {store->array, store->block->array, store->at, store->bytes}};
  convoy_status status = cvy_device_execute(context, &command);
  store->unnamed = false;
  store->named = context->last_ticket;
  return checked(context, status);
}

/* There are no device arrays without elements: a job that reads one names none. */
convoy_status cvy_upload(cvy_store *store) {
  if (store->bytes == 0) return CONVOY_OK;
  if (store->array) return name(store);
  convoy_status status = present(store->context);
  if (status) return status;
  status = fill(store);
  if (status) cvy_store_leave_device(store);
  return status;
}

/* -------------------------------------------------------------------------------- operations */

/* NaN in a result that is to be verified: what is not written shows. */
static convoy_status poison(cvy_store *out) {
  float *values;
  convoy_status status = cvy_values_new(out, &values);
  if (status) return status;
  for (int64_t i = 0; i < out->bytes / (int64_t)sizeof(float); i++) values[i] = NAN;
  status = cvy_device_fill(out->context, out->array, values, out->bytes);
  cvy_values_drop(out, values);
  return checked(out->context, status);
}

/* What output `i` holds before: what is added to, or nothing that counts. */
static convoy_status prepare(const cvy_node *node, int32_t i, cvy_store *out) {
  const cvy_store *prior = i == 0 ? cvy_node_prior(node) : NULL;
  convoy_status status = out->array ? CONVOY_OK : allocate(out);
  if (status) return status;
  if (!prior) return node->unproven ? poison(out) : CONVOY_OK;
  return order(out->context,
               &(cvy_command){CVY_COPY, .copy = {prior->array, out->array, out->bytes}});
}

static convoy_status run(convoy_context *context, const cvy_node *node, const cvy_choice *choice,
                         cvy_store *const out[]) {
  cvy_job job;
  int64_t bytes = 0;
  cvy_job_set(&job, &node->problem, choice->row, &choice->params);
  for (int32_t i = 0; i < cvy_problem_inputs(&node->problem); i++)
    job.in[i].id = node->input[i]->array;
  for (int32_t i = 0; i < node->outputs; i++) {
    job.out[i].id = out[i]->array;
    bytes += out[i]->bytes;
  }
  convoy_status status = cvy_device_run(context, &(cvy_command){CVY_RUN, .job = &job}, bytes);
  for (int32_t i = 0; i < node->outputs; i++) out[i]->ticket = context->last_ticket;
  cvy_blackbox_launched(context);
  return checked(context, status);
}

convoy_status cvy_launch(convoy_context *context, const cvy_node *node, const cvy_choice *choice,
                         cvy_store *const out[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < node->outputs && !status; i++) status = prepare(node, i, out[i]);
  if (!status) status = run(context, node, choice, out);
  for (int32_t i = 0; i < node->outputs && status; i++) cvy_store_leave_device(out[i]);
  return status;
}

/* -------------------------------------------------------------------------------------- plans */

convoy_status cvy_launch_room(cvy_store *store) {
  if (store->array) return CONVOY_OK;
  convoy_status status = present(store->context);
  return status ? status : allocate(store);
}

convoy_status cvy_launch_block(convoy_context *context, int64_t bytes, cvy_block **out) {
  convoy_status status = present(context);
  return status ? status : checked(context, cvy_block_new(context, bytes, out));
}

convoy_status cvy_launch_pack(cvy_block *block, int32_t count, const cvy_packed *parts) {
  convoy_context *context = block->context;
  convoy_status status = present(context);
  if (status) return status;
  return checked(context, cvy_device_pack(context, block->array, count, parts, block->bytes));
}

convoy_status cvy_launch_plan(convoy_context *context, cvy_launch_send *send, void *user,
                              uint64_t plan) {
  convoy_status status = present(context);
  return status ? status : checked(context, send(context, user, plan));
}

convoy_status cvy_launch_tap(cvy_store *to, uint64_t plan, int32_t step, int32_t count,
                             const cvy_tap *taps) {
  convoy_status status = present(to->context);
  if (status) return status;
  const cvy_command command = {CVY_PLAN_TAP, .plan_tap = {plan, to->array, step, count},
                               .taps = taps};
  return order(to->context, &command);
}

convoy_status cvy_launch_run(convoy_context *context, uint64_t plan, uint64_t run, int32_t bases,
                             const cvy_base *to, int64_t bytes) {
  convoy_status status = present(context);
  const cvy_command bind = {CVY_PLAN_BIND, .plan_bind = {plan, 0, bases}, .bases = to};
  const cvy_command command = {CVY_PLAN_RUN, .plan_run = {plan, run}};
  if (!status) status = order(context, &bind);
  if (!status) status = checked(context, cvy_device_run(context, &command, bytes));
  return status;
}

/* ----------------------------------------------------------------------------------- waiting */

convoy_status cvy_await(convoy_context *context, uint64_t ticket) {
  const volatile int *interrupt = context->call.interruptible ? &context->interrupt : NULL;
  uint64_t fault = 0;
  cvy_precompile_wait(context, interrupt);
  convoy_status status = cvy_device_wait(context, ticket, interrupt, &fault);
  if (!status) cvy_blackbox_done(context, ticket);
  if (status != CONVOY_ERR_INTERRUPTED) return checked(context, status);
  __atomic_store_n(&context->interrupt, 0, __ATOMIC_RELAXED);
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "convoy_interrupt() ended the wait");
}

/* What cvy_fetch asked for. */
static convoy_status collect(cvy_store *store, float *to) {
  convoy_context *context = store->context;
  uint64_t ticket = store->fetch;
  bool there = cvy_device_fetched(context, ticket);
  convoy_status status = there ? CONVOY_OK : cvy_await(context, ticket);
  if (status) return status;
  cvy_fetch_end(store);
  return checked(context, cvy_device_collect(context, ticket, to, store->bytes));
}

convoy_status cvy_read_back(cvy_store *store, float *to) {
  convoy_context *context = store->context;
  if (store->fetch) return collect(store, to);
  if (store->arrived) {
    if (to != store->arrived) memcpy(to, store->arrived, (size_t)store->bytes);
    return CONVOY_OK;
  }
  convoy_status status = name(store);
  if (!status) status = cvy_await(context, store->ticket);
  if (status) return status;
  return checked(context, cvy_device_read(context, store->array, to, store->bytes));
}

convoy_status cvy_fetch(cvy_store *store) {
  convoy_status status = name(store);
  return status ? status : checked(store->context, cvy_fetch_begin(store));
}

convoy_status cvy_launch_peak(convoy_context *context, cvy_reply *out) {
  convoy_status status = present(context);
  if (status) return status;
  return checked(context, cvy_device_ask(context, &(cvy_command){.kind = CVY_PEAK}, out));
}
