/* One operation: the device first, the CPU engine when the device fails and failover allows it. */
#include "core/exec/run.h"

#include "core/exec/compute.h"
#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/low_memory.h"
#include "core/exec/values.h"
#include "core/faults/degradation.h"
#include "core/tune/params.h"
#include "core/tune/precompile.h"
#include "core/verify/nan_watch.h"
#include "os/os.h"
#include "problem/conv/conv.h"

static void count(convoy_context *context, bool as_asked) {
  context->health.operations++;
  context->health.device_operations += as_asked;
}

/* -------------------------------------------------------------------------------- device */

static convoy_status run_in_low_memory(convoy_context *context, const cvy_op *op, cvy_store *out) {
  float *values;
  convoy_status status = cvy_values_new(out, &values);
  if (status) return status;
  status = cvy_low_memory_run(context, op, values);
  if (status) {
    cvy_values_drop(out, values);
    return status;
  }
  cvy_store_publish(out, values);
  return CONVOY_OK;
}

/* What does not go through for lack of memory is tried again with less. */
static convoy_status try_device(convoy_context *context, const cvy_op *op, cvy_store *out) {
  cvy_choice choice;
  int32_t faults = context->call.faults;
  int64_t choices = context->chooser.choices;
  cvy_watch_inputs(context, op);
  convoy_status status = cvy_choose(&context->chooser, &context->device, &op->problem, &choice);
  bool is_first = context->chooser.choices > choices;
  if (!status) status = cvy_perform_chosen(context, op, &choice, out);
  if (!status && is_first) cvy_precompile_passes(context, &op->problem, &choice);
  bool starved = status == CONVOY_ERR_MEMORY && context->call.faults > faults;
  return starved && context->options.failover ? run_in_low_memory(context, op, out) : status;
}

/* No row of the device takes the problem, and none was asked for by name. */
static bool refused(const convoy_context *context, convoy_status status) {
  return status == CONVOY_ERR_UNSUPPORTED && !context->chooser.forced[0];
}

static convoy_status compute_instead(convoy_context *context, const cvy_op *op, cvy_store *out,
                                     bool faulted) {
  char why[256];
  cvy_text_copy(why, sizeof(why), cvy_last_error());
  convoy_status status = cvy_compute_store(context, op, out);
  if (status) return status;
  if (faulted) {
    cvy_report_failover(context, &op->problem);
  } else if (cvy_degradation_is_unreported(context, &op->problem)) {
    cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_UNSUPPORTED, "", "the CPU computes: %s",
               why);
  }
  count(context, false);
  return CONVOY_OK;
}

static convoy_status perform_on_device(convoy_context *context, const cvy_op *op, cvy_store *out) {
  int32_t faults = context->call.faults;
  convoy_status status = try_device(context, op, out);
  if (!status) {
    count(context, true);
    return CONVOY_OK;
  }
  bool faulted = context->call.faults > faults;
  bool elsewhere = context->options.failover && (faulted || refused(context, status));
  return elsewhere ? compute_instead(context, op, out, faulted) : status;
}

convoy_status cvy_perform(convoy_context *context, const cvy_op *op, cvy_store *out) {
  convoy_status status = cvy_device_check(context);
  if (status) return status;
  if (cvy_device_ready(context) && cvy_degradation_allows(context, &op->problem)) {
    return perform_on_device(context, op, out);
  }
  status = cvy_compute_store(context, op, out);
  if (!status) count(context, context->wants_cpu);
  return status;
}

convoy_status cvy_settle(cvy_store *out) {
  if (!out->array) return cvy_store_fetch(out);
  convoy_status status = cvy_await(out->context, out->ticket);
  if (!status || !out->context->options.failover) return status;
  return out->array ? CONVOY_OK : cvy_store_fetch(out);
}

/* --------------------------------------------------------------------------- host memory */

