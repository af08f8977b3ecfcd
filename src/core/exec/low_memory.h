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

#endif
