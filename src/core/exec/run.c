/* One operation: the device first, the CPU engine when the device fails and failover allows it. */
#include "core/exec/run.h"

#include "core/exec/compute.h"
#include "core/exec/device.h"
#include "core/exec/foreign.h"
#include "core/exec/launch.h"
#include "core/exec/low_memory.h"
#include "core/exec/values.h"
#include "core/faults/degradation.h"
#include "core/tune/params.h"
#include "core/tune/precompile.h"
#include "core/verify/nan_watch.h"
#include "os/os.h"

static void count(convoy_context *context, bool as_asked) {
  context->health.operations++;
  context->health.device_operations += as_asked;
}

/* -------------------------------------------------------------------------------- device */

static void drop_values(cvy_store *const out[], int32_t count, float *values[]) {
  for (int32_t i = 0; i < count; i++) cvy_values_drop(out[i], values[i]);
}

static convoy_status run_in_low_memory(convoy_context *context, const cvy_node *node,
                                       cvy_store *const out[]) {
  float *values[CVY_MAX_OUTPUTS] = {NULL};
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < node->outputs && !status; i++)
    status = cvy_values_new(out[i], &values[i]);
  if (!status) status = cvy_low_memory_run(context, node, values);
  if (status) {
    drop_values(out, node->outputs, values);
    return status;
  }
  for (int32_t i = 0; i < node->outputs; i++) cvy_store_publish(out[i], values[i]);
  return CONVOY_OK;
}

/* What does not go through for lack of memory is tried again with less. */
static convoy_status try_device(convoy_context *context, cvy_node *node, cvy_store *const out[]) {
  cvy_choice choice;
  int32_t faults = context->call.faults;
  int64_t choices = context->chooser.choices;
  cvy_watch_inputs(context, node);
  convoy_status status = cvy_choose(&context->chooser, &context->device, &node->problem, &choice);
  bool is_first = context->chooser.choices > choices;
  if (!status) status = cvy_perform_chosen(context, node, &choice, out);
  if (!status && is_first) cvy_precompile_passes(context, &node->problem, &choice);
  bool starved = status == CONVOY_ERR_MEMORY && context->call.faults > faults &&
                 !cvy_foreign_concerns(node, out);
  return starved && context->options.failover ? run_in_low_memory(context, node, out) : status;
}

/* No row of the device takes the problem, and none was asked for by name. */
static bool refused(const convoy_context *context, convoy_status status) {
  return status == CONVOY_ERR_UNSUPPORTED && !context->chooser.forced[0];
}

static convoy_status compute_instead(convoy_context *context, const cvy_node *node,
                                     cvy_store *const out[], bool faulted) {
  char why[256];
  cvy_text_copy(why, sizeof(why), cvy_last_error());
  convoy_status status = cvy_compute_stores(context, node, out);
  if (status) return status;
  if (faulted) {
    cvy_report_failover(context, &node->problem);
  } else if (cvy_degradation_is_unreported(context, &node->problem)) {
    cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_UNSUPPORTED, "", "the CPU computes: %s",
               why);
  }
  count(context, false);
  return CONVOY_OK;
}

static convoy_status perform_on_device(convoy_context *context, cvy_node *node,
                                       cvy_store *const out[]) {
  int32_t faults = context->call.faults;
  convoy_status status = try_device(context, node, out);
  if (!status) {
    count(context, true);
    return CONVOY_OK;
  }
  bool faulted = context->call.faults > faults;
  if (faulted && cvy_foreign_concerns(node, out)) return cvy_foreign_fail(context, status);
  bool elsewhere = !context->call.only_here && context->options.failover &&
                   (faulted || refused(context, status));
  return elsewhere ? compute_instead(context, node, out, faulted) : status;
}

static convoy_status refuse_elsewhere(const convoy_context *context, const cvy_node *node) {
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(&node->problem, text, sizeof(text));
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s is not used for %s now, after faults",
                  context->device.facts.info.id, text);
}

convoy_status cvy_perform(convoy_context *context, cvy_node *node, cvy_store *const out[]) {
  convoy_status status = cvy_device_check(context);
  if (status) return status;
  if (cvy_device_ready(context) && cvy_degradation_allows(context, &node->problem)) {
    return perform_on_device(context, node, out);
  }
  if (context->call.only_here) return refuse_elsewhere(context, node);
  if (context->behind) cvy_precompile_here(context, &node->problem);
  status = cvy_compute_stores(context, node, out);
  if (!status) count(context, context->wants_cpu);
  return status;
}

convoy_status cvy_settle(cvy_store *out) {
  if (!out->array) return cvy_store_fetch(out);
  convoy_status status = cvy_await(out->context, out->ticket);
  if (!status || !out->context->options.failover || out->home) return status;
  return out->array ? CONVOY_OK : cvy_store_fetch(out);
}

