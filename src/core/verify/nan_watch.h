/* The NaN watch (option nan_watch): says once per context which value that passed the host was the
 * first to be infinite or not a number. Values that live and die on a device are not seen. */
#ifndef CVY_NAN_WATCH_H
#define CVY_NAN_WATCH_H

#include "core/exec/store.h"

/* What an operation reads, in the order of cvy_op_input; absent ones are NULL. */
void cvy_watch_arrays(convoy_context *context, const cvy_problem *problem,
                      const float *const arrays[CVY_OP_INPUTS]);
/* Those of its inputs that the host has; each store is looked at once. */
void cvy_watch_inputs(convoy_context *context, const cvy_op *op);
void cvy_watch_result(convoy_context *context, const cvy_problem *problem, const float *values);

#endif
