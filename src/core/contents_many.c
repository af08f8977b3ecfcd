/* Writing and reading many tensors: all of them or none. */
#include <stdlib.h>
#include <string.h>

#include "core/contents.h"
#include "core/exec/commit.h"
#include "core/exec/together.h"
#include "core/exec/values.h"
#include "core/graph/capture.h"
#include "os/os.h"

static convoy_status check(const convoy_context *context, int32_t i, const convoy_tensor *tensor,
                           int64_t count) {
  if (tensor->context != context)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "tensor %d belongs to another context", (int)i);
  if (tensor->store->foreign)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "tensor %d is wrapped memory, which goes one by one",
                    (int)i);
  if (tensor->count == count) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "count %d is %lld, the tensor has %lld elements", (int)i,
                  (long long)count, (long long)tensor->count);
}

static convoy_status check_all(const convoy_context *context, int32_t count,
                               convoy_tensor *const tensors[], const int64_t counts[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < count && !status; i++) status = check(context, i, tensors[i], counts[i]);
  return status;
}

/* ----------------------------------------------------------------------------------- writing */

/* Weights of an evaluation do not change: what the device has of them stays in use. */
static bool has(const cvy_store *store, const void *values) {
  return store->host && !memcmp(store->host, values, (size_t)store->bytes);
}

static convoy_status copy_all(convoy_context *context, int32_t count,
                              convoy_tensor *const tensors[], const void *const values[],
                              cvy_store **stores) {
  cvy_copy_part *copies = calloc((size_t)count + 1, sizeof *copies);
  int32_t changed = 0;
  if (!copies) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to write %d tensors", (int)count);
  for (int32_t i = 0; i < count; i++) {
    cvy_store *old = tensors[i]->store;
    bool there = has(old, values[i]);
    stores[i] = there ? cvy_store_keep(old) : cvy_store_room(context, old->bytes);
    if (!stores[i]) break;
    if (!there)
      copies[changed++] = (cvy_copy_part){stores[i]->host, values[i], stores[i]->bytes};
  }
  bool complete = stores[count - 1];
  if (complete) cvy_copy_parts(copies, changed, NULL, NULL);
  free(copies);
  return complete ? CONVOY_OK : CONVOY_ERR_MEMORY;
}

static convoy_status borrow_all(convoy_context *context, int32_t count,
                                convoy_tensor *const tensors[], const void *const values[],
                                cvy_store **stores) {
  for (int32_t i = 0; i < count; i++) {
    cvy_store *old = tensors[i]->store;
    bool there = has(old, values[i]);
    stores[i] = there ? cvy_store_keep(old) : cvy_store_borrow(context, values[i], old->bytes);
    if (!stores[i]) return CONVOY_ERR_MEMORY;
  }
  return CONVOY_OK;
}

static void give(convoy_tensor *tensor, cvy_store *store) {
  cvy_capture_written(tensor);
  cvy_tensor_swap(tensor, store);
}

typedef convoy_status make_stores(convoy_context *context, int32_t count,
                                  convoy_tensor *const tensors[], const void *const values[],
                                  cvy_store **stores);

static convoy_status give_all(convoy_context *context, int32_t count,
                              convoy_tensor *const tensors[], const void *const values[],
                              const int64_t counts[], make_stores *make) {
  convoy_status status = check_all(context, count, tensors, counts);
  if (status) return status;
  cvy_store **stores = calloc((size_t)count + 1, sizeof *stores);
  if (!stores) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to write %d tensors", (int)count);
  status = make(context, count, tensors, values, stores);
  for (int32_t i = 0; i < count; i++) {
    if (status)
      cvy_store_drop(stores[i]);
    else
      give(tensors[i], stores[i]);
  }
  free(stores);
  return status;
}

convoy_status cvy_tensors_write(convoy_context *context, int32_t count,
                                convoy_tensor *const tensors[], const void *const values[],
                                const int64_t counts[]) {
  return give_all(context, count, tensors, values, counts, copy_all);
}

convoy_status cvy_tensors_lend(convoy_context *context, int32_t count,
                               convoy_tensor *const tensors[], const void *const values[],
                               const int64_t counts[]) {
  return give_all(context, count, tensors, values, counts, borrow_all);
}

/* ----------------------------------------------------------------------------------- reading */

/* What the device does not bring where it is wanted it is asked for before: for small ones side by
 * side by one command, for the others before any of them is waited for. */
static convoy_status fetch_all(int32_t count, cvy_store *const stores[]) {
  convoy_status status = cvy_fetch_together(count, stores);
  for (int32_t i = 0; i < count && !status; i++) status = cvy_commit(stores[i]);
  for (int32_t i = 0; i < count && !status; i++) status = cvy_store_fetch(stores[i]);
  return status;
}

static convoy_status fetch_others(int32_t count, convoy_tensor *const tensors[],
                                  void *const values[]) {
  cvy_store **stores = calloc((size_t)count + 1, sizeof *stores);
  if (!stores) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read %d tensors", (int)count);
  int32_t others = 0;
  for (int32_t i = 0; i < count; i++)
    if (!cvy_store_is_direct(tensors[i]->store, values[i])) stores[others++] = tensors[i]->store;
  convoy_status status = fetch_all(others, stores);
  free(stores);
  return status;
}

static convoy_status read_directly(int32_t count, convoy_tensor *const tensors[],
                                   void *const values[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < count && !status; i++)
    if (cvy_store_is_direct(tensors[i]->store, values[i]))
      status = cvy_store_read(tensors[i]->store, values[i]);
  return status;
}

/* What was not read directly. */
static convoy_status copy_out(int32_t count, convoy_tensor *const tensors[], void *const values[]) {
  cvy_copy_part *copies = calloc((size_t)count + 1, sizeof *copies);
  if (!copies) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read %d tensors", (int)count);
  int32_t left = 0;
  for (int32_t i = 0; i < count; i++) {
    const cvy_store *store = tensors[i]->store;
    if (store->host) copies[left++] = (cvy_copy_part){values[i], store->host, store->bytes};
  }
  cvy_copy_parts(copies, left, NULL, NULL);
  free(copies);
  return CONVOY_OK;
}

convoy_status cvy_tensors_read(convoy_context *context, int32_t count,
                               convoy_tensor *const tensors[], void *const values[],
                               const int64_t counts[]) {
  convoy_status status = check_all(context, count, tensors, counts);
  if (!status) status = cvy_capture_refuses(context, "convoy_tensors_read");
  if (!status) status = cvy_begin_wait(context);
  if (!status) status = fetch_others(count, tensors, values);
  if (!status) status = read_directly(count, tensors, values);
  return status ? status : copy_out(count, tensors, values);
}
