/* Opening and closing a context, and what it is asked that runs nothing of the user's. */
#include "core/context.h"

#include <stdlib.h>
#include <string.h>

#include "core/constants.h"
#include "core/devices.h"
#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/lifetime.h"
#include "core/exec/store.h"
#include "core/graph/capture.h"
#include "core/graph/shared_memory.h"
#include "core/tune/params.h"
#include "core/tune/tunedisk.h"
#include "os/os.h"

/* ----------------------------------------------------------------------------------- open */

/* What is asked for is a mistake in the program or its settings, which no failover hides, or it may
 * have no substitute. */
static bool must_fail(const convoy_context *context, const cvy_device_choice *found,
                      convoy_status status) {
  const cvy_options *options = &context->options;
  return found->mistaken || status == CONVOY_ERR_ARGUMENT || !options->failover ||
         options->require_device;
}

/* The CPU engine serves in place of a device that is gone or does not open. Where there never was
 * one, it is no fault that leaves a report. */
static void fall_back(convoy_context *context, const cvy_device_choice *found,
                      convoy_status status) {
  convoy_device_info *info = &context->device.facts.info; /* for events */
  const char *wanted = found->backend ? found->info.id : context->options.device;
  char why[320];
  cvy_text_copy(why, sizeof(why), cvy_last_error());
  *info = found->info;
  if (!info->id[0]) cvy_text_copy(info->id, sizeof(info->id), wanted);
  cvy_fallback_begin(context, wanted, why);
  cvy_report(context, CONVOY_EVENT_DOWNGRADE, status, "",
             "%s cannot be opened, the CPU computes: %s", wanted, why);
  if (status != CONVOY_ERR_NOT_FOUND && status != CONVOY_ERR_UNSUPPORTED)
    cvy_report_fault(context, status, why);
}

/* Opens the wanted device. */
static convoy_status open_wanted(convoy_context *context) {
  cvy_device_choice found;
  convoy_status status = cvy_devices_find(&context->options, &found);
  context->wants_cpu = !status && found.backend->host_memory;
  cvy_text_copy(context->chosen, sizeof(context->chosen), found.why);
  if (context->wants_cpu && found.makeshift && context->options.require_device)
    return cvy_fail(CONVOY_ERR_NOT_FOUND, "%s, which require_device forbids", found.why);
  if (context->wants_cpu) return CONVOY_OK;
  if (!status) status = cvy_blackbox_open(context, &found.info);
  if (!status) status = cvy_device_open(context, found.backend, found.index);
  if (!status || must_fail(context, &found, status)) return status;
  fall_back(context, &found, status);
  return CONVOY_OK;
}

/* With a device that could not be opened its rows' names stay legal: they bind nothing then. */
static bool downgraded(const convoy_context *context) {
  return !context->wants_cpu && !context->device.device;
}

static void load_records(convoy_context *context) {
  cvy_chooser *chooser = &context->chooser;
  const cvy_engine *engine = cvy_context_engine(context);
  cvy_records_load(&chooser->records);
  cvy_records_load_shipped(&chooser->shipped);
  int32_t stale = cvy_records_stale(&chooser->records, engine);
  if (stale) {
    cvy_log(CONVOY_LOG_WARNING,
            "%d tuning records of %s are of another driver or of other kernels and not used",
            (int)stale, engine->facts.info.name);
  }
}

/* That another device serves than was asked for has been reported. */
static void tell_choice(const convoy_context *context) {
  char line[CONVOY_DESCRIPTION_TEXT];
  if (downgraded(context) || !cvy_log_wanted(CONVOY_LOG_INFO)) return;
  cvy_context_describe(context, line, sizeof(line));
  cvy_log(CONVOY_LOG_INFO, "computing on %s", line);
}

static convoy_status start(convoy_context *context) {
  convoy_status status = cvy_engine_open(cvy_cpu_backend(), 0, &context->options, &context->cpu);
  if (!status) status = open_wanted(context);
  if (!status && !downgraded(context)) {
    status = cvy_force_algorithm(context, context->options.algorithm);
  }
  if (!status && context->options.tune) load_records(context);
  if (!status) tell_choice(context);
  return status;
}

/* Ends the engines; tensors keep what the host has and can still be freed. */
static void stop(convoy_context *context) {
  atomic_store(&context->open, false);
  cvy_stores_detach(context);
  cvy_stores_trim(context);
  cvy_device_close(context);
  if (context->cpu.device) context->cpu.backend->close(context->cpu.device);
  context->cpu.device = NULL;
  cvy_records_free(&context->chooser.records);
  cvy_records_free(&context->chooser.shipped);
  cvy_free_list_end(&context->memory);
}

