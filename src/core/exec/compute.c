/* Choosing and running an algorithm of the CPU engine, with the NaN watch on both sides. */
#include "core/exec/compute.h"

#include "core/verify/nan_watch.h"

void cvy_note_engine(convoy_context *context, const cvy_engine *engine, const cvy_choice *choice) {
  context->call.engine = engine;
  context->call.choice = *choice;
}

convoy_status cvy_compute(convoy_context *context, const cvy_problem *problem, const float *a,
                          const float *b, const float *bias, float *out) {
  const cvy_engine *engine = &context->cpu;
  cvy_choice choice;
  convoy_status status = cvy_choose(&context->chooser, engine, problem, &choice);
  if (status) return status;
  cvy_job job = {.problem = *problem,
                 .algorithm = choice.row,
                 .params = choice.params,
                 .in[0].host = (float *)(uintptr_t)a,
                 .in[1].host = (float *)(uintptr_t)b,
                 .in[2].host = (float *)(uintptr_t)bias,
                 .out[0].host = out};
  const float *const inputs[CVY_OP_INPUTS] = {a, b, bias, problem->accumulate ? out : NULL};
  cvy_watch_arrays(context, problem, inputs);
  status = engine->backend->run(engine->device, &job, NULL);
  if (status) return status;
  cvy_note_engine(context, engine, &choice);
  cvy_watch_result(context, problem, out);
  return CONVOY_OK;
}
