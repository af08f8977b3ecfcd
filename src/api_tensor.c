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

convoy_status convoy_commit(convoy_tensor *tensor) {
  convoy_status status = enter(tensor);
  return status ? status : cvy_leave(tensor->context, cvy_tensor_commit(tensor));
}
