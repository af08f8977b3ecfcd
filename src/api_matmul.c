/* Public functions on matrix products. */
#include "api_check.h"
#include "core/operation.h"
#include "problem/matmul/matmul.h"

static convoy_status multiply(convoy_context *context, uint32_t flags,
                              const convoy_tensor *const in[], convoy_tensor *y, convoy_run *run) {
  const convoy_tensor *const all[] = {in[0], in[1], y};
  cvy_problem problem;
  cvy_shape shape;
  convoy_status status = cvy_check_owners(context, all, CVY_COUNT(all));
  if (status) return status;
  cvy_shape a = cvy_tensor_shape(in[0]), b = cvy_tensor_shape(in[1]);
  status = cvy_matmul_make(flags, &a, &b, &problem, &shape);
  if (!status) status = cvy_check_operands(&problem, in, &y);
  if (!status) status = cvy_check_shape("y", y, shape.dims, shape.extent);
  return status ? status : cvy_operate_tensors(context, &problem, in, &y, run);
}

convoy_status convoy_matmul(convoy_context *context, uint32_t flags, const convoy_tensor *a,
                            const convoy_tensor *b, convoy_tensor *y, convoy_run *run) {
  const cvy_pointer given[] = {{"a", a}, {"b", b}, {"y", y}};
  const convoy_tensor *const in[] = {a, b};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, multiply(context, flags, in, y, run));
}

convoy_status convoy_parse_matmul(const char *text, uint32_t *flags, int32_t *dims,
                                  int64_t shapes[][CONVOY_MAX_DIMS]) {
  const cvy_pointer given[] = {
      {"text", text}, {"flags", flags}, {"dims", dims}, {"shapes", shapes}};
  cvy_shape operand[3];
  cvy_problem problem;
  uint32_t read;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status)
    status = cvy_matmul_read(text, &read, &operand[0], &operand[1], &operand[2], &problem);
  if (status) return status;
  *flags = read;
  for (size_t i = 0; i < CVY_COUNT(operand); i++) {
    dims[i] = operand[i].dims;
    for (int32_t axis = 0; axis < CONVOY_MAX_DIMS; axis++)
      shapes[i][axis] = operand[i].extent[axis];
  }
  return CONVOY_OK;
}
