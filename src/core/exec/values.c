/* From wherever values are to where they are wanted. Reading back may meet a fault, which may take
 * other values along, which are then computed anew from others still: this file and
 * exec/low_memory.c, which carries out in pieces what has no room as a whole, are the one place
 * where core calls itself. */
#include "core/exec/values.h"

#include <string.h>

#include "core/exec/compute.h"
#include "core/exec/device.h"
#include "core/exec/history.h"
#include "core/exec/launch.h"
#include "core/exec/low_memory.h"
#include "core/exec/recover.h"
#include "core/verify/nan_watch.h"
#include "core/verify/verification.h"
#include "os/os.h"

convoy_status cvy_op_fetch(const cvy_op *op) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < CVY_OP_INPUTS && !status; i++) {
    cvy_store *input = cvy_op_input(op, i);
    if (input) status = cvy_store_fetch(input);
  }
  return status;
}

/* -------------------------------------------------------------------------------- CPU engine */

static const float *host_of(const cvy_store *store) {
  return store ? store->host : NULL;
}

static convoy_status compute(convoy_context *context, const cvy_op *op, float *values) {
  convoy_status status = cvy_op_fetch(op);
  if (status) return status;
  if (op->prior) memcpy(values, op->prior->host, (size_t)op->prior->bytes);
  return cvy_compute(context, &op->problem, host_of(op->a), host_of(op->b), host_of(op->bias),
                     values);
}

convoy_status cvy_compute_store(convoy_context *context, const cvy_op *op, cvy_store *out) {
  float *values;
  convoy_status status = cvy_values_new(out, &values);
  if (status) return status;
  status = compute(context, op, values);
  if (status) {
    cvy_values_drop(out, values);
    return status;
  }
  cvy_store_publish(out, values);
  return CONVOY_OK;
}

void cvy_report_failover(convoy_context *context, const cvy_problem *problem) {
  const char *name = cvy_chosen(&context->cpu, &context->call.choice)->name;
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(problem, text, sizeof(text));
  cvy_report(context, CONVOY_EVENT_FAILOVER, context->call.first_fault, name,
             "computed by %s instead of %s: %s", name, context->device.facts.info.id, text);
}