/* The caller's arrays as stores; false if memory ran out, the caller drops what there is. */
static bool borrow(convoy_context *context, const cvy_problem *problem, const float *const from[],
                   cvy_op *op) {
  cvy_conv_operands operands = cvy_conv_operands_of(problem);
  cvy_store **const to[CVY_OP_INPUTS] = {&op->a, &op->b, &op->bias, &op->prior};
  const cvy_conv_array arrays[CVY_OP_INPUTS] = {operands.a, operands.b, CVY_BIAS, operands.out};
  bool complete = true;
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    if (!from[i]) continue;
    int64_t bytes = cvy_conv_count(problem, arrays[i]) * (int64_t)sizeof(float);
    *to[i] = cvy_store_borrow(context, from[i], bytes);
    complete = complete && *to[i];
  }
  return complete;
}

/* Through stores: the caller's memory is written only when all has gone well, or by the device
 * itself. */
static convoy_status perform_borrowed(convoy_context *context, cvy_op *op,
                                      const float *const from[], float *out) {
  cvy_conv_array array = cvy_conv_operands_of(&op->problem).out;
  int64_t bytes = cvy_conv_count(&op->problem, array) * (int64_t)sizeof(float);
  cvy_store *result = cvy_store_new(context, bytes);
  bool complete = borrow(context, &op->problem, from, op) && result;
  convoy_status status = complete ? cvy_perform(context, op, result) : CONVOY_ERR_MEMORY;
  /* What is added to has to outlast every attempt. */
  if (!status) status = op->prior ? cvy_store_copy_out(result, out) : cvy_store_read(result, out);
  cvy_store_drop(result);
  for (int i = 0; i < CVY_OP_INPUTS; i++) cvy_store_drop(cvy_op_input(op, i));
  return status;
}

convoy_status cvy_perform_host(convoy_context *context, const cvy_problem *problem, const float *a,
                               const float *b, const float *bias, float *out) {
  convoy_status status = cvy_device_check(context);
  if (status) return status;
  if (cvy_device_ready(context)) {
    cvy_op op = {.problem = *problem};
    const float *from[CVY_OP_INPUTS] = {a, b, bias, problem->accumulate ? out : NULL};
    return perform_borrowed(context, &op, from, out);
  }
  status = cvy_compute(context, problem, a, b, bias, out);
  if (!status) count(context, context->wants_cpu);
  return status;
}

static const float *host_of(const cvy_store *store) {
  return store ? store->host : NULL;
}

bool cvy_may_overwrite(const convoy_context *context, const cvy_op *op, const cvy_store *store) {
  bool read = store == op->a || store == op->b || store == op->bias;
  return !context->device.device && store->host && store->references == 1 && !read;
}

convoy_status cvy_perform_over(convoy_context *context, const cvy_op *op, cvy_store *store) {
  convoy_status status = cvy_op_fetch(op);
  if (status) return status;
  /* What a child finds that was made by fork() in the meantime. */
  static const char sentence[] = "the tensor was being written when the process forked";
  store->status = CONVOY_ERR_DEVICE;
  cvy_text_copy(store->sentence, sizeof(store->sentence), sentence);
  status = cvy_perform_host(context, &op->problem, host_of(op->a), host_of(op->b),
                            host_of(op->bias), store->host);
  store->status = CONVOY_OK;
  return status;
}

/* -------------------------------------------------------------------------------- report */

void cvy_fill_run(const convoy_context *context, convoy_run *out) {
  const cvy_call *call = &context->call;
  const cvy_engine *engine = call->engine ? call->engine : cvy_context_engine(context);
  convoy_run run = CONVOY_RUN_INIT;
  run.attempts = 1 + call->faults;
  run.first_fault = (int32_t)call->first_fault;
  run.milliseconds = (cvy_clock() - call->start) * 1e3;
  cvy_text_copy(run.device, sizeof(run.device), engine->facts.info.id);
  cvy_text_copy(run.fault, sizeof(run.fault), call->sentence);
  if (call->engine) {
    const cvy_algorithm *algorithm = cvy_chosen(engine, &call->choice);
    run.workspace_bytes = call->choice.workspace;
    cvy_text_copy(run.algorithm, sizeof(run.algorithm), algorithm->name);
    cvy_params_text(algorithm, &call->choice.params, run.parameters, sizeof(run.parameters));
  }
  cvy_struct_out(out, &run, sizeof(run), sizeof(run));
}
