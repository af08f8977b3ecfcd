/* The one entry of public operations, whatever they are: a problem, which the operation's own
 * public functions have made, and its operands. */
#ifndef CVY_OPERATION_H
#define CVY_OPERATION_H

#include "core/tensor.h"

/* As many inputs and outputs as the problem's row says, in its order, none NULL. What is added to
 * is in out[0]. An input may be an output, too; no two outputs are one. `run` may be NULL; its
 * struct_size has been checked, and so have the operands. The context's lock is held. */
convoy_status cvy_operate_host(convoy_context *context, const cvy_problem *problem,
                               const float *const in[], float *const out[], convoy_run *run);
convoy_status cvy_operate_tensors(convoy_context *context, const cvy_problem *problem,
                                  const convoy_tensor *const in[], convoy_tensor *const out[],
                                  convoy_run *run);

/* On foreign memory on the device, by addresses, in its owner's stream; as convoy_enqueue. */
typedef struct cvy_elsewhere {
  uint64_t stream;
  uint64_t in[CVY_MAX_INPUTS], out[CVY_MAX_OUTPUTS];
  uint64_t scratch; /* 0: none */
  int64_t scratch_bytes;
} cvy_elsewhere;
convoy_status cvy_operate_at(convoy_context *context, const cvy_problem *problem,
                             const cvy_elsewhere *at, convoy_run *run);

/* ERR_ARGUMENT for a tensor of another context; NULL is of none. */
convoy_status cvy_check_owners(const convoy_context *context, const convoy_tensor *const tensors[],
                               int32_t count);
/* A tensor that must be float32, ERR_ARGUMENT, and have so many extents, or these: ERR_SHAPE. */
convoy_status cvy_check_dims(const char *name, const convoy_tensor *tensor, int32_t dims);
convoy_status cvy_check_shape(const char *name, const convoy_tensor *tensor, int32_t dims,
                              const int64_t *shape);
/* Tensors against the problem's row, for public functions that do not check shapes in words of
 * their own: ERR_SHAPE where one has not as many elements, ERR_ARGUMENT where two outputs are one.
 */
convoy_status cvy_check_operands(const cvy_problem *problem, const convoy_tensor *const in[],
                                 convoy_tensor *const out[]);

#endif