/* An operation whose values the device has lost. */
static convoy_status recompute(convoy_context *context, const cvy_op *op, float *values) {
  convoy_status status = compute(context, op, values);
  if (status) return status;
  context->health.device_operations--; /* it was counted when it was enqueued */
  cvy_report_failover(context, &op->problem);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------------ judging */

/* What it was computed from comes first, and is judged so too. */
static convoy_status judge(cvy_store *store, const float *values,
                           const cvy_verification_plan *plan) {
  bool right = true;
  cvy_mismatch found;
  double began = cvy_clock();
  convoy_status status = cvy_op_fetch(&store->history);
  /* An operand turned out wrong, or the device failed: what was computed from it went along. */
  if (!status && !store->array)
    status = cvy_fail(CONVOY_ERR_WRONG, "it was computed from a wrong result");
  if (!status) status = cvy_verification_judge(store, values, plan, &right, &found);
  cvy_verification_charge(store, plan, began);
  if (status) return status;
  if (!right) return cvy_recover_wrong(store, cvy_verification_wrong(store, &found));
  cvy_verification_right(store);
  return CONVOY_OK;
}

static convoy_status verify(cvy_store *store, const float *values) {
  cvy_verification_plan plan;
  if (!cvy_verification_applies(store)) return CONVOY_OK;
  double began = cvy_verification_begin(store->context);
  convoy_status status = CONVOY_OK;
  if (cvy_verification_plan_for(store, values, &plan)) status = judge(store, values, &plan);
  cvy_verification_end(store->context, began);
  return status;
}

/* ---------------------------------------------------------------------------------- fetching */

/* Reads from the device. A fault in other commands may leave the store's copy good: once more. */
static convoy_status read_back(cvy_store *store, float *values) {
  convoy_status status = CONVOY_ERR_DEVICE;
  for (int tries = 0; status && store->array && tries < 2; tries++) {
    status = cvy_read_back(store, values);
    if (status == CONVOY_ERR_INTERRUPTED || !store->context->options.failover) break;
  }
  return status;
}

/* Reads what the device has, and judges it. With *left that failed, the device copy has been given
 * up, and the values may come from elsewhere. */
static convoy_status take(cvy_store *store, float *values, bool *left) {
  convoy_status status = read_back(store, values);
  if (!status && store->has_history) status = verify(store, values);
  if (!status && store->has_history)
    cvy_watch_result(store->context, &store->history.problem, values);
  *left = status && status != CONVOY_ERR_INTERRUPTED && store->context->options.failover;
  if (*left) cvy_store_leave_device(store);
  return status;
}

/* The device lost the values. If for lack of memory only, it gets another chance with less. */
static convoy_status make_anew(cvy_store *store, float *values) {
  convoy_context *context = store->context;
  if (store->starved && context->low_memory)
    return cvy_fail(CONVOY_ERR_MEMORY, "%s has too little memory", context->device.facts.info.id);
  if (store->starved && context->options.failover && cvy_device_ready(context)) {
    if (!cvy_low_memory_run(context, &store->history, values)) return CONVOY_OK;
  }
  return recompute(context, &store->history, values);
}

static convoy_status gather(cvy_store *store, float *values) {
  if (store->array) {
    bool left;
    convoy_status status = take(store, values, &left);
    if (!left) return status;
  }
  if (store->has_history) return make_anew(store, values);
  memset(values, 0, (size_t)store->bytes);
  return CONVOY_OK;
}

convoy_status cvy_store_fetch(cvy_store *store) {
  if (store->status) return cvy_fail(store->status, "%s", store->sentence);
  if (store->host) return CONVOY_OK;
  float *values;
  convoy_status status = cvy_values_new(store, &values);
  if (status) return status;
  status = gather(store, values);
  if (status) {
    cvy_values_drop(store, values);
    return status;
  }
  cvy_store_publish(store, values);
  return CONVOY_OK;
}

convoy_status cvy_store_copy_out(cvy_store *store, float *values) {
  convoy_status status = cvy_store_fetch(store);
  if (!status) memcpy(values, store->host, (size_t)store->bytes);
  return status;
}

/* The device can bring the values there itself, which a copy on the host would only hold up. */
static bool is_direct(const cvy_store *store, const float *values) {
  bool only_there = store->array && !store->host && !store->fetch && !store->status;
  return only_there && cvy_host_has(store->context, values, store->bytes);
}

convoy_status cvy_store_read(cvy_store *store, float *values) {
  if (is_direct(store, values)) {
    bool left;
    convoy_status status = take(store, values, &left);
    if (!left) return status;
  }
  return cvy_store_copy_out(store, values);
}

/* ------------------------------------------------------------------------------------- device */

static bool all_there(const cvy_op *op) {
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    const cvy_store *input = cvy_op_input(op, i);
    if (input && !input->array) return false;
  }
  return true;
}

/* A fault may have taken the values: then they are computed anew first. */
static convoy_status upload(cvy_store *store) {
  convoy_status status = CONVOY_OK;
  if (!store->array && store->has_history) status = cvy_store_fetch(store);
  return status ? status : cvy_upload(store);
}

/* A fault met on the way may take what was brought before: once more then. */
static convoy_status upload_inputs(convoy_context *context, const cvy_op *op) {
  for (int tries = 0; tries < 2; tries++) {
    for (int i = 0; i < CVY_OP_INPUTS; i++) {
      cvy_store *input = cvy_op_input(op, i);
      convoy_status status = input ? upload(input) : CONVOY_OK;
      if (status) return status;
    }
    if (all_there(op)) return CONVOY_OK;
  }
  return cvy_fail(CONVOY_ERR_DEVICE, "%s lost what it was given", context->device.facts.info.id);
}

/* If reading back fails, the store keeps its history and the next operation tries again. */
static void keep_history(cvy_store *store, const cvy_op *op) {
  cvy_history_keep(store, op);
  if (cvy_history_is_long(store)) cvy_store_fetch(store);
  cvy_store *excess;
  while ((excess = cvy_history_excess(store->context)) && !cvy_store_fetch(excess)) continue;
}

convoy_status cvy_enqueue(convoy_context *context, const cvy_op *op, const cvy_choice *choice,
                          cvy_store *out) {
  cvy_launch_announce(context, &op->problem, choice);
  convoy_status status = upload_inputs(context, op);
  return status ? status : cvy_launch(context, op, choice, out);
}

convoy_status cvy_perform_chosen(convoy_context *context, const cvy_op *op,
                                 const cvy_choice *choice, cvy_store *out) {
  cvy_verification_number(context, op, choice, out);
  convoy_status status = cvy_enqueue(context, op, choice, out);
  if (status) return status;
  cvy_note_engine(context, &context->device, choice);
  keep_history(out, op);
  return out->unproven ? cvy_store_fetch(out) : CONVOY_OK;
}
