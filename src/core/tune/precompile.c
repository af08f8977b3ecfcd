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

/* The same layer in another direction, as training usually has it. */
static cvy_problem pass_of(const cvy_problem *problem, convoy_direction direction) {
  cvy_problem pass = *problem;
  pass.operation = direction;
  pass.accumulate = pass.conv.has_bias = 0;
  pass.conv.activation = CONVOY_IDENTITY;
  pass.conv.slope = 0;
  return pass;
}

static void add(convoy_context *context, const cvy_problem *problem) {
  cvy_choice choice;
  if (cvy_choose(&context->chooser, &context->device, problem, &choice)) return;
  cvy_compile_workers_add(context->compile_workers, problem, &choice);
}

static void add_other_passes(convoy_context *context, const cvy_problem *problem) {
  static const convoy_direction passes[] = {CONVOY_FORWARD, CONVOY_BACKWARD_DATA,
                                            CONVOY_BACKWARD_WEIGHTS};
  if (problem->operation == CONVOY_BACKWARD_BIAS) return; /* it knows no filter */
  for (size_t i = 0; i < CVY_COUNT(passes); i++) {
    if ((int32_t)passes[i] == problem->operation) continue;
    cvy_problem pass = pass_of(problem, passes[i]);
    add(context, &pass);
  }
}

void cvy_precompile_passes(convoy_context *context, const cvy_problem *problem,
                           const cvy_choice *choice) {
  if (!context->compile_workers) return;
  add_other_passes(context, problem);
  cvy_precompile_choice(context, problem, choice);
  if (!context->precompile_from) context->precompile_from = context->last_ticket;
}

void cvy_precompile_problem(convoy_context *context, const cvy_problem *problem) {
  if (context->compile_workers && problem->conv.n) add(context, problem);
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
