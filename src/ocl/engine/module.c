/* The module's one exported symbol: the OpenCL engine as a backend. */
#include "base/build_id.h"
#include "ocl/engine/commands.h"
#include "ocl/engine/device.h"
#include "ocl/engine/observer.h"
#include "ocl/engine/pinned.h"
#include "ocl/engine/runtime/devices.h"
#include "os/os.h"

static convoy_status list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count) {
  runtime_device there[RUNTIME_DEVICES];
  convoy_status status = runtime_devices(options, RUNTIME_DEVICES, there, count);
  for (int32_t i = 0; !status && i < *count && i < capacity; i++) out[i] = there[i].facts;
  return status;
}

static const cvy_facts *facts(const cvy_device *device) {
  return &device->facts;
}

static void usage(const cvy_device *device, cvy_usage *out) {
  arena_counts counts = memory_count(device);
  *out = (cvy_usage){.bytes = counts.bytes,
                     .bytes_peak = counts.peak,
                     .bytes_held = counts.held,
                     .programs_compiled = device->programs.compiled,
                     .programs_cached = device->programs.cached};
}

static const cvy_backend engine = {
    .name = "ocl",
    .algorithms = cvy_ocl_algorithms,
    .list = list,
    .open = engine_open,
    .close = engine_close,
    .facts = facts,
    .execute = engine_execute,
    .host_offer = engine_host_offer,
    .host_withdraw = engine_host_withdraw,
    .plan_step = engine_plan_step,
    .wait = engine_wait,
    .poll = engine_poll,
    .usage = usage,
};

static const cvy_module module = {cvy_build_id, &engine,      cvy_last_error, cvy_set_log,
                                  observer_set, cvy_start_in, runtimes_visit, runtimes_leave};

__attribute__((visibility("default"))) const cvy_module *cvy_module_entry(void);
const cvy_module *cvy_module_entry(void) {
  return &module;
}
