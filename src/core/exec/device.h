/* Commands to the context's device, by numbers of arrays. Each is noted for the reports of faults
 * and returns what the backend says of it; what follows from a failure is for exec/recover.h. */
#ifndef CVY_DEVICE_H
#define CVY_DEVICE_H

#include "core/context.h"

/* Whether there is a device that takes commands now. */
bool cvy_device_ready(const convoy_context *context);
/* ERR_DEVICE with the fault's sentence if the device was lost and failover is off, else OK. */
convoy_status cvy_device_check(const convoy_context *context);

/* Gives it a command; `context->last_ticket` is the newest one's that has a ticket. */
convoy_status cvy_device_execute(convoy_context *context, const cvy_command *command);
/* The same of one that answers. */
convoy_status cvy_device_ask(convoy_context *context, const cvy_command *command, cvy_reply *reply);
/* Whether the job would be recorded in that stream, and can be. */
convoy_status cvy_device_recording(convoy_context *context, const cvy_job *job, cvy_recording *out);
/* Waits until everything up to `ticket` is in the device's queue. */
convoy_status cvy_device_begun(convoy_context *context, uint64_t ticket);
/* Never fails: without a device there is nothing to release. */
void cvy_device_release(convoy_context *context, uint64_t array);
/* `values` NULL: zeros. */
convoy_status cvy_device_fill(convoy_context *context, uint64_t array, const float *values,
                              int64_t bytes);
convoy_status cvy_device_pack(convoy_context *context, uint64_t array, int32_t count,
                              const cvy_packed *parts, int64_t bytes);
/* A job, or a plan; `bytes` are what it makes. */
convoy_status cvy_device_run(convoy_context *context, const cvy_command *command, int64_t bytes);
/* Waits for everything up to `ticket`; *fault: the first command that failed. */
convoy_status cvy_device_wait(convoy_context *context, uint64_t ticket,
                              const volatile int *interrupt, uint64_t *fault);
convoy_status cvy_device_read(convoy_context *context, uint64_t array, float *to, int64_t bytes);
/* Reading in two halves, as in backend.h; *ticket 0: there is no room. */
convoy_status cvy_device_fetch(convoy_context *context, uint64_t array, int64_t bytes,
                               uint64_t *ticket);
bool cvy_device_fetched(const convoy_context *context, uint64_t ticket);
convoy_status cvy_device_collect(convoy_context *context, uint64_t ticket, float *to,
                                 int64_t bytes);

#endif
