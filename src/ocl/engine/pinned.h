/* Host memory that the driver has been told of. */
#ifndef CVY_OCL_ENGINE_PINNED_H
#define CVY_OCL_ENGINE_PINNED_H

#include "backend.h"

void engine_host_offer(cvy_device *device, void *memory, int64_t bytes);
void engine_host_withdraw(cvy_device *device, void *memory);
void pinned_close(cvy_device *device);

#endif
