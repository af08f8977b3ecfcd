/* A tensor: a handle to a store. The public functions on tensors end here. */
#ifndef CVY_TENSOR_H
#define CVY_TENSOR_H

#include "core/exec/store.h"

struct convoy_tensor {
  convoy_context *context;
  convoy_dtype dtype;
  int32_t dims;
  int64_t shape[CONVOY_MAX_DIMS]; /* unused ones 1 */
  int64_t count;
  cvy_store *store;
};

static inline cvy_shape cvy_tensor_shape(const convoy_tensor *tensor) {
  cvy_shape shape = {.dtype = tensor->dtype, .dims = tensor->dims};
  for (int i = 0; i < CONVOY_MAX_DIMS; i++) shape.extent[i] = tensor->shape[i];
  return shape;
}

/* All with the context's lock held, except cvy_tensor_free, which takes it. */
convoy_status cvy_tensor_new(convoy_context *context, convoy_dtype dtype, int32_t dims,
                             const int64_t *shape, convoy_tensor **out);
void cvy_tensor_free(convoy_tensor *tensor);
void cvy_tensor_drop(convoy_tensor *tensor); /* of an open context; NULL allowed */
convoy_status cvy_tensor_write(convoy_tensor *tensor, const void *values, int64_t count);
convoy_status cvy_tensor_read(convoy_tensor *tensor, void *values, int64_t count);
convoy_status cvy_tensor_commit(convoy_tensor *tensor);
/* Takes over the caller's reference to `store` and drops the old one. */
void cvy_tensor_swap(convoy_tensor *tensor, cvy_store *store);
/* Waits for everything enqueued. */
convoy_status cvy_sync(convoy_context *context);

#endif
