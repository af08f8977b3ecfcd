/* The OpenCL devices there are, and what they say of themselves. */
#ifndef CVY_OCL_ENGINE_OPENCL_DEVICES_H
#define CVY_OCL_ENGINE_OPENCL_DEVICES_H

#include "backend.h"
#include "ocl/engine/opencl/errors.h"

/* The devices of all platforms in order, with their facts; *count gets the number there are. `ids`
 * may be NULL. */
convoy_status opencl_devices(const cvy_open_options *options, cvy_facts *out, cl_device_id *ids,
                             int32_t capacity, int32_t *count);
/* Bytes to which parts of a buffer must be aligned. */
int64_t opencl_alignment(cl_device_id id);
/* Whether the compiler of the device can be told how many registers an item may have. */
bool opencl_takes_registers(cl_device_id id);
/* Stays "" where the platform does not say. */
void opencl_platform_version(cl_device_id id, char *to, size_t size);

#endif
