/* One list of the devices of all runtimes. */
#include "ocl/engine/runtime/devices.h"

#include "ocl/engine/opencl/runtime.h"

convoy_status runtime_devices(const cvy_open_options *options, runtime_device *out,
                              int32_t *count) {
  convoy_status status = opencl_runtime.list(out, RUNTIME_DEVICES, count);
  if (*count > RUNTIME_DEVICES) *count = RUNTIME_DEVICES;
  for (int32_t i = 0; !status && i < *count; i++) {
    out[i].runtime = &opencl_runtime;
    out[i].facts.workspace_limit = options->workspace_limit;
  }
  return status;
}
