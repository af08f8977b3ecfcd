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

convoy_status cvy_device_ask(convoy_context *context, const cvy_command *command,
                             cvy_reply *reply) {
  const cvy_engine *engine = &context->device;
  return engine->backend->execute(engine->device, command, reply, &context->last_ticket);
}

convoy_status cvy_device_execute(convoy_context *context, const cvy_command *command) {
  return cvy_device_ask(context, command, NULL);
}

convoy_status cvy_device_recording(convoy_context *context, const cvy_job *job,
                                   cvy_recording *out) {
  cvy_reply reply = {0};
  *out = CVY_NOT_RECORDING;
  if (!context->has_stream) return CONVOY_OK;
  const cvy_command command = {CVY_RECORDING, .job = job};
  convoy_status status = cvy_device_ask(context, &command, &reply);
  *out = (cvy_recording)reply.recording;
  return status;
}

convoy_status cvy_device_begun(convoy_context *context, uint64_t ticket) {
  const cvy_engine *engine = &context->device;
  return engine->backend->begun(engine->device, ticket, NULL);
}

void cvy_device_release(convoy_context *context, uint64_t array) {
  const cvy_engine *engine = &context->device;
  const cvy_command command = {CVY_RELEASE, .release = {array}};
  if (engine->device) cvy_device_execute(context, &command);
}

convoy_status cvy_device_fill(convoy_context *context, uint64_t array, const float *values,
                              int64_t bytes) {
  const cvy_engine *engine = &context->device;
  uint64_t *ticket = &context->last_ticket;
  const cvy_command zero = {CVY_ZERO, .zero = {array, bytes}};
  convoy_status status = values
                             ? engine->backend->write(engine->device, array, values, bytes, ticket)
                             : cvy_device_execute(context, &zero);
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

convoy_status cvy_device_run(convoy_context *context, const cvy_command *command, int64_t bytes) {
  convoy_status status = cvy_device_execute(context, command);
  if (command->kind == CVY_RUN)
    note(context, "run", context->device.backend->algorithms[command->job->algorithm]->name, bytes);
  else
    note(context, "run plan", "", bytes);
  return status;
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
