/* The one place that gives commands to a device and deals with its faults. */
#include "core/device.h"

#include <math.h>
#include <string.h>

#include "core/commit.h"
#include "core/foresight.h"

static void note(convoy_context *context, const char *what, const char *algorithm, int64_t bytes) {
  cvy_note_command(&context->ring, what, algorithm, context->last_ticket, bytes);
}

/* The run report tells the first one of a call. */
static void note_fault(convoy_context *context, convoy_status status, const char *sentence) {
  cvy_call *call = &context->call;
  context->health.deadlines_missed += status == CONVOY_ERR_DEADLINE;
  if (call->faults++) return;
  call->first_fault = status;
  cvy_text_copy(call->sentence, sizeof(call->sentence), sentence);
}

/* A device that cannot be mended is closed; without failover the context stays without one. */
static void give_up(convoy_context *context, const char *sentence) {
  cvy_stores_void(context, 0, CONVOY_ERR_DEVICE, sentence);
  cvy_device_close(context);
  if (context->options.failover) {
    cvy_fallback_begin(context, context->device.facts.info.id, sentence);
    cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_DEVICE, "",
               "%s is given up, from now on the CPU computes", context->device.facts.info.id);
    return;
  }
  context->lost = true;
  cvy_text_copy(context->lost_sentence, sizeof(context->lost_sentence), sentence);
}

/* Makes the device usable again, leaves it at rest until a later call, or gives it up. */
static void mend(convoy_context *context, const char *sentence) {
  const cvy_engine *engine = &context->device;
  bool emptied = false;
  convoy_status status = engine->backend->clear(engine->device, &emptied);
  char why[256];
  cvy_text_copy(why, sizeof(why), cvy_last_error());
  if (emptied) cvy_stores_void(context, 0, CONVOY_ERR_DEVICE, sentence);
  const bool rested = context->resting;
  context->resting = status == CONVOY_ERR_DEADLINE;
  if (context->resting && context->options.failover)
    cvy_fallback_begin(context, engine->facts.info.id, why);
  else if (!status)
    cvy_fallback_end(context);
  if (context->resting && !rested) {
    cvy_report(context, CONVOY_EVENT_DOWNGRADE, status, "",
               "%s rests, the CPU computes until a later call can mend it: %s",
               engine->facts.info.id, why);
  }
  if (status && !context->resting) give_up(context, sentence);
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
  cvy_trust_fault(context, first, status, sentence);
  cvy_stores_void(context, first, status, sentence);
  cvy_commits_void(context, first);
  mend(context, sentence);
  cvy_blackbox_done(context, UINT64_MAX);
  cvy_report_fault(context, status, sentence);
  return cvy_fail(status, "%s", sentence);
}

void cvy_device_wake(convoy_context *context) {
  if (context->resting && context->device.device) mend(context, "it was to be started anew");
}

bool cvy_device_ready(const convoy_context *context) {
  return context->device.device && !context->resting;
}

convoy_status cvy_device_wrong(cvy_store *store, uint64_t first) {
  convoy_context *context = store->context;
  const cvy_engine *engine = &context->device;
  char sentence[256];
  cvy_text_copy(sentence, sizeof(sentence), cvy_last_error());
  note_fault(context, CONVOY_ERR_WRONG, sentence);
  context->health.wrong_results++;
  cvy_report(context, CONVOY_EVENT_FAULT, CONVOY_ERR_WRONG,
             cvy_chosen(engine, &store->choice)->name, "%s computed wrongly: %s",
             engine->facts.info.id, sentence);
  cvy_trust_fault(context, store->ticket, CONVOY_ERR_WRONG, sentence);
  cvy_stores_void(context, first, CONVOY_ERR_WRONG, sentence);
  cvy_report_fault(context, CONVOY_ERR_WRONG, sentence);
  return cvy_fail(CONVOY_ERR_WRONG, "%s", sentence);
}

static convoy_status checked(convoy_context *context, convoy_status status) {
  return status ? failed(context, status) : CONVOY_OK;
}

convoy_status cvy_device_check(const convoy_context *context) {
  if (context->resting && !context->options.failover) {
    return cvy_fail(CONVOY_ERR_DEVICE, "%s cannot be used now", context->device.facts.info.id);
  }
  if (!context->lost) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "%s was lost: %s", context->device.facts.info.id,
                  context->lost_sentence);
}

