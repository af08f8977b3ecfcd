/* What is different where memory belongs to somebody else. */
#include "core/exec/foreign.h"

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/recover.h"

/* Vectors of 16 are the longest that kernels load. */
enum { ALIGNMENT = 64 };

static convoy_status checked(convoy_context *context, convoy_status status) {
  return status ? cvy_foreign_fail(context, cvy_recover(context, status)) : CONVOY_OK;
}

/* ------------------------------------------------------------------------------------- making */

static convoy_status available(const convoy_context *context) {
  const cvy_engine *device = &context->device;
  convoy_status status = cvy_device_check(context);
  if (status) return status;
  if (cvy_device_ready(context) && cvy_backend_takes(device->backend, CVY_ADOPT)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                  "%s computes here, which has no memory on a card; open cuda:N or hip:N with "
                  "isolation caller or none",
                  cvy_context_engine(context)->facts.info.id);
}

static convoy_status check_range(uint64_t address, int64_t bytes) {
  if (bytes > 0 && (address == 0 || address % ALIGNMENT))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the address is %#llx; it must be a multiple of %d",
                    (unsigned long long)address, ALIGNMENT);
  if (address <= UINT64_MAX - (uint64_t)bytes) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%lld bytes at %#llx are no memory", (long long)bytes,
                  (unsigned long long)address);
}

/* A refusal is no fault: nothing was asked of the device. */
static convoy_status adopt(cvy_store *store, uint64_t address) {
  convoy_context *context = store->context;
  store->array = ++context->last_id;
  const cvy_command command = {CVY_ADOPT, .adopt = {store->array, address, store->bytes}};
  convoy_status status = cvy_device_execute(context, &command);
  store->ticket = context->last_ticket;
  if (!status) return CONVOY_OK;
  store->array = 0;
  return status == CONVOY_ERR_UNSUPPORTED ? status : checked(context, status);
}

convoy_status cvy_foreign_new(convoy_context *context, uint64_t address, int64_t bytes,
                              cvy_store **out) {
  convoy_status status = available(context);
  if (!status) status = check_range(address, bytes);
  if (status) return status;
  cvy_store *store = cvy_store_new(context, bytes);
  if (!store) return CONVOY_ERR_MEMORY;
  store->foreign = true;
  context->foreign_moves++;
  store->address = address;
  if (bytes > 0) status = adopt(store, address);
  if (status)
    cvy_store_drop(store);
  else
    *out = store;
  return status;
}

convoy_status cvy_foreign_stream(convoy_context *context, uint64_t stream) {
  convoy_status status = available(context);
  if (status || (context->has_stream && context->stream == stream)) return status;
  status = cvy_device_execute(context, &(cvy_command){CVY_USE_STREAM, .use_stream = {stream}});
  context->has_stream |= !status;
  if (!status) context->stream = stream;
  return status == CONVOY_ERR_UNSUPPORTED ? status : checked(context, status);
}

convoy_status cvy_foreign_allocator(convoy_context *context, const cvy_allocator *allocator) {
  convoy_status status = available(context);
  const cvy_command command = {CVY_USE_ALLOCATOR, .allocator = allocator};
  return status ? status : cvy_device_execute(context, &command);
}

convoy_status cvy_foreign_lend(convoy_context *context, uint64_t address, int64_t bytes) {
  cvy_reply before;
  const cvy_command command = {CVY_LEND, .lend = {address, bytes}};
  convoy_status status = check_range(address, bytes);
  return status ? status : cvy_device_ask(context, &command, &before);
}

int64_t cvy_foreign_take_back(convoy_context *context) {
  cvy_reply reply = {0};
  const cvy_command nothing = {CVY_LEND, .lend = {0}};
  if (cvy_device_ready(context)) cvy_device_ask(context, &nothing, &reply);
  return reply.taken;
}

/* ------------------------------------------------------------------------------------ failing */

convoy_status cvy_foreign_fail(const convoy_context *context, convoy_status status) {
  char why[256];
  cvy_text_copy(why, sizeof(why), cvy_last_error());
  return cvy_fail(status, "%s failed, and the tensors' memory is not ours to compute elsewhere: %s",
                  context->device.facts.info.id, why);
}

convoy_status cvy_foreign_gone(const cvy_store *store) {
  return cvy_fail(
      CONVOY_ERR_DEVICE,
      "the memory of %lld bytes at %#llx cannot be reached: %s is closed in this process",
      (long long)store->bytes, (unsigned long long)store->address,
      store->context->device.facts.info.id);
}

/* ----------------------------------------------------------------------------------- recorded */

static convoy_status refuse_recording(convoy_context *context, const char *why) {
  context->call.only_here = true; /* the CPU would wait for operands */
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "the stream is being recorded, %s", why);
}

