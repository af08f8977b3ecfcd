/* Opening and ending the context's engines. */
#ifndef CVY_LIFETIME_H
#define CVY_LIFETIME_H

#include "core/context.h"

convoy_status cvy_engine_open(const cvy_backend *backend, int32_t index, const cvy_options *options,
                              cvy_engine *out);
/* Opens the context's device, with what is kept of it between runs. */
convoy_status cvy_device_open(convoy_context *context, const cvy_backend *backend, int32_t index);
/* Ends the device; its stores keep what the host has. */
void cvy_device_close(convoy_context *context);
/* In a child made by fork(): forgets the parent's device without touching it. */
void cvy_device_forget(convoy_context *context);

#endif
