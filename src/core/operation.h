/* From the arguments of a public operation to a problem and its operands. */
#ifndef CVY_OPERATION_H
#define CVY_OPERATION_H

#include "core/tensor.h"

/* Operands in the order of the public calls: first and second are read, out is written.
 *   forward x, w, y · backward_data dy, w, dx · backward_weights x, dy, dw · backward_bias dy, -, db
 */
typedef struct cvy_host_operation {
  convoy_direction direction;
  const convoy_conv *conv;
  const int64_t *x_shape, *w_shape;
  const float *first, *second, *bias;
  const convoy_epilogue *epilogue;
  float beta;
  float *out;
} cvy_host_operation;

typedef struct cvy_tensor_operation {
  convoy_direction direction;
  const convoy_conv *conv;
  const convoy_tensor *first, *second, *bias;
  const convoy_epilogue *epilogue;
  float beta;
  convoy_tensor *out;
} cvy_tensor_operation;

/* `run` may be NULL; its struct_size has been checked. The context's lock is held. */
convoy_status cvy_operate_host(convoy_context *context, const cvy_host_operation *operation,
                               convoy_run *run);
convoy_status cvy_operate_tensors(convoy_context *context, const cvy_tensor_operation *operation,
                                  convoy_run *run);

#endif
