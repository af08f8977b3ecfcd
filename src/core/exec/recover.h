/* What follows from a failure of the device: it is reported, counted and written down, stores
 * without good values are marked, the device is made usable again, suspended or closed for good.
 * The caller only has to compute elsewhere. */
#ifndef CVY_RECOVER_H
#define CVY_RECOVER_H

#include "core/exec/store.h"

/* A command failed with `status` and the last error's sentence; which one, the device is asked.
 * Returns the fault's status with its sentence. */
convoy_status cvy_recover(convoy_context *context, convoy_status status);
/* The operation's result is wrong, as the last error says: a fault like any other. What command
 * `first` and later ones wrote is not used any more. Returns ERR_WRONG. */
convoy_status cvy_recover_wrong(convoy_context *context, const cvy_carried_out *what,
                                uint64_t first);
/* A suspended device is tried again. */
void cvy_device_wake(convoy_context *context);

#endif
