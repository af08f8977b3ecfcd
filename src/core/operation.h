/* The one entry of public operations, whatever they are: a problem, which the operation's own
 * public functions have made, and its operands. */
#ifndef CVY_OPERATION_H
#define CVY_OPERATION_H

#include "core/tensor.h"

/* As many inputs and outputs as the problem's row says, in its order, none NULL. What is added to
 * is in out[0]. An input may be an output, too; no two outputs are one. `run` may be NULL; its
 * struct_size has been checked. The context's lock is held. */
convoy_status cvy_operate_host(convoy_context *context, const cvy_problem *problem,
                               const float *const in[], float *const out[], convoy_run *run);
convoy_status cvy_operate_tensors(convoy_context *context, const cvy_problem *problem,
                                  const convoy_tensor *const in[], convoy_tensor *const out[],
                                  convoy_run *run);

/* For public functions that look at tensors before: ERR_ARGUMENT for one of another context. NULL
 * is none of any. */
convoy_status cvy_check_owners(const convoy_context *context, const convoy_tensor *const tensors[],
                               int32_t count);

#endif
