/* The OpenCL devices there are, and what they say of themselves. */
#ifndef CVY_OCL_ENGINE_OPENCL_DEVICES_H
#define CVY_OCL_ENGINE_OPENCL_DEVICES_H

#include "ocl/engine/runtime/runtime.h"

/* The devices of all platforms in order. */
convoy_status opencl_devices(runtime_device *out, int32_t capacity, int32_t *count);
void opencl_traits(const runtime_device *device, runtime_traits *out);

#endif
