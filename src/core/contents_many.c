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
    if (!there) copies[changed++] = (cvy_copy_part){stores[i]->host, values[i], stores[i]->bytes};
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

/* A read of many. */
typedef struct reading {
  int32_t count, others, made;
  convoy_tensor *const *tensors;
  void *const *values;
  cvy_store **other; /* not brought by the device to where they are wanted */
  cvy_span *spans;
  cvy_copy_part *copies;
} reading;

static cvy_store *store_of(const reading *r, int32_t i) {
  return r->tensors[i]->store;
}

/* For small ones side by side the device is asked by one command, for the others before any of them
 * is waited for. */
static convoy_status read_others(reading *r) {
  for (int32_t i = 0; i < r->count; i++)
    if (!cvy_store_is_direct(store_of(r, i), r->values[i])) r->other[r->others++] = store_of(r, i);
  convoy_status status = cvy_read_together(r->others, r->other, r->spans, &r->made);
  for (int32_t i = 0; i < r->others && !status; i++)
    if (!r->other[i]->arrived) status = cvy_commit(r->other[i]);
  for (int32_t i = 0; i < r->others && !status; i++)
    if (!r->other[i]->arrived) status = cvy_store_fetch(r->other[i]);
  return status;
}

static convoy_status read_directly(const reading *r) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < r->count && !status; i++) {
    cvy_store *store = store_of(r, i);
    if (!store->arrived && cvy_store_is_direct(store, r->values[i]))
      status = cvy_store_read(store, r->values[i]);
  }
  return status;
}

/* What was not read directly. */
static void copy_out(const reading *r) {
  int32_t left = 0;
  for (int32_t i = 0; i < r->count; i++) {
    const cvy_store *store = store_of(r, i);
    const float *values = store->arrived ? store->arrived : store->host;
    if (values) r->copies[left++] = (cvy_copy_part){r->values[i], values, store->bytes};
  }
  cvy_copy_parts(r->copies, left, NULL, NULL);
}

static convoy_status read_all(reading *r) {
  convoy_status status = read_others(r);
  if (!status) status = read_directly(r);
  if (!status) copy_out(r);
  cvy_spans_drop(r->made, r->spans, r->others, r->other);
  return status;
}

convoy_status cvy_tensors_read(convoy_context *context, int32_t count,
                               convoy_tensor *const tensors[], void *const values[],
                               const int64_t counts[]) {
  convoy_status status = check_all(context, count, tensors, counts);
  if (!status) status = cvy_capture_refuses(context, "convoy_tensors_read");
  if (!status) status = cvy_begin_wait(context);
  if (status) return status;
  size_t room = (size_t)count + 1;
  reading r = {.count = count, .tensors = tensors, .values = values};
  r.other = calloc(room, sizeof *r.other);
  r.spans = calloc(room, sizeof *r.spans);
  r.copies = calloc(room, sizeof *r.copies);
  status = r.other && r.spans && r.copies
               ? read_all(&r)
               : cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read %d tensors", (int)count);
  free(r.other);
  free(r.spans);
  free(r.copies);
  return status;
}
