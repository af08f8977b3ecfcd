/* Carrying out operations: on the device, or on the CPU engine when there is none or it failed. */
#ifndef CVY_RUN_H
#define CVY_RUN_H

#include "core/exec/store.h"

/* Gives `out`, a new store, the operation's values, now or once the device gets to it. */
convoy_status cvy_perform(convoy_context *context, const cvy_op *op, cvy_store *out);
/* Waits for them; after a fault they are computed on the CPU. */
convoy_status cvy_settle(cvy_store *out);
/* On host memory: complete on return, `out` untouched on failure. b and bias may be NULL. */
convoy_status cvy_perform_host(convoy_context *context, const cvy_problem *problem, const float *a,
                               const float *b, const float *bias, float *out);
/* Whether `store`, the output's old one, can take the new values: the CPU computes, and nobody else
 * sees it. That saves a copy when accumulating, and memory that is not in the caches. */
bool cvy_may_overwrite(const convoy_context *context, const cvy_op *op, const cvy_store *store);
/* As cvy_perform_host, on the host memory of stores. */
convoy_status cvy_perform_over(convoy_context *context, const cvy_op *op, cvy_store *store);
/* Describes what the public call has done; the caller's struct_size has been checked. */
void cvy_fill_run(const convoy_context *context, convoy_run *out);

#endif