/* Only what need not be looked at, of memory that is there when the recording is carried out. */
static bool is_all_foreign(const cvy_node *node) {
  for (int32_t i = 0; i < node->inputs; i++)
    if (!node->input[i]->foreign) return false;
  return true;
}

convoy_status cvy_foreign_admit(convoy_context *context, const cvy_node *node,
                                const cvy_choice *choice, bool leaves, bool *recorded) {
  cvy_job job;
  cvy_recording recording;
  *recorded = false;
  cvy_job_set(&job, &node->problem, choice->row, &choice->params);
  convoy_status status = cvy_device_recording(context, &job, &recording);
  if (status) return checked(context, status);
  if (recording == CVY_NOT_RECORDING) return CONVOY_OK;
  if (recording == CVY_RECORDING_BROKEN) return refuse_recording(context, "which has failed");
  if (!leaves || !is_all_foreign(node))
    return refuse_recording(context, "and this would have to be looked at");
  if (recording == CVY_RECORDING_NEW)
    return refuse_recording(context,
                            "and this has not come before, or the context has no allocator");
  *recorded = true;
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------------- places */

bool cvy_foreign_concerns(const cvy_node *node, cvy_store *const out[]) {
  for (int32_t i = 0; i < node->inputs; i++)
    if (node->input[i]->foreign) return true;
  for (int32_t i = 0; i < node->outputs; i++)
    if (out[i]->home) return true;
  return false;
}

static bool overlap(const cvy_store *a, const cvy_store *b) {
  return a->foreign && b->foreign && a->address < b->address + (uint64_t)b->bytes &&
         b->address < a->address + (uint64_t)a->bytes;
}

/* What is added to may be the result itself: kernels read an element before they write it. */
static bool lies_over(const cvy_node *node, const cvy_store *home) {
  const cvy_store *prior = cvy_node_prior(node);
  int32_t inputs = node->inputs - (prior != NULL);
  if (prior && prior != home) return true;
  for (int32_t i = 0; i < inputs; i++)
    if (overlap(node->input[i], home)) return true;
  return false;
}

/* The memory of a result in which nothing is read any more once something is written. */
static bool fits(const cvy_node *node, cvy_store *const out[], int32_t result) {
  const cvy_store *home = out[result]->home;
  if (!home->array || lies_over(node, home)) return false;
  for (int32_t i = 0; i < node->outputs; i++)
    if (i != result && overlap(home, out[i]->home)) return false;
  return true;
}

static bool is_looked_at(const convoy_context *context) {
  bool watched = context->options.nan_watch && !context->nonfinite_seen;
  return watched || context->options.verify == CONVOY_VERIFY_ALL;
}

bool cvy_foreign_place(const cvy_node *node, cvy_store *const out[]) {
  if (node->unproven || is_looked_at(out[0]->context)) return false;
  for (int32_t i = 0; i < node->outputs; i++)
    if (!out[i]->home) return false;
  for (int32_t i = 0; i < node->outputs; i++) {
    if (!fits(node, out, i)) continue;
    out[i]->array = out[i]->home->array;
    out[i]->ticket = UINT64_MAX;
  }
  return true;
}

/* ------------------------------------------------------------------------------------ landing */

convoy_status cvy_foreign_write(cvy_store *store, const float *values) {
  convoy_context *context = store->context;
  if (store->bytes == 0) return CONVOY_OK;
  if (!store->array) return cvy_foreign_gone(store);
  convoy_status status = cvy_device_fill(context, store->array, values, store->bytes);
  store->ticket = context->last_ticket;
  return checked(context, status);
}

convoy_status cvy_foreign_bring(cvy_store *from, cvy_store *home) {
  convoy_context *context = home->context;
  if (!home->array) return cvy_foreign_gone(home);
  if (!from->array && from->host) return cvy_foreign_write(home, from->host);
  if (from->status) return cvy_store_failed(from);
  if (!from->array) return cvy_foreign_gone(home);
  convoy_status status = cvy_upload(from); /* part of a block, it gets a number */
  if (status) return cvy_foreign_fail(context, status);
  const cvy_command command = {CVY_COPY, .copy = {from->array, home->array, home->bytes}};
  status = cvy_device_execute(context, &command);
  home->ticket = context->last_ticket;
  return checked(context, status);
}

convoy_status cvy_foreign_land(cvy_store *out) {
  cvy_store *home = out->home;
  if (!home || home->bytes == 0) return CONVOY_OK;
  if (!home->array || out->array != home->array) return cvy_foreign_bring(out, home);
  home->ticket = out->ticket;
  return CONVOY_OK;
}

void cvy_foreign_forget(cvy_store *store) {
  if (!store || !store->foreign || !store->host) return;
  cvy_values_drop(store, store->host);
  store->host = NULL;
}

convoy_status cvy_foreign_enqueued(convoy_context *context) {
  if (!cvy_device_ready(context)) return CONVOY_OK;
  return checked(context, cvy_device_begun(context, context->last_ticket));
}
