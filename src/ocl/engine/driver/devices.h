/* The devices that a driver has. */
#ifndef CVY_OCL_ENGINE_DRIVER_DEVICES_H
#define CVY_OCL_ENGINE_DRIVER_DEVICES_H

#include "ocl/engine/driver/driver.h"

convoy_status driver_devices(const gpu_driver *driver, runtime_device *out, int32_t capacity,
                             int32_t *count);
/* A device's number with the driver. */
int driver_number(const runtime_device *device);

#endif