static convoy_status present(const convoy_context *context) {
  if (cvy_device_ready(context)) return CONVOY_OK;
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
  note(context, store->host ? "write" : "zero", "", store->bytes);
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

/* NaN in a result that is to be verified: what is not written shows. */
static convoy_status poison(cvy_store *out) {
  convoy_context *context = out->context;
  const cvy_engine *engine = &context->device;
  float *values;
  convoy_status status = cvy_values_new(out, &values);
  if (status) return status;
  for (int64_t i = 0; i < out->bytes / (int64_t)sizeof(float); i++) values[i] = NAN;
  status =
      engine->backend->write(engine->device, out->array, values, out->bytes, &context->last_ticket);
  cvy_values_drop(out, values);
  return checked(context, status);
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
  } else if (out->unproven) {
    status = poison(out);
    if (status) return status;
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
  note(context, "run", cvy_chosen(engine, choice)->name, out->bytes);
  cvy_blackbox_after(context);
  return checked(context, status);
}

static bool all_there(const cvy_op *op) {
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    const cvy_store *input = cvy_op_input(op, i);
    if (input && !input->array) return false;
  }
  return true;
}

/* A fault met on the way may take what was brought before: once more then. */
static convoy_status upload_inputs(convoy_context *context, const cvy_op *op) {
  for (int tries = 0; tries < 2; tries++) {
    for (int i = 0; i < CVY_OP_INPUTS; i++) {
      cvy_store *input = cvy_op_input(op, i);
      convoy_status status = input ? upload(input) : CONVOY_OK;
      if (status) return status;
    }
    if (all_there(op)) return CONVOY_OK;
  }
  return cvy_fail(CONVOY_ERR_DEVICE, "%s lost what it was given", context->device.facts.info.id);
}

convoy_status cvy_device_perform(convoy_context *context, const cvy_op *op,
                                 const cvy_choice *choice, cvy_store *out) {
  cvy_blackbox_before(context, choice, &op->problem);
  convoy_status status = upload_inputs(context, op);
  if (!status) status = launch(context, op, choice, out);
  if (status) cvy_store_leave_device(out);
  return status;
}

convoy_status cvy_device_wait(convoy_context *context, uint64_t ticket) {
  const cvy_engine *engine = &context->device;
  const volatile int *interrupt = context->call.interruptible ? &context->interrupt : NULL;
  uint64_t fault = 0;
  cvy_foresee_wait(context, interrupt);
  convoy_status status = engine->backend->wait(engine->device, ticket, interrupt, &fault);
  if (!status) cvy_blackbox_done(context, ticket);
  if (status != CONVOY_ERR_INTERRUPTED) return checked(context, status);
  __atomic_store_n(&context->interrupt, 0, __ATOMIC_RELAXED);
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "convoy_interrupt() ended the wait");
}

convoy_status cvy_device_fetch(const cvy_store *store, uint64_t *ticket) {
  convoy_context *context = store->context;
  const cvy_engine *engine = &context->device;
  convoy_status status =
      checked(context, engine->backend->fetch(engine->device, store->array, store->bytes, ticket));
  if (status || !*ticket) return status;
  context->last_ticket = *ticket;
  note(context, "fetch", "", store->bytes);
  return CONVOY_OK;
}

/* What cvy_device_fetch asked for. */
static convoy_status collect(cvy_store *store, float *to) {
  convoy_context *context = store->context;
  const cvy_engine *engine = &context->device;
  uint64_t ticket = store->fetch;
  bool there = engine->backend->fetched(engine->device, ticket);
  convoy_status status = there ? CONVOY_OK : cvy_device_wait(context, ticket);
  if (status) return status;
  cvy_commit_strike(store);
  return checked(context, engine->backend->collect(engine->device, ticket, to, store->bytes));
}

convoy_status cvy_device_read(cvy_store *store, float *to) {
  if (store->fetch) return collect(store, to);
  convoy_context *context = store->context;
  convoy_status status = cvy_device_wait(context, store->ticket);
  if (status) return status;
  const cvy_engine *engine = &context->device;
  note(context, "read", "", store->bytes);
  return checked(context, engine->backend->read(engine->device, store->array, to, store->bytes));
}

convoy_status cvy_device_peak(convoy_context *context, double *gflops, double *gigabytes) {
  const cvy_engine *engine = &context->device;
  convoy_status status = present(context);
  if (status) return status;
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
  cvy_builders_close(context->builders);
  context->builders = NULL;
  engine->backend->close(engine->device);
  engine->device = NULL;
  cvy_blackbox_close(context);
  context->resting = false;
}

void cvy_device_forget(convoy_context *context) {
  cvy_blocks_orphan(context);
  cvy_builders_forget(context->builders);
  context->builders = NULL;
  context->device.device = NULL;
  context->resting = false;
  for (cvy_store *each = context->stores; each; each = each->next) {
    cvy_commit_forget(each);
    each->array = 0;
  }
}
