/* Handles: making them, and letting go of them. */
#include "core/tensor.h"

#include <stdlib.h>

#include "core/exec/foreign.h"

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
  tensor->references = 1;
  tensor->dtype = dtype;
  tensor->dims = dims;
  tensor->count = count;
  for (int32_t i = 0; i < CONVOY_MAX_DIMS; i++) tensor->shape[i] = i < dims ? shape[i] : 1;
  atomic_fetch_add(&context->references, 1);
  *out = tensor;
  return CONVOY_OK;
}

convoy_status cvy_tensor_wrap(convoy_context *context, convoy_dtype dtype, int32_t dims,
                              const int64_t *shape, uint64_t address, int64_t bytes,
                              convoy_tensor **out) {
  convoy_tensor *tensor;
  cvy_store *store = NULL;
  convoy_status status = cvy_tensor_new(context, dtype, dims, shape, &tensor);
  if (status) return status;
  if (tensor->store->bytes != bytes)
    status = cvy_fail(CONVOY_ERR_SHAPE, "the memory has %lld bytes, the extents need %lld",
                      (long long)bytes, (long long)tensor->store->bytes);
  if (!status) status = cvy_foreign_new(context, address, bytes, &store);
  if (status) {
    cvy_tensor_drop(tensor);
    return status;
  }
  cvy_tensor_swap(tensor, store);
  *out = tensor;
  return CONVOY_OK;
}

static convoy_status check_wrapped(const convoy_context *context, int32_t i,
                                   const convoy_tensor *tensor) {
  if (tensor->context != context)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "tensor %d belongs to another context", (int)i);
  if (tensor->store->foreign) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "tensor %d is no wrapped memory", (int)i);
}

/* Stores over other memory for those that get some; NULL for the others. */
static convoy_status adopt_all(convoy_context *context, int32_t count,
                               convoy_tensor *const tensors[], void *const memory[],
                               cvy_store **stores) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < count && !status; i++) {
    status = check_wrapped(context, i, tensors[i]);
    if (status) break;
    const cvy_store *old = tensors[i]->store;
    uint64_t address = (uint64_t)(uintptr_t)memory[i];
    if (old->address != address || (!old->array && old->bytes > 0))
      status = cvy_foreign_new(context, address, old->bytes, &stores[i]);
  }
  return status;
}

convoy_status cvy_tensors_rewrap(convoy_context *context, int32_t count,
                                 convoy_tensor *const tensors[], void *const memory[]) {
  cvy_store **stores = calloc((size_t)count + 1, sizeof *stores);
  if (!stores) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to move %d tensors", (int)count);
  convoy_status status = adopt_all(context, count, tensors, memory, stores);
  for (int32_t i = 0; i < count; i++) {
    if (status)
      cvy_store_drop(stores[i]);
    else if (stores[i])
      cvy_tensor_swap(tensors[i], stores[i]);
  }
  free(stores);
  return status;
}

void cvy_tensor_drop(convoy_tensor *tensor) {
  if (!tensor || --tensor->references > 0) return;
  convoy_context *context = tensor->context;
  cvy_store_drop(tensor->store);
  free(tensor);
  cvy_pool_drop(context);
}

void cvy_tensor_swap(convoy_tensor *tensor, cvy_store *store) {
  cvy_store *old = tensor->store;
  tensor->store = store;
  cvy_store_drop(old);
}
