/* Carrying out operations: on the device, or on the CPU engine when there is none or it failed. */
#ifndef CVY_RUN_H
#define CVY_RUN_H

#include "core/exec/store.h"

/* Gives `out`, new stores, the node's results, now or once the device gets to it. */
convoy_status cvy_perform(convoy_context *context, cvy_node *node, cvy_store *const out[]);
/* Waits for them; after a fault they are computed on the CPU. */
convoy_status cvy_settle(cvy_store *out);
/* On host memory: complete on return, `out` untouched on failure. What is added to is in out[0]. */
convoy_status cvy_perform_host(convoy_context *context, const cvy_problem *problem,
                               const float *const in[], float *const out[]);
/* Whether `old`, the outputs' old stores, can take the new values: the CPU computes, and nobody
 * else sees them. That saves a copy when accumulating, and memory that is not in the caches. */
bool cvy_may_overwrite(const convoy_context *context, const cvy_problem *problem,
                       cvy_store *const in[], cvy_store *const old[]);
/* As cvy_perform_host, on the host memory of stores. */
convoy_status cvy_perform_over(convoy_context *context, const cvy_problem *problem,
                               cvy_store *const in[], cvy_store *const old[]);
/* Describes what the public call has done; the caller's struct_size has been checked. */
void cvy_fill_run(const convoy_context *context, convoy_run *out);

#endif
