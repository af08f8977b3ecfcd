/* Writing never waits: it gives the tensor a new store. */
#include "core/contents.h"

#include "core/exec/commit.h"
#include "core/exec/device.h"
#include "core/exec/foreign.h"
#include "core/exec/launch.h"
#include "core/exec/values.h"
#include "core/graph/capture.h"

static convoy_status check_count(const convoy_tensor *tensor, int64_t count) {
  if (count == tensor->count) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "count is %lld, the tensor has %lld elements", (long long)count,
                  (long long)tensor->count);
}

convoy_status cvy_tensor_write(convoy_tensor *tensor, const void *values, int64_t count) {
  convoy_status status = check_count(tensor, count);
  if (status) return status;
  if (tensor->store->foreign) {
    status = cvy_foreign_write(tensor->store, values);
    return status ? status : cvy_foreign_enqueued(tensor->context);
  }
  cvy_store *store = cvy_store_copy(tensor->context, values, tensor->store->bytes);
  if (!store) return CONVOY_ERR_MEMORY;
  cvy_capture_written(tensor);
  cvy_tensor_swap(tensor, store);
  return CONVOY_OK;
}

convoy_status cvy_begin_wait(convoy_context *context) {
  context->call.interruptible = true;
  if (!__atomic_exchange_n(&context->interrupt, 0, __ATOMIC_RELAXED)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "convoy_interrupt() was called");
}

convoy_status cvy_tensor_commit(convoy_tensor *tensor) {
  convoy_status status = cvy_capture_refuses(tensor->context, "convoy_commit");
  if (!status && tensor->store->foreign)
    status = cvy_fail(CONVOY_ERR_UNSUPPORTED,
                      "wrapped memory belongs to somebody else, who may "
                      "change it: nothing of it can be committed");
  if (!status) status = cvy_begin_wait(tensor->context);
  return status ? status : cvy_commit(tensor->store);
}

convoy_status cvy_tensor_read(convoy_tensor *tensor, void *values, int64_t count) {
  convoy_status status = check_count(tensor, count);
  if (!status) status = cvy_capture_refuses(tensor->context, "convoy_tensor_read");
  if (!status) status = cvy_begin_wait(tensor->context);
  if (!status) status = cvy_store_read(tensor->store, values);
  cvy_foreign_forget(tensor->store);
  return status;
}

/* ---------------------------------------------------------------------------------- sharing */

static convoy_status check_copy(const convoy_tensor *from, const convoy_tensor *to) {
  if (from->context != to->context)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the tensors belong to different contexts");
  if (from->dtype != to->dtype)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the tensors are of different types, %d and %d",
                    (int)from->dtype, (int)to->dtype);
  bool foreign = from->store->foreign || to->store->foreign;
  if (foreign && !to->context->capture)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                    "wrapped memory belongs to somebody else, who may change it: it is not shared");
  return check_count(to, from->count);
}

static convoy_status note_copy(convoy_tensor *from, convoy_tensor *to) {
  convoy_status status = cvy_capture_check(to->context, "convoy_tensor_copy");
  return status ? status : cvy_capture_copy(to->context->capture, from, to);
}

convoy_status cvy_tensor_copy(convoy_tensor *from, convoy_tensor *to) {
  convoy_status status = check_copy(from, to);
  if (status || from == to) return status;
  if (to->context->capture) return note_copy(from, to);
  cvy_tensor_swap(to, cvy_store_keep(from->store));
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------ waiting, freeing
 */

convoy_status cvy_sync(convoy_context *context) {
  convoy_status status = cvy_begin_wait(context);
  if (!status) status = cvy_device_check(context);
  if (status || !cvy_device_ready(context)) return status;
  status = cvy_await(context, context->last_ticket);
  context->call.interruptible = false; /* of what has been waited for, all is taken */
  if (!status) cvy_commits_take(context);
  /* After a fault what is missing is computed on the CPU when it is needed. */
  bool hidden = context->options.failover && status != CONVOY_ERR_INTERRUPTED;
  return hidden ? CONVOY_OK : status;
}

void cvy_tensor_free(convoy_tensor *tensor) {
  convoy_context *context = tensor->context;
  atomic_fetch_add(&context->references, 1); /* it outlasts its last tensor until it is unlocked */
  cvy_lock(context);
  cvy_capture_freed(tensor);
  cvy_tensor_drop(tensor);
  cvy_unlock(context);
  cvy_pool_drop(context);
}
