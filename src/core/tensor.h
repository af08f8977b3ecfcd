/* A tensor: a handle to a store. */
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
  int references; /* the user's, until it frees the tensor, and those of captures and graphs */
  bool freed;     /* the user's is gone */
  bool captured;  /* the open capture has it in its list */
  int32_t value;  /* there: 1 + the number of what it stands for, 0: what it has */
  int32_t stage;  /* and the stage in which it has come to stand for that */
  bool written;   /* by an operation of the capture, be it with what it had */
  int32_t marked; /* for the length of a function, with the lock held: not 0 for one of a list */
};

static inline cvy_shape cvy_tensor_shape(const convoy_tensor *tensor) {
  cvy_shape shape = {.dtype = tensor->dtype, .dims = tensor->dims};
  for (int i = 0; i < CONVOY_MAX_DIMS; i++) shape.extent[i] = tensor->shape[i];
  return shape;
}

/* All with the context's lock held. */
convoy_status cvy_tensor_new(convoy_context *context, convoy_dtype dtype, int32_t dims,
                             const int64_t *shape, convoy_tensor **out);
/* Over foreign memory on the device, `bytes` at `address`. */
convoy_status cvy_tensor_wrap(convoy_context *context, convoy_dtype dtype, int32_t dims,
                              const int64_t *shape, uint64_t address, int64_t bytes,
                              convoy_tensor **out);
/* Over other memory from now on, of the same sizes; all of them or none. */
convoy_status cvy_tensors_rewrap(convoy_context *context, int32_t count,
                                 convoy_tensor *const tensors[], void *const memory[]);
/* One reference less; with the last the tensor goes, and perhaps its closed context. NULL allowed.
 */
void cvy_tensor_drop(convoy_tensor *tensor);
/* Takes over the caller's reference to `store` and drops the old one. */
void cvy_tensor_swap(convoy_tensor *tensor, cvy_store *store);

#endif
