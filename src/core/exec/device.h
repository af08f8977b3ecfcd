/* Commands to the context's device, by numbers of arrays. Each is noted for the reports of faults
 * and returns what the backend says of it; what follows from a failure is for exec/recover.h. */
#ifndef CVY_DEVICE_H
#define CVY_DEVICE_H

#include "core/context.h"

/* Whether there is a device that takes commands now. */
bool cvy_device_ready(const convoy_context *context);
/* ERR_DEVICE with the fault's sentence if the device was lost and failover is off, else OK. */
convoy_status cvy_device_check(const convoy_context *context);

/* A new array, contents undefined. Its number is set whether it succeeds or not. */
convoy_status cvy_device_allocate(convoy_context *context, int64_t bytes, uint64_t *array);
/* Array `array`, a new number, as part of another. */
convoy_status cvy_device_part(convoy_context *context, uint64_t array, uint64_t of, int64_t at,
                              int64_t bytes);
/* An array over memory of somebody else, and somebody else's stream, as in backend.h. */
convoy_status cvy_device_adopt(convoy_context *context, uint64_t address, int64_t bytes,
                               uint64_t *array);
convoy_status cvy_device_use_stream(convoy_context *context, uint64_t stream);
convoy_status cvy_device_use_allocator(convoy_context *context, const cvy_allocator *allocator);
convoy_status cvy_device_lend(convoy_context *context, uint64_t address, int64_t bytes,
                              int64_t *taken);
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
convoy_status cvy_device_copy(convoy_context *context, uint64_t from, uint64_t to, int64_t bytes);
convoy_status cvy_device_run(convoy_context *context, const cvy_job *job, int64_t bytes);
/* Plans, as in backend.h. `bytes` are what a run of it computes with. */
convoy_status cvy_device_plan_job(convoy_context *context, uint64_t plan, const cvy_job *job);
convoy_status cvy_device_plan_copy(convoy_context *context, uint64_t plan, cvy_operand from,
                                   cvy_operand to, int64_t bytes);
convoy_status cvy_device_plan_bind(convoy_context *context, uint64_t plan, int32_t count,
                                   const cvy_base *to);
convoy_status cvy_device_plan_tap(convoy_context *context, uint64_t plan, int32_t step, uint64_t to,
                                  int32_t count, const cvy_tap *taps);
convoy_status cvy_device_plan_run(convoy_context *context, uint64_t plan, uint64_t run,
                                  int64_t bytes);
void cvy_device_plan_drop(convoy_context *context, uint64_t plan);
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
convoy_status cvy_device_peak(convoy_context *context, double *gflops, double *gigabytes);

#endif