convoy_status cvy_open(const convoy_options *given, convoy_context **out) {
  cvy_options options;
  convoy_status status = cvy_options_resolve(given, &options);
  if (status) return status;
  convoy_context *context = cvy_pool_take();
  if (!context) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a context");
  context->options = options;
  context->options.open.budget = &context->call.budget;
  context->options.open.spent = &context->call.spent;
  cvy_lock(context);
  status = start(context);
  if (status) {
    stop(context);
    free(context->events);
  }
  atomic_store(&context->open, !status);
  cvy_unlock(context);
  if (status) {
    cvy_pool_drop(context);
    return status;
  }
  *out = context;
  return CONVOY_OK;
}

/* ---------------------------------------------------------------------------------- close */

void cvy_close(convoy_context *context) {
  if (cvy_enter(context)) return;
  cvy_capture_abandon(context);
  cvy_constants_drop(context);
  cvy_shared_memory_drop(context);
  if (cvy_device_ready(context)) cvy_await(context, context->last_ticket);
  stop(context);
  if (!context->event_fn) {
    free(context->events);
    context->events = NULL;
  }
  cvy_leave(context, CONVOY_OK);
  cvy_pool_drop(context);
}

/* ------------------------------------------------------------------------------- the rest */

static convoy_status find_row(const cvy_engine *engine, const char *name, int32_t *row) {
  *row = cvy_row_named(engine->backend, name);
  if (*row >= 0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_NOT_FOUND, "%s has no algorithm \"%s\"", engine->facts.info.id, name);
}

convoy_status cvy_force_algorithm(convoy_context *context, const char *name) {
  int32_t row;
  convoy_status status = *name ? find_row(cvy_context_engine(context), name, &row) : CONVOY_OK;
  if (status) return status;
  cvy_text_copy(context->chooser.forced, sizeof(context->chooser.forced), name);
  context->chooser.learned++;
  return CONVOY_OK;
}

static bool plan_named(const cvy_engine *engine, int32_t row, const cvy_problem *problem,
                       convoy_plan *plan, cvy_choice *choice) {
  cvy_text reason = cvy_text_in(plan->reason, sizeof(plan->reason));
  cvy_text_copy(plan->algorithm, sizeof(plan->algorithm), engine->backend->algorithms[row]->name);
  return cvy_row_takes(engine, row, problem, choice, &reason);
}

static bool plan_free(convoy_context *context, const cvy_engine *engine, const cvy_problem *problem,
                      convoy_plan *plan, cvy_choice *choice) {
  cvy_text_copy(plan->algorithm, sizeof(plan->algorithm), context->chooser.forced);
  if (cvy_choose(&context->chooser, engine, problem, choice)) {
    cvy_text_copy(plan->reason, sizeof(plan->reason), cvy_last_error());
    return false;
  }
  cvy_text_copy(plan->algorithm, sizeof(plan->algorithm), cvy_chosen(engine, choice)->name);
  return true;
}

/* The plan for no images is that of one. If there is nothing to do then, either, any row that does
 * the operation will do, without parameters. */
convoy_status cvy_plan_problem(convoy_context *context, const char *name, const cvy_problem *asked,
                               convoy_plan *out) {
  cvy_problem some;
  cvy_problem_copy(&some, asked);
  if (cvy_problem_empty(asked)) cvy_problem_set_images(&some, 1);
  const cvy_engine *engine = cvy_context_engine(context);
  convoy_plan plan = {.struct_size = sizeof(plan)};
  cvy_choice choice;
  int32_t row = 0;
  convoy_status status = name ? find_row(engine, name, &row) : CONVOY_OK;
  if (status) return status;
  plan.accepted = name ? plan_named(engine, row, &some, &plan, &choice)
                       : plan_free(context, engine, &some, &plan, &choice);
  if (plan.accepted) {
    plan.reason[0] = '\0';
    plan.workspace_bytes = choice.workspace;
    plan.error_growth = cvy_chosen(engine, &choice)->error_growth;
    plan.error_reach = cvy_chosen(engine, &choice)->error_reach;
    if (!cvy_problem_empty(&some))
      cvy_params_text(cvy_chosen(engine, &choice), &choice.params, plan.parameters,
                      sizeof(plan.parameters));
  }
  cvy_struct_out(out, &plan, sizeof(plan), sizeof(plan));
  return CONVOY_OK;
}

convoy_status cvy_measure_peak(convoy_context *context, double *gflops, double *gigabytes) {
  const cvy_engine *cpu = &context->cpu;
  const cvy_command command = {.kind = CVY_PEAK};
  cvy_reply reply;
  convoy_status status = cvy_device_check(context);
  if (status) return status;
  status = context->device.device ? cvy_launch_peak(context, &reply)
                                  : cpu->backend->execute(cpu->device, &command, &reply, NULL);
  if (gflops && !status) *gflops = reply.gflops;
  if (gigabytes && !status) *gigabytes = reply.gigabytes;
  return status;
}
