/* Commands to the context's device. A command that fails has been dealt with when it returns: the
 * fault is reported, stores without good values are marked, the device is mended or given up. The
 * caller only has to go elsewhere. */
#ifndef CVY_DEVICE_H
#define CVY_DEVICE_H

#include "core/store.h"

/* Carries out the operation; `out` has its values on the device then. */
convoy_status cvy_device_perform(convoy_context *context, const cvy_op *op,
                                 const cvy_choice *choice, cvy_store *out);
/* Waits for the store's values and copies them out; `to` is undefined on failure. */
convoy_status cvy_device_read(cvy_store *store, float *to);
/* Asks the device to copy the store's values out, without waiting; *ticket 0: there is no room. */
convoy_status cvy_device_fetch(const cvy_store *store, uint64_t *ticket);
/* Waits for everything up to `ticket`. ERR_INTERRUPTED if the call may be interrupted and was. */
convoy_status cvy_device_wait(convoy_context *context, uint64_t ticket);
/* The store's values there are wrong, as the last error says: a fault like any other. What command
 * `first` and later ones wrote is not used any more. Returns ERR_WRONG. */
convoy_status cvy_device_wrong(cvy_store *store, uint64_t first);
convoy_status cvy_device_peak(convoy_context *context, double *gflops, double *gigabytes);
/* ERR_DEVICE with the fault's sentence if the device was lost and failover is off, else OK. */
convoy_status cvy_device_check(const convoy_context *context);
/* A device at rest is tried again. */
void cvy_device_wake(convoy_context *context);
/* Whether there is a device that takes commands now. */
bool cvy_device_ready(const convoy_context *context);
/* Never fails: without a device there is nothing to release. */
void cvy_device_release(convoy_context *context, uint64_t array);

/* Ends the device; its stores keep what the host has. */
void cvy_device_close(convoy_context *context);
/* In a child made by fork(): forgets the parent's device without touching it. */
void cvy_device_forget(convoy_context *context);

#endif
