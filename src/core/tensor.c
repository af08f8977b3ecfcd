/* Tensors: making, writing, reading. Writing never waits: it gives the tensor a new store. */
#include "core/tensor.h"

#include <stdlib.h>

#include "core/exec/commit.h"
#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/values.h"

static convoy_status count_elements(convoy_dtype dtype, int32_t dims, const int64_t *shape,
                                    int64_t *count) {
  int64_t bytes = cvy_dtype_bytes(dtype);
  *count = 1;
  for (int32_t i = 0; i < dims; i++) {
    if (shape[i] < 0) {
      return cvy_fail(CONVOY_ERR_SHAPE, "extent %d is %lld, it may not be negative", (int)i,
                      (long long)shape[i]);
    }
    if (__builtin_mul_overflow(bytes, shape[i] ? shape[i] : 1, &bytes)) {
      return cvy_fail(CONVOY_ERR_SHAPE, "the byte count overflows at extent %d, %lld", (int)i,
                      (long long)shape[i]);
    }
    *count *= shape[i];
  }
  return CONVOY_OK;
}

convoy_status cvy_tensor_new(convoy_context *context, convoy_dtype dtype, int32_t dims,
                             const int64_t *shape, convoy_tensor **out) {
  if ((unsigned)dtype >= CONVOY_DTYPES) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "dtype is %d, legal are 0 to %d", (int)dtype,
                    CONVOY_DTYPES - 1);
  }
  if (dims < 1 || dims > CONVOY_MAX_DIMS) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "dims is %d; it may be 1 to %d", (int)dims,
                    CONVOY_MAX_DIMS);
  }
  int64_t count;
  convoy_status status = count_elements(dtype, dims, shape, &count);
  if (status) return status;
  convoy_tensor *tensor = calloc(1, sizeof(*tensor));
  if (!tensor) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a tensor");
  tensor->store = cvy_store_new(context, count * cvy_dtype_bytes(dtype));
  if (!tensor->store) {
    free(tensor);
    return CONVOY_ERR_MEMORY;
  }
  tensor->context = context;
  tensor->dtype = dtype;
  tensor->dims = dims;
  tensor->count = count;
  for (int32_t i = 0; i < CONVOY_MAX_DIMS; i++) tensor->shape[i] = i < dims ? shape[i] : 1;
  atomic_fetch_add(&context->references, 1);
  *out = tensor;
  return CONVOY_OK;
}

/* The handle, whose store is dropped. */
static void give_up(convoy_tensor *tensor) {
  convoy_context *context = tensor->context;
  free(tensor);
  cvy_pool_drop(context);
}

void cvy_tensor_free(convoy_tensor *tensor) {
  cvy_lock(tensor->context);
  cvy_store_drop(tensor->store);
  cvy_unlock(tensor->context);
  give_up(tensor);
}

void cvy_tensor_drop(convoy_tensor *tensor) {
  if (!tensor) return;
  cvy_store_drop(tensor->store);
  give_up(tensor);
}

void cvy_tensor_swap(convoy_tensor *tensor, cvy_store *store) {
  cvy_store *old = tensor->store;
  tensor->store = store;
  cvy_store_drop(old);
}

static convoy_status check_count(const convoy_tensor *tensor, int64_t count) {
  if (count == tensor->count) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "count is %lld, the tensor has %lld elements", (long long)count,
                  (long long)tensor->count);
}

convoy_status cvy_tensor_write(convoy_tensor *tensor, const void *values, int64_t count) {
  convoy_status status = check_count(tensor, count);
  if (status) return status;
  cvy_store *store = cvy_store_copy(tensor->context, values, tensor->store->bytes);
  if (!store) return CONVOY_ERR_MEMORY;
  cvy_tensor_swap(tensor, store);
  return CONVOY_OK;
}

/* An interruption that came before the wait began counts too. */
static convoy_status begin_wait(convoy_context *context) {
  context->call.interruptible = true;
  if (!__atomic_exchange_n(&context->interrupt, 0, __ATOMIC_RELAXED)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "convoy_interrupt() was called");
}

convoy_status cvy_tensor_commit(convoy_tensor *tensor) {
  convoy_status status = begin_wait(tensor->context);
  return status ? status : cvy_commit(tensor->store);
}

convoy_status cvy_tensor_read(convoy_tensor *tensor, void *values, int64_t count) {
  convoy_status status = check_count(tensor, count);
  if (!status) status = begin_wait(tensor->context);
  return status ? status : cvy_store_read(tensor->store, values);
}

convoy_status cvy_sync(convoy_context *context) {
  convoy_status status = begin_wait(context);
  if (!status) status = cvy_device_check(context);
  if (status || !cvy_device_ready(context)) return status;
  status = cvy_await(context, context->last_ticket);
  context->call.interruptible = false; /* of what has been waited for, all is taken */
  if (!status) cvy_commits_take(context);
  /* After a fault what is missing is computed on the CPU when it is needed. */
  bool hidden = context->options.failover && status != CONVOY_ERR_INTERRUPTED;
  return hidden ? CONVOY_OK : status;
}
