/* Choosing and running an algorithm of the CPU engine, with the NaN watch on both sides. */
#include "core/exec/compute.h"

#include "core/verify/nan_watch.h"

void cvy_note_engine(convoy_context *context, const cvy_engine *engine, const cvy_choice *choice) {
  context->call.engine = engine;
  context->call.choice = *choice;
}

static void set_arrays(cvy_job *job, const float *const in[], float *const out[]) {
  int32_t inputs = cvy_problem_inputs(&job->problem), outputs = cvy_problem_outputs(&job->problem);
  for (int32_t i = 0; i < inputs; i++) job->in[i].host = (float *)(uintptr_t)in[i];
  for (int32_t i = 0; i < outputs; i++) job->out[i].host = out[i];
}

convoy_status cvy_compute(convoy_context *context, const cvy_problem *problem,
                          const float *const in[], float *const out[]) {
  const cvy_engine *engine = &context->cpu;
  cvy_choice choice;
  cvy_job job;
  convoy_status status = cvy_choose(&context->chooser, engine, problem, &choice);
  if (status) return status;
  cvy_job_set(&job, problem, choice.row, &choice.params);
  set_arrays(&job, in, out);
  cvy_watch_given(context, problem, in, out);
  status =
      engine->backend->execute(engine->device, &(cvy_command){CVY_RUN, .job = &job}, NULL, NULL);
  if (status) return status;
  cvy_note_engine(context, engine, &choice);
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++)
    cvy_watch_result(context, problem, i, out[i]);
  return CONVOY_OK;
}
