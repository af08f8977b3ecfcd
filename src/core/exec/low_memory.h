/* Operations for which the device had too little memory: carried out there all the same, with
 * less. */
#ifndef CVY_LOW_MEMORY_H
#define CVY_LOW_MEMORY_H

#include "core/exec/store.h"

/* Evicts what is on the device and on the host too, then takes the algorithm that needs the least
 * scratch memory, then splits the batch into ever more pieces, until the operation goes through;
 * that is reported. A batch whose images depend on one another is never split. `values` gets the
 * results. ERR_MEMORY if nothing helped, or what else the device fails with; `values` is undefined
 * then. */
convoy_status cvy_low_memory_run(convoy_context *context, const cvy_node *node,
                                 float *const values[]);

/* Takes off the device what the host has, too, and what graphs use only while they run. */
void cvy_evict(convoy_context *context);
/* Gives back the device memory that graphs use only while they run (graph/shared_memory.h): the
 * next run takes it again. */
void cvy_shared_blocks_let_go(convoy_context *context);

#endif
