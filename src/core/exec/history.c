/* How a store was made, kept until the host has its values, so that a lost device loses nothing. */
#include <string.h>

#include "core/exec/device.h"
#include "core/exec/run.h"
#include "core/exec/squeeze.h"
#include "core/verify/nanwatch.h"

/* A chain longer than this is cut by reading its end back: what it holds on to stays bounded. Sums
 * are cut sooner, since each link holds a whole earlier sum. */
enum { DEEPEST = 64, MOST_ACCUMULATED = 8 };

static int32_t depth_behind(const cvy_op *op) {
  int32_t deepest = 0;
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    const cvy_store *input = cvy_op_input(op, i);
    if (input && input->depth > deepest) deepest = input->depth;
  }
  return deepest;
}

/* The oldest store that a tensor has and only the device has the values of: what is held for it is held
 * for the longest time. */
static cvy_store *oldest_committable(const convoy_context *context) {
  cvy_store *oldest = NULL;
  for (cvy_store *each = context->stores; each; each = each->next) {
    bool a_tensors = each->references > each->held;
    if (a_tensors && each->has_history && !each->status) oldest = each;
  }
  return oldest;
}

static void keep_limit(convoy_context *context) {
  while (context->health.history_bytes > context->options.history_limit) {
    cvy_store *oldest = oldest_committable(context);
    if (!oldest || cvy_store_fetch(oldest)) return; /* the next operation tries again */
  }
}

void cvy_history_keep(cvy_store *store, const cvy_op *op) {
  store->history = *op;
  store->has_history = true;
  for (int i = 0; i < CVY_OP_INPUTS; i++) cvy_store_hold(cvy_op_input(op, i));
  store->depth = 1 + depth_behind(op);
  store->accumulated = op->prior ? 1 + op->prior->accumulated : 0;
  /* If this fails the store keeps its history and the next one tries again. */
  if (store->depth > DEEPEST || store->accumulated > MOST_ACCUMULATED) cvy_store_fetch(store);
  keep_limit(store->context);
}

/* Reads from the device. A fault in other commands may leave the store's copy good: once more. */
static convoy_status read_back(cvy_store *store, float *values) {
  convoy_status status = CONVOY_ERR_DEVICE;
  for (int tries = 0; status && store->array && tries < 2; tries++) {
    status = cvy_device_read(store, values);
    if (status == CONVOY_ERR_INTERRUPTED || !store->context->options.failover) break;
  }
  return status;
}

/* The device lost the values. If for lack of memory only, it gets another chance with less. */
static convoy_status make_anew(cvy_store *store, float *values) {
  convoy_context *context = store->context;
  if (store->starved && context->squeezing) {
    return cvy_fail(CONVOY_ERR_MEMORY, "%s has too little memory", context->device.facts.info.id);
  }
  if (store->starved && context->options.failover && cvy_device_ready(context)) {
    if (!cvy_squeeze(context, &store->history, values)) return CONVOY_OK;
  }
  return cvy_recompute(context, &store->history, values);
}

/* Reads what the device has, and judges it. With *left that failed, the device copy has been given up, and
 * the values may come from elsewhere. */
static convoy_status take(cvy_store *store, float *values, bool *left) {
  convoy_status status = read_back(store, values);
  if (!status && store->has_history) status = cvy_trust_result(store, values);
  if (!status && store->has_history) {
    cvy_watch_result(store->context, &store->history.problem, values);
  }
  *left = status && status != CONVOY_ERR_INTERRUPTED && store->context->options.failover;
  if (*left) cvy_store_leave_device(store);
  return status;
}

static convoy_status gather(cvy_store *store, float *values) {
  if (store->array) {
    bool left;
    convoy_status status = take(store, values, &left);
    if (!left) return status;
  }
  if (store->has_history) return make_anew(store, values);
  memset(values, 0, (size_t)store->bytes);
  return CONVOY_OK;
}

convoy_status cvy_store_fetch(cvy_store *store) {
  if (store->status) return cvy_fail(store->status, "%s", store->sentence);
  if (store->host) return CONVOY_OK;
  float *values;
  convoy_status status = cvy_values_new(store, &values);
  if (status) return status;
  status = gather(store, values);
  if (status) {
    cvy_values_drop(store, values);
    return status;
  }
  cvy_store_publish(store, values);
  return CONVOY_OK;
}

convoy_status cvy_store_copy_out(cvy_store *store, float *values) {
  convoy_status status = cvy_store_fetch(store);
  if (!status) memcpy(values, store->host, (size_t)store->bytes);
  return status;
}

/* The device can bring the values there itself, which a copy on the host would only hold up. */
static bool is_direct(const cvy_store *store, const float *values) {
  bool only_there = store->array && !store->host && !store->fetch && !store->status;
  return only_there && cvy_host_has(store->context, values, store->bytes);
}

convoy_status cvy_store_read(cvy_store *store, float *values) {
  if (is_direct(store, values)) {
    bool left;
    convoy_status status = take(store, values, &left);
    if (!left) return status;
  }
  return cvy_store_copy_out(store, values);
}
