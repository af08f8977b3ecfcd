/* How a store was made, kept until the host has its values, so that a lost device loses nothing. */
#include <string.h>

#include "core/device.h"
#include "core/run.h"

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

void cvy_history_keep(cvy_store *store, const cvy_op *op) {
  store->history = *op;
  store->has_history = true;
  for (int i = 0; i < CVY_OP_INPUTS; i++) cvy_store_keep(cvy_op_input(op, i));
  store->depth = 1 + depth_behind(op);
  store->accumulated = op->prior ? 1 + op->prior->accumulated : 0;
  /* If this fails the store keeps its history and the next one tries again. */
  if (store->depth > DEEPEST || store->accumulated > MOST_ACCUMULATED) cvy_store_fetch(store);
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

static convoy_status gather(cvy_store *store, float *values) {
  if (store->array) {
    convoy_status status = read_back(store, values);
    bool elsewhere = store->context->options.failover && status != CONVOY_ERR_INTERRUPTED;
    if (!status || !elsewhere) return status;
    cvy_store_leave_device(store);
  }
  if (store->has_history) return cvy_recompute(store->context, &store->history, values);
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
