/* The one place that gives commands to a device and deals with its faults. */
#include "core/device.h"

#include <string.h>

/* Written down once per call: what the run report calls its first fault. */
static void note_fault(convoy_context *context, convoy_status status, const char *sentence) {
  cvy_call *call = &context->call;
  if (call->faults++) return;
  call->first_fault = status;
  cvy_text_copy(call->sentence, sizeof(call->sentence), sentence);
}

/* A device that cannot be mended is closed; without failover the context stays without one. */
static void give_up(convoy_context *context, const char *sentence) {
  cvy_stores_void(context, 0, CONVOY_ERR_DEVICE, sentence);
  cvy_device_close(context);
  if (context->options.failover) {
    cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_DEVICE, "",
               "%s is given up, from now on the CPU computes", context->device.facts.info.id);
    return;
  }
  context->lost = true;
  cvy_text_copy(context->lost_sentence, sizeof(context->lost_sentence), sentence);
}

/* Finds out which command failed, tells everyone, and mends the device or gives it up. */
static convoy_status failed(convoy_context *context, convoy_status status) {
  const cvy_engine *engine = &context->device;
  char sentence[256];
  cvy_text_copy(sentence, sizeof(sentence), cvy_last_error());
  uint64_t first = 0;
  convoy_status waited = engine->backend->wait(engine->device, context->last_ticket, NULL, &first);
  if (waited) {
    status = waited;
    cvy_text_copy(sentence, sizeof(sentence), cvy_last_error());
  } else {
    first = context->last_ticket + 1; /* the command was refused at once; earlier ones are good */
  }
  note_fault(context, status, sentence);
  cvy_report(context, CONVOY_EVENT_FAULT, status, "", "%s failed: %s", engine->facts.info.id,
             sentence);
  cvy_stores_void(context, first, status, sentence);
  if (engine->backend->clear(engine->device)) give_up(context, sentence);
  return cvy_fail(status, "%s", sentence);
}

static convoy_status checked(convoy_context *context, convoy_status status) {
  return status ? failed(context, status) : CONVOY_OK;
}

convoy_status cvy_device_check(const convoy_context *context) {
  if (!context->lost) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "%s was lost: %s", context->device.facts.info.id,
                  context->lost_sentence);
}

static convoy_status present(const convoy_context *context) {
  if (context->device.device) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "%s was given up", context->device.facts.info.id);
}

/* A new array on the device, contents undefined; the store has no values there yet. */
static convoy_status allocate(cvy_store *store) {
  convoy_context *context = store->context;
  const cvy_engine *engine = &context->device;
  store->array = ++context->last_id;
  store->ticket = UINT64_MAX; /* until written, any fault makes it worthless */
  return checked(context, engine->backend->allocate(engine->device, store->array, store->bytes,
                                                    &context->last_ticket));
}

static convoy_status fill(cvy_store *store) {
  convoy_context *context = store->context;
  const cvy_engine *engine = &context->device;
  convoy_status status = allocate(store);
  if (status) return status;
  if (store->host) {
    status = engine->backend->write(engine->device, store->array, store->host, store->bytes,
                                    &context->last_ticket);
  } else {
    status =
        engine->backend->zero(engine->device, store->array, store->bytes, &context->last_ticket);
  }
  store->ticket = context->last_ticket;
  return checked(context, status);
}

/* Gives the store a device copy of its values, computing them anew if need be. */
static convoy_status upload(cvy_store *store) {
  if (store->array) return CONVOY_OK;
  if (store->has_history) { /* a fault took its values */
    convoy_status status = cvy_store_fetch(store);
    if (status) return status;
  }
  convoy_status status = present(store->context);
  if (status) return status;
  status = fill(store);
  if (status) cvy_store_leave_device(store);
  return status;
}

static uint64_t array_of(const cvy_store *store) {
  return store ? store->array : 0;
}

static convoy_status launch(convoy_context *context, const cvy_op *op, const cvy_choice *choice,
                            cvy_store *out) {
  const cvy_engine *engine = &context->device;
  convoy_status status = allocate(out);
  if (status) return status;
  if (op->prior) {
    status = engine->backend->copy(engine->device, op->prior->array, out->array, out->bytes,
                                   &context->last_ticket);
    if (status) return failed(context, status);
  }
  const cvy_job job = {.problem = op->problem,
                       .algorithm = choice->row,
                       .params = choice->params,
                       .a.id = array_of(op->a),
                       .b.id = array_of(op->b),
                       .bias.id = array_of(op->bias),
                       .out.id = out->array};
  status = engine->backend->run(engine->device, &job, &context->last_ticket);
  out->ticket = context->last_ticket;
  return checked(context, status);
}

convoy_status cvy_device_perform(convoy_context *context, const cvy_op *op,
                                 const cvy_choice *choice, cvy_store *out) {
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    cvy_store *input = cvy_op_input(op, i);
    convoy_status status = input ? upload(input) : CONVOY_OK;
    if (status) return status;
  }
  convoy_status status = launch(context, op, choice, out);
  if (status) cvy_store_leave_device(out);
  return status;
}

convoy_status cvy_device_wait(convoy_context *context, uint64_t ticket) {
  const cvy_engine *engine = &context->device;
  uint64_t fault = 0;
  convoy_status status = engine->backend->wait(
      engine->device, ticket, context->call.interruptible ? &context->interrupt : NULL, &fault);
  if (status != CONVOY_ERR_INTERRUPTED) return checked(context, status);
  __atomic_store_n(&context->interrupt, 0, __ATOMIC_RELAXED);
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "convoy_interrupt() ended the wait");
}

convoy_status cvy_device_read(const cvy_store *store, float *to) {
  convoy_context *context = store->context;
  convoy_status status = cvy_device_wait(context, store->ticket);
  if (status) return status;
  const cvy_engine *engine = &context->device;
  return checked(context, engine->backend->read(engine->device, store->array, to, store->bytes));
}

convoy_status cvy_device_peak(convoy_context *context, double *gflops, double *gigabytes) {
  const cvy_engine *engine = &context->device;
  return checked(context, engine->backend->peak(engine->device, gflops, gigabytes));
}

void cvy_device_release(convoy_context *context, uint64_t array) {
  const cvy_engine *engine = &context->device;
  if (engine->device) engine->backend->release(engine->device, array);
}

void cvy_device_close(convoy_context *context) {
  cvy_engine *engine = &context->device;
  if (!engine->device) return;
  cvy_health_keep_counts(context);
  cvy_blocks_orphan(context);
  engine->backend->close(engine->device);
  engine->device = NULL;
}

void cvy_device_forget(convoy_context *context) {
  cvy_blocks_orphan(context);
  context->device.device = NULL;
  for (cvy_store *each = context->stores; each; each = each->next) each->array = 0;
}
