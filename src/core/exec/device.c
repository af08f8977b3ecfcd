/* One place that hands commands to the backend, and counts and notes them. */
#include "core/exec/device.h"

static void note(convoy_context *context, const char *what, const char *algorithm, int64_t bytes) {
  cvy_note_command(&context->ring, what, algorithm, context->last_ticket, bytes);
}

const cvy_engine *cvy_context_engine(const convoy_context *context) {
  return context->device.device || context->lost ? &context->device : &context->cpu;
}

bool cvy_device_ready(const convoy_context *context) {
  return context->device.device && !context->suspended;
}

convoy_status cvy_device_check(const convoy_context *context) {
  const char *id = context->device.facts.info.id;
  if (context->suspended && !context->options.failover)
    return cvy_fail(CONVOY_ERR_DEVICE, "%s cannot be used now", id);
  if (!context->lost) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "%s was lost: %s", id, context->lost_sentence);
}

convoy_status cvy_device_allocate(convoy_context *context, int64_t bytes, uint64_t *array) {
  const cvy_engine *engine = &context->device;
  *array = ++context->last_id;
  return engine->backend->allocate(engine->device, *array, bytes, &context->last_ticket);
}

convoy_status cvy_device_part(convoy_context *context, uint64_t array, uint64_t of, int64_t at,
                              int64_t bytes) {
  const cvy_engine *engine = &context->device;
  return engine->backend->part(engine->device, array, of, at, bytes, &context->last_ticket);
}

convoy_status cvy_device_adopt(convoy_context *context, uint64_t address, int64_t bytes,
                               uint64_t *array) {
  const cvy_engine *engine = &context->device;
  *array = ++context->last_id;
  return engine->backend->adopt(engine->device, *array, address, bytes, &context->last_ticket);
}

convoy_status cvy_device_use_stream(convoy_context *context, uint64_t stream) {
  const cvy_engine *engine = &context->device;
  convoy_status status = engine->backend->use_stream(engine->device, stream);
  if (status) return status;
  context->stream = stream;
  context->has_stream = true;
  return CONVOY_OK;
}

convoy_status cvy_device_use_allocator(convoy_context *context, const cvy_allocator *allocator) {
  const cvy_engine *engine = &context->device;
  return engine->backend->use_allocator(engine->device, allocator);
}

convoy_status cvy_device_lend(convoy_context *context, uint64_t address, int64_t bytes,
                              int64_t *taken) {
  const cvy_engine *engine = &context->device;
  return engine->backend->lend(engine->device, address, bytes, taken);
}

convoy_status cvy_device_recording(convoy_context *context, const cvy_job *job,
                                   cvy_recording *out) {
  const cvy_engine *engine = &context->device;
  *out = CVY_NOT_RECORDING;
  if (!context->has_stream || !engine->backend->recording) return CONVOY_OK;
  return engine->backend->recording(engine->device, job, out);
}

convoy_status cvy_device_begun(convoy_context *context, uint64_t ticket) {
  const cvy_engine *engine = &context->device;
  return engine->backend->begun(engine->device, ticket, NULL);
}

void cvy_device_release(convoy_context *context, uint64_t array) {
  const cvy_engine *engine = &context->device;
  if (engine->device) engine->backend->release(engine->device, array);
}

convoy_status cvy_device_fill(convoy_context *context, uint64_t array, const float *values,
                              int64_t bytes) {
  const cvy_engine *engine = &context->device;
  uint64_t *ticket = &context->last_ticket;
  convoy_status status = values
                             ? engine->backend->write(engine->device, array, values, bytes, ticket)
                             : engine->backend->zero(engine->device, array, bytes, ticket);
  note(context, values ? "write" : "zero", "", bytes);
  return status;
}

convoy_status cvy_device_pack(convoy_context *context, uint64_t array, int32_t count,
                              const cvy_packed *parts, int64_t bytes) {
  const cvy_engine *engine = &context->device;
  convoy_status status =
      engine->backend->pack(engine->device, array, count, parts, bytes, &context->last_ticket);
  note(context, "write", "", bytes);
  return status;
}

