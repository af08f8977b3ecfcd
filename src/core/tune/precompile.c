/* Who is asked to compile what: a layer's three passes once one of them runs, a tuner's
 * candidates. */
#include "core/tune/precompile.h"

/* Compile workers are started by what the device's own worker had to compile, so never on a warm
 * start. */
static void look(convoy_context *context) {
  const cvy_engine *engine = &context->device;
  cvy_usage usage;
  engine->backend->usage(engine->device, &usage);
  cvy_compile_workers_note(context->compile_workers, usage.programs_compiled);
}

static void add(convoy_context *context, const cvy_problem *problem) {
  cvy_choice choice;
  if (cvy_choose(&context->chooser, &context->device, problem, &choice)) return;
  cvy_compile_workers_add(context->compile_workers, problem, &choice);
}

static void add_related(convoy_context *context, const cvy_problem *problem) {
  const cvy_operation *row = cvy_operation_of(problem);
  cvy_problem next;
  for (int32_t i = 0; row->related && row->related(problem, i, &next); i++) add(context, &next);
}

void cvy_precompile_passes(convoy_context *context, const cvy_problem *problem,
                           const cvy_choice *choice) {
  if (!context->compile_workers) return;
  add_related(context, problem);
  cvy_precompile_choice(context, problem, choice);
  if (!context->precompile_from) context->precompile_from = context->last_ticket;
}

void cvy_precompile_problem(convoy_context *context, const cvy_problem *problem) {
  if (context->compile_workers && !cvy_problem_empty(problem)) add(context, problem);
}

void cvy_precompile_here(convoy_context *context, const cvy_problem *problem) {
  const cvy_engine *engine = &context->device;
  cvy_problem same; /* in every run */
  cvy_choice choice;
  cvy_job job;
  bool wanted = context->behind || (!context->compile_workers && !context->suspended);
  if (!wanted || !engine->device || !cvy_backend_takes(engine->backend, CVY_PREPARE)) return;
  if (cvy_problem_empty(problem)) return;
  cvy_problem_copy(&same, problem);
  cvy_problem_set_run(&same, 0);
  if (cvy_choose(&context->chooser, engine, &same, &choice)) return;
  cvy_job_set(&job, &same, choice.row, &choice.params);
  const cvy_command command = {CVY_PREPARE, .prepare = {.launches = context->behind}, .job = &job};
  engine->backend->execute(engine->device, &command, NULL, NULL);
}

void cvy_precompile_choice(convoy_context *context, const cvy_problem *problem,
                           const cvy_choice *choice) {
  if (!context->compile_workers) return;
  cvy_compile_workers_add(context->compile_workers, problem, choice);
  look(context);
}

/* What fails here is for the wait itself to find. */
void cvy_precompile_wait(convoy_context *context, const volatile int *interrupt) {
  const cvy_engine *engine = &context->device;
  uint64_t first = context->precompile_from;
  if (!context->compile_workers || !first) return;
  context->precompile_from = 0;
  if (engine->backend->begun(engine->device, first, interrupt)) return;
  look(context);
  cvy_compile_workers_drop(context->compile_workers);
}
