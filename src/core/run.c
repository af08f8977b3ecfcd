/* One operation: the device first, the CPU engine when the device fails and failover allows it. */
#include "core/run.h"

#include <string.h>

#include "core/device.h"
#include "core/foresight.h"
#include "core/nanwatch.h"
#include "core/params.h"
#include "core/squeeze.h"
#include "os/os.h"

static void note_engine(convoy_context *context, const cvy_engine *engine,
                        const cvy_choice *choice) {
  context->call.engine = engine;
  context->call.choice = *choice;
}

static void count(convoy_context *context, bool as_asked) {
  context->health.operations++;
  context->health.device_operations += as_asked;
}

/* ---------------------------------------------------------------------------- CPU engine */

/* Straight on host memory. The engine allocates what it needs before it writes to `out`. */
static convoy_status run_here(convoy_context *context, const cvy_problem *problem, const float *a,
                              const float *b, const float *bias, float *out) {
  const cvy_engine *engine = &context->cpu;
  cvy_choice choice;
  convoy_status status = cvy_choose(&context->chooser, engine, problem, &choice);
  if (status) return status;
  const cvy_job job = {.problem = *problem,
                       .algorithm = choice.row,
                       .params = choice.params,
                       .a.host = (float *)(uintptr_t)a,
                       .b.host = (float *)(uintptr_t)b,
                       .bias.host = (float *)(uintptr_t)bias,
                       .out.host = out};
  const float *const inputs[CVY_OP_INPUTS] = {a, b, bias, problem->accumulate ? out : NULL};
  cvy_watch_arrays(context, problem, inputs);
  status = engine->backend->run(engine->device, &job, NULL);
  if (status) return status;
  note_engine(context, engine, &choice);
  cvy_watch_result(context, problem, out);
  return CONVOY_OK;
}

static const float *host_of(const cvy_store *store) {
  return store ? store->host : NULL;
}

static convoy_status fetch_inputs(const cvy_op *op) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < CVY_OP_INPUTS && !status; i++) {
    cvy_store *input = cvy_op_input(op, i);
    if (input) status = cvy_store_fetch(input);
  }
  return status;
}

static convoy_status compute(convoy_context *context, const cvy_op *op, float *values) {
  convoy_status status = fetch_inputs(op);
  if (status) return status;
  if (op->prior) memcpy(values, op->prior->host, (size_t)op->prior->bytes);
  return run_here(context, &op->problem, host_of(op->a), host_of(op->b), host_of(op->bias), values);
}

static convoy_status compute_into(convoy_context *context, const cvy_op *op, cvy_store *out) {
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

static void report_failover(convoy_context *context, const cvy_problem *problem) {
  const char *name = cvy_chosen(&context->cpu, &context->call.choice)->name;
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(problem, text, sizeof(text));
  cvy_report(context, CONVOY_EVENT_FAILOVER, context->call.first_fault, name,
             "computed by %s instead of %s: %s", name, context->device.facts.info.id, text);
}

convoy_status cvy_recompute(convoy_context *context, const cvy_op *op, float *values) {
  convoy_status status = compute(context, op, values);
  if (status) return status;
  context->health.device_operations--; /* it was counted when it was enqueued */
  report_failover(context, &op->problem);
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------- device */

convoy_status cvy_perform_chosen(convoy_context *context, const cvy_op *op,
                                 const cvy_choice *choice, cvy_store *out) {
  cvy_trust_number(context, op, choice, out);
  convoy_status status = cvy_device_perform(context, op, choice, out);
  if (status) return status;
  note_engine(context, &context->device, choice);
  cvy_history_keep(out, op);
  return out->unproven ? cvy_store_fetch(out) : CONVOY_OK;
}

static convoy_status squeeze_into(convoy_context *context, const cvy_op *op, cvy_store *out) {
  float *values;
  convoy_status status = cvy_values_new(out, &values);
  if (status) return status;
  status = cvy_squeeze(context, op, values);
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
  const int64_t choices = context->chooser.choices;
  cvy_watch_inputs(context, op);
  convoy_status status = cvy_choose(&context->chooser, &context->device, &op->problem, &choice);
  const bool is_first = context->chooser.choices > choices;
  if (!status) status = cvy_perform_chosen(context, op, &choice, out);
  if (!status && is_first) cvy_foresee_passes(context, &op->problem, &choice);
  bool starved = status == CONVOY_ERR_MEMORY && context->call.faults > faults;
  return starved && context->options.failover ? squeeze_into(context, op, out) : status;
}

/* No row of the device takes the problem, and none was asked for by name. */
static bool refused(const convoy_context *context, convoy_status status) {
  return status == CONVOY_ERR_UNSUPPORTED && !context->chooser.forced[0];
}

static convoy_status compute_instead(convoy_context *context, const cvy_op *op, cvy_store *out,
                                     bool faulted) {
  char why[256];
  cvy_text_copy(why, sizeof(why), cvy_last_error());
  convoy_status status = compute_into(context, op, out);
  if (status) return status;
  if (faulted) {
    report_failover(context, &op->problem);
  } else if (cvy_trust_refused(context, &op->problem)) {
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
  if (cvy_device_ready(context) && cvy_trust_allows(context, op)) {
    return perform_on_device(context, op, out);
  }
  status = compute_into(context, op, out);
  if (!status) count(context, context->wants_cpu);
  return status;
}

convoy_status cvy_settle(cvy_store *out) {
  if (!out->array) return cvy_store_fetch(out);
  convoy_status status = cvy_device_wait(out->context, out->ticket);
  if (!status || !out->context->options.failover) return status;
  return out->array ? CONVOY_OK : cvy_store_fetch(out);
}

/* --------------------------------------------------------------------------- host memory */

/* The caller's arrays as stores; false if memory ran out, the caller drops what there is. */
static bool borrow(convoy_context *context, const cvy_problem *problem, const float *const from[],
                   cvy_op *op) {
  cvy_operands operands = cvy_problem_operands(problem);
  cvy_store **const to[CVY_OP_INPUTS] = {&op->a, &op->b, &op->bias, &op->prior};
  const cvy_array arrays[CVY_OP_INPUTS] = {operands.a, operands.b, CVY_BIAS, operands.out};
  bool complete = true;
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    if (!from[i]) continue;
    int64_t bytes = cvy_problem_count(problem, arrays[i]) * (int64_t)sizeof(float);
    *to[i] = cvy_store_borrow(context, from[i], bytes);
    complete = complete && *to[i];
  }
  return complete;
}

/* Through stores: the caller's memory is written only when all has gone well, or by the device itself. */
static convoy_status perform_borrowed(convoy_context *context, cvy_op *op,
                                      const float *const from[], float *out) {
  cvy_array array = cvy_problem_operands(&op->problem).out;
  int64_t bytes = cvy_problem_count(&op->problem, array) * (int64_t)sizeof(float);
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
  status = run_here(context, problem, a, b, bias, out);
  if (!status) count(context, context->wants_cpu);
  return status;
}

bool cvy_may_overwrite(const convoy_context *context, const cvy_op *op, const cvy_store *store) {
  bool read = store == op->a || store == op->b || store == op->bias;
  return !context->device.device && store->host && store->references == 1 && !read;
}

convoy_status cvy_perform_over(convoy_context *context, const cvy_op *op, cvy_store *store) {
  convoy_status status = fetch_inputs(op);
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
