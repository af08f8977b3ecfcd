/* What begins and ends with a device: compile workers, the marker of its use, what it has
 * counted. */
#include "core/exec/lifetime.h"

#include "core/exec/fetches.h"
#include "core/faults/attribution.h"
#include "core/verify/verification.h"

convoy_status cvy_engine_open(const cvy_backend *backend, int32_t index, const cvy_options *options,
                              cvy_engine *out) {
  convoy_status status = backend->open(index, &options->open, &out->device);
  if (status) {
    out->device = NULL;
    return status;
  }
  out->backend = backend;
  out->facts = *backend->facts(out->device);
  out->facts.workspace_limit = options->open.workspace_limit;
  out->facts.memory_limit = options->open.memory_limit;
  out->strict = !options->winograd;
  return CONVOY_OK;
}

convoy_status cvy_device_open(convoy_context *context, const cvy_backend *backend, int32_t index) {
  cvy_engine *device = &context->device;
  convoy_status status = cvy_engine_open(backend, index, &context->options, device);
  if (status) {
    cvy_blackbox_close(context);
    return status;
  }
  device->crashes = &context->box.crashes;
  if (backend->mark) backend->mark(device->device, context->box.path);
  context->compile_workers = cvy_compile_workers_new(device, index, &context->options,
                                                     context->cpu.facts.info.compute_units);
  cvy_verification_start(&context->verification);
  cvy_fault_table_start(context);
  return CONVOY_OK;
}

void cvy_device_close(convoy_context *context) {
  cvy_engine *engine = &context->device;
  if (!engine->device) return;
  cvy_health_keep_counts(context);
  cvy_host_allocations_orphan(context);
  cvy_compile_workers_close(context->compile_workers);
  context->compile_workers = NULL;
  engine->backend->close(engine->device);
  engine->device = NULL;
  cvy_blackbox_close(context);
  context->suspended = context->behind = false;
}

void cvy_device_forget(convoy_context *context) {
  cvy_host_allocations_orphan(context);
  cvy_compile_workers_forget(context->compile_workers);
  context->compile_workers = NULL;
  context->device.device = NULL;
  context->suspended = context->behind = false;
  for (cvy_store *each = context->stores; each; each = each->next) cvy_store_forget_device(each);
}
