/* Host memory that the driver has been told of. */
#ifndef CVY_OCL_ENGINE_PINNED_H
#define CVY_OCL_ENGINE_PINNED_H

#include "backend.h"

void engine_host_offer(cvy_device *device, void *memory, int64_t bytes);
void engine_host_withdraw(cvy_device *device, void *memory);
void pinned_close(cvy_device *device);
/* Whether [at, at + bytes) lies in memory that was offered, and taken. */
bool pinned_has(const cvy_device *device, const void *at, int64_t bytes);

#endif
