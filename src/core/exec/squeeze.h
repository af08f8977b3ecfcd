/* Operations for which the device had too little memory: carried out there all the same, with less. */
#ifndef CVY_SQUEEZE_H
#define CVY_SQUEEZE_H

#include "core/exec/store.h"

/* Gives up what is on the device and on the host too, then takes the algorithm that needs the least
 * scratch memory, then splits the batch into ever more pieces, until the operation goes through; that
 * is reported. `values` gets the result. ERR_MEMORY if nothing helped, or what else the device fails
 * with; `values` is undefined then. */
convoy_status cvy_squeeze(convoy_context *context, const cvy_op *op, float *values);

#endif
