/* Public functions on tensors: check pointers, call core. */
#include "api_check.h"
#include "core/contents.h"

convoy_status convoy_tensor_new_typed(convoy_context *context, convoy_dtype dtype, int32_t dims,
                                      const int64_t *shape, convoy_tensor **out) {
  const cvy_pointer given[] = {{"shape", shape}, {"out", out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_tensor_new(context, dtype, dims, shape, out));
}

convoy_status convoy_tensor_new(convoy_context *context, int32_t dims, const int64_t *shape,
                                convoy_tensor **out) {
  return convoy_tensor_new_typed(context, CONVOY_FLOAT32, dims, shape, out);
}

void convoy_tensor_free(convoy_tensor *tensor) {
  if (tensor) cvy_tensor_free(tensor);
}

/* Enters the tensor's context. */
static convoy_status enter(const convoy_tensor *tensor) {
  if (!tensor) return cvy_fail(CONVOY_ERR_ARGUMENT, "tensor is NULL");
  return cvy_enter(tensor->context);
}

convoy_status convoy_tensor_shape(const convoy_tensor *tensor, int64_t *shape, int32_t *dims) {
  const cvy_pointer given[] = {{"shape", shape}, {"dims", dims}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = enter(tensor);
  if (status) return status;
  for (int i = 0; i < CONVOY_MAX_DIMS; i++) shape[i] = tensor->shape[i];
  *dims = tensor->dims;
  return cvy_leave(tensor->context, CONVOY_OK);
}

convoy_status convoy_tensor_dtype(const convoy_tensor *tensor, convoy_dtype *dtype) {
  if (!dtype) return cvy_fail(CONVOY_ERR_ARGUMENT, "dtype is NULL");
  convoy_status status = enter(tensor);
  if (status) return status;
  *dtype = tensor->dtype;
  return cvy_leave(tensor->context, CONVOY_OK);
}

convoy_status convoy_tensor_write(convoy_tensor *tensor, const void *values, int64_t count) {
  if (!values) return cvy_fail(CONVOY_ERR_ARGUMENT, "values is NULL");
  convoy_status status = enter(tensor);
  if (status) return status;
  return cvy_leave(tensor->context, cvy_tensor_write(tensor, values, count));
}

convoy_status convoy_tensor_read(convoy_tensor *tensor, void *values, int64_t count) {
  if (!values) return cvy_fail(CONVOY_ERR_ARGUMENT, "values is NULL");
  convoy_status status = enter(tensor);
  return status ? status : cvy_leave(tensor->context, cvy_tensor_read(tensor, values, count));
}

convoy_status convoy_tensor_copy(const convoy_tensor *from, convoy_tensor *to) {
  if (!from) return cvy_fail(CONVOY_ERR_ARGUMENT, "from is NULL");
  if (!to) return cvy_fail(CONVOY_ERR_ARGUMENT, "to is NULL");
  convoy_status status = cvy_enter(to->context);
  if (status) return status;
  return cvy_leave(to->context, cvy_tensor_copy((convoy_tensor *)(uintptr_t)from, to));
}

static convoy_status refuse_count(int32_t count) {
  return cvy_fail(CONVOY_ERR_ARGUMENT, "count is %d, at least one tensor is needed", (int)count);
}

/* Enters the context of the first of several. */
static convoy_status enter_all(int32_t count, convoy_tensor *const tensors[],
                               const void *const values[], const int64_t counts[]) {
  const cvy_pointer given[] = {{"tensors", tensors}, {"values", values}, {"counts", counts}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  for (int32_t i = 0; i < count && !status; i++) {
    const cvy_pointer pair[] = {{"a tensor in tensors", tensors[i]},
                                {"a pointer in values", values[i]}};
    status = cvy_check_pointers(pair, CVY_COUNT(pair));
  }
  return status ? status : cvy_enter(tensors[0]->context);
}

convoy_status convoy_tensors_write(int32_t count, convoy_tensor *const tensors[],
                                   const void *const values[], const int64_t counts[]) {
  if (count < 1) return refuse_count(count);
  convoy_status status = enter_all(count, tensors, values, counts);
  if (status) return status;
  convoy_context *context = tensors[0]->context;
  return cvy_leave(context, cvy_tensors_write(context, count, tensors, values, counts));
}

convoy_status convoy_tensors_lend(int32_t count, convoy_tensor *const tensors[],
                                  const void *const values[], const int64_t counts[]) {
  if (count < 1) return refuse_count(count);
  convoy_status status = enter_all(count, tensors, values, counts);
  if (status) return status;
  convoy_context *context = tensors[0]->context;
  return cvy_leave(context, cvy_tensors_lend(context, count, tensors, values, counts));
}

convoy_status convoy_return_lent(convoy_context *context) {
  convoy_status status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_stores_own(context));
}

convoy_status convoy_tensors_read(int32_t count, convoy_tensor *const tensors[],
                                  void *const values[], const int64_t counts[]) {
  if (count < 1) return refuse_count(count);
  convoy_status status = enter_all(count, tensors, (const void *const *)values, counts);
  if (status) return status;
  convoy_context *context = tensors[0]->context;
  return cvy_leave(context, cvy_tensors_read(context, count, tensors, values, counts));
}

convoy_status convoy_commit(convoy_tensor *tensor) {
  convoy_status status = enter(tensor);
  return status ? status : cvy_leave(tensor->context, cvy_tensor_commit(tensor));
}