convoy_status cvy_device_copy(convoy_context *context, uint64_t from, uint64_t to, int64_t bytes) {
  const cvy_engine *engine = &context->device;
  return engine->backend->copy(engine->device, from, to, bytes, &context->last_ticket);
}

convoy_status cvy_device_run(convoy_context *context, const cvy_job *job, int64_t bytes) {
  const cvy_engine *engine = &context->device;
  convoy_status status = engine->backend->run(engine->device, job, &context->last_ticket);
  note(context, "run", engine->backend->algorithms[job->algorithm]->name, bytes);
  return status;
}

convoy_status cvy_device_plan_job(convoy_context *context, uint64_t plan, const cvy_job *job) {
  const cvy_engine *engine = &context->device;
  return engine->backend->plan_job(engine->device, plan, job);
}

convoy_status cvy_device_plan_copy(convoy_context *context, uint64_t plan, cvy_operand from,
                                   cvy_operand to, int64_t bytes) {
  const cvy_engine *engine = &context->device;
  return engine->backend->plan_copy(engine->device, plan, from, to, bytes);
}

convoy_status cvy_device_plan_bind(convoy_context *context, uint64_t plan, int32_t count,
                                   const cvy_base *to) {
  const cvy_engine *engine = &context->device;
  return engine->backend->plan_bind(engine->device, plan, 0, count, to);
}

convoy_status cvy_device_plan_tap(convoy_context *context, uint64_t plan, int32_t step, uint64_t to,
                                  int32_t count, const cvy_tap *taps) {
  const cvy_engine *engine = &context->device;
  return engine->backend->plan_tap(engine->device, plan, step, to, count, taps);
}

convoy_status cvy_device_plan_run(convoy_context *context, uint64_t plan, uint64_t run,
                                  int64_t bytes) {
  const cvy_engine *engine = &context->device;
  convoy_status status =
      engine->backend->plan_run(engine->device, plan, run, &context->last_ticket);
  note(context, "run plan", "", bytes);
  return status;
}

void cvy_device_plan_drop(convoy_context *context, uint64_t plan) {
  const cvy_engine *engine = &context->device;
  if (plan && cvy_device_ready(context)) engine->backend->plan_drop(engine->device, plan);
}

convoy_status cvy_device_wait(convoy_context *context, uint64_t ticket,
                              const volatile int *interrupt, uint64_t *fault) {
  const cvy_engine *engine = &context->device;
  return engine->backend->wait(engine->device, ticket, interrupt, fault);
}

convoy_status cvy_device_read(convoy_context *context, uint64_t array, float *to, int64_t bytes) {
  const cvy_engine *engine = &context->device;
  note(context, "read", "", bytes);
  return engine->backend->read(engine->device, array, to, bytes);
}

convoy_status cvy_device_fetch(convoy_context *context, uint64_t array, int64_t bytes,
                               uint64_t *ticket) {
  const cvy_engine *engine = &context->device;
  convoy_status status = engine->backend->fetch(engine->device, array, bytes, ticket);
  if (status || !*ticket) return status;
  context->last_ticket = *ticket;
  note(context, "fetch", "", bytes);
  return CONVOY_OK;
}

bool cvy_device_fetched(const convoy_context *context, uint64_t ticket) {
  const cvy_engine *engine = &context->device;
  return engine->backend->fetched(engine->device, ticket);
}

convoy_status cvy_device_collect(convoy_context *context, uint64_t ticket, float *to,
                                 int64_t bytes) {
  const cvy_engine *engine = &context->device;
  return engine->device ? engine->backend->collect(engine->device, ticket, to, bytes) : CONVOY_OK;
}

convoy_status cvy_device_peak(convoy_context *context, double *gflops, double *gigabytes) {
  const cvy_engine *engine = &context->device;
  return engine->backend->peak(engine->device, gflops, gigabytes);
}