/* --------------------------------------------------------------------------- host memory */

/* The caller's arrays as stores, new ones for the results. */
typedef struct borrowed {
  cvy_store *in[CVY_MOST_READ], *out[CVY_MAX_OUTPUTS];
} borrowed;

/* False: memory ran out; what there is has to be dropped all the same. */
static bool borrow(convoy_context *context, const cvy_problem *problem, const float *const in[],
                   float *const out[], borrowed *all) {
  int32_t inputs = cvy_problem_inputs(problem), reads = cvy_problem_reads(problem);
  bool complete = true;
  for (int32_t i = 0; i < reads; i++) {
    int64_t bytes = cvy_problem_input_bytes(problem, i);
    all->in[i] = cvy_store_borrow(context, i < inputs ? in[i] : out[0], bytes);
    complete = complete && all->in[i];
  }
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) {
    all->out[i] = cvy_store_new(context, cvy_problem_output_bytes(problem, i));
    complete = complete && all->out[i];
  }
  return complete;
}

/* What is added to has to outlast every attempt, and what other results may have to be computed
 * anew from. Where the device fills the caller's memory itself, a failure leaves it undefined, and
 * the gaps of a part of a larger tensor would be written too. */
static convoy_status hand_out(const cvy_problem *problem, const borrowed *all, float *const out[]) {
  int32_t outputs = cvy_problem_outputs(problem);
  cvy_array first = cvy_problem_output(problem, 0);
  bool at_once = outputs == 1 && !problem->accumulate && !cvy_array_view_is_part(&first.view);
  if (at_once) return cvy_store_read(all->out[0], out[0]);
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < outputs && !status; i++) status = cvy_store_fetch(all->out[i]);
  for (int32_t i = 0; i < outputs && !status; i++) {
    cvy_array array = cvy_problem_output(problem, i);
    cvy_array_copy(&array, out[i], all->out[i]->host);
  }
  return status;
}

/* Through stores: the caller's memory is written only when all has gone well, or by the device
 * itself. */
static convoy_status perform_borrowed(convoy_context *context, const cvy_problem *problem,
                                      const float *const in[], float *const out[]) {
  borrowed all = {{NULL}, {NULL}};
  bool complete = borrow(context, problem, in, out, &all);
  cvy_node *node = complete ? cvy_node_new(problem, all.in) : NULL;
  convoy_status status = node ? cvy_perform(context, node, all.out) : CONVOY_ERR_MEMORY;
  if (!status) status = hand_out(problem, &all, out);
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS; i++) cvy_store_drop(all.out[i]);
  cvy_node_drop(node);
  for (int32_t i = 0; i < CVY_MOST_READ; i++) cvy_store_drop(all.in[i]);
  return status;
}

convoy_status cvy_perform_host(convoy_context *context, const cvy_problem *problem,
                               const float *const in[], float *const out[]) {
  convoy_status status = cvy_device_check(context);
  if (status) return status;
  if (cvy_device_ready(context)) return perform_borrowed(context, problem, in, out);
  status = cvy_compute(context, problem, in, out);
  if (!status) count(context, context->wants_cpu);
  return status;
}

bool cvy_may_overwrite(const convoy_context *context, const cvy_problem *problem,
                       cvy_store *const in[], cvy_store *const old[]) {
  int32_t inputs = cvy_problem_inputs(problem), outputs = cvy_problem_outputs(problem);
  if (context->device.device) return false;
  for (int32_t o = 0; o < outputs; o++) {
    if (!old[o]->host || old[o]->references != 1) return false;
    for (int32_t i = 0; i < inputs; i++)
      if (in[i] == old[o]) return false;
  }
  return true;
}

convoy_status cvy_perform_over(convoy_context *context, const cvy_problem *problem,
                               cvy_store *const in[], cvy_store *const old[]) {
  /* What a child finds that was made by fork() in the meantime. */
  static const char sentence[] = "the tensor was being written when the process forked";
  int32_t inputs = cvy_problem_inputs(problem), outputs = cvy_problem_outputs(problem);
  const float *from[CVY_MAX_INPUTS] = {NULL};
  float *to[CVY_MAX_OUTPUTS] = {NULL};
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < inputs && !status; i++) status = cvy_store_fetch(in[i]);
  if (status) return status;
  for (int32_t i = 0; i < inputs; i++) from[i] = in[i]->host;
  for (int32_t i = 0; i < outputs; i++) {
    to[i] = old[i]->host;
    cvy_store_fail(old[i], CONVOY_ERR_DEVICE, sentence);
  }
  status = cvy_perform_host(context, problem, from, to);
  for (int32_t i = 0; i < outputs; i++) cvy_store_fail(old[i], CONVOY_OK, NULL);
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
