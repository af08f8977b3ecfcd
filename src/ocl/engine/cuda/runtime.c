/* CUDA's row of the seam: libcuda.so.1, which comes with NVIDIA's driver. */
#include "ocl/engine/cuda/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ocl/engine/cuda/ptx.h"
#include "ocl/engine/driver/row.h"

/* What HIP has no part in. */
typedef struct cuda_calls {
  driver_calls common;
  int (*retain)(void **context, int device);
  int (*release)(int device);
  int (*set_current)(void *context);
  int (*get_current)(void **context);
  int (*error_name)(int code, const char **out);
} cuda_calls;

#define SYMBOL(name, member) \
  { name, offsetof(cuda_calls, member), false }
#define OPTIONAL(name, member) \
  { name, offsetof(cuda_calls, member), true }
static const driver_symbol symbols[] = {
    SYMBOL("cuInit", common.init),
    SYMBOL("cuDriverGetVersion", common.version),
    SYMBOL("cuDeviceGetCount", common.count),
    SYMBOL("cuDeviceGet", common.device),
    SYMBOL("cuDeviceGetName", common.name),
    SYMBOL("cuDeviceTotalMem_v2", common.memory_bytes),
    SYMBOL("cuDeviceGetAttribute", common.attribute),
    SYMBOL("cuDeviceGetPCIBusId", common.bus),
    SYMBOL("cuStreamCreate", common.stream),
    SYMBOL("cuStreamDestroy_v2", common.stream_release),
    SYMBOL("cuStreamSynchronize", common.stream_wait),
    SYMBOL("cuStreamWaitEvent", common.stream_wait_event),
    OPTIONAL("cuStreamIsCapturing", common.stream_recording),
    OPTIONAL("cuThreadExchangeStreamCaptureMode", common.exchange_mode),
    SYMBOL("cuMemAlloc_v2", common.memory),
    SYMBOL("cuMemFree_v2", common.memory_release),
    SYMBOL("cuMemHostRegister_v2", common.pin),
    SYMBOL("cuMemHostUnregister", common.unpin),
    SYMBOL("cuMemcpyHtoDAsync_v2", common.write),
    SYMBOL("cuMemcpyDtoHAsync_v2", common.read),
    SYMBOL("cuMemcpyDtoDAsync_v2", common.copy),
    SYMBOL("cuMemsetD8Async", common.fill),
    SYMBOL("cuEventCreate", common.event),
    SYMBOL("cuEventRecord", common.event_record),
    SYMBOL("cuEventQuery", common.event_query),
    SYMBOL("cuEventSynchronize", common.event_wait),
    SYMBOL("cuEventDestroy_v2", common.event_release),
    SYMBOL("cuModuleLoadDataEx", common.load),
    SYMBOL("cuModuleUnload", common.unload),
    SYMBOL("cuModuleGetFunction", common.function),
    SYMBOL("cuLaunchKernel", common.launch),
    SYMBOL("cuDevicePrimaryCtxRetain", retain),
    SYMBOL("cuDevicePrimaryCtxRelease_v2", release),
    SYMBOL("cuCtxSetCurrent", set_current),
    SYMBOL("cuCtxGetCurrent", get_current),
    SYMBOL("cuGetErrorName", error_name),
    {NULL, 0, false}};
#undef SYMBOL
#undef OPTIONAL

static const char *const libraries[] = {"libcuda.so.1", NULL};
static cuda_calls calls;
static atomic_bool usable;

enum { NO_DEVICE = 100 };

static const char *error_name(int code) {
  const char *name = NULL;
  return calls.error_name(code, &name) == 0 ? name : NULL;
}

static void load(void) {
  if (!driver_load(libraries, symbols, &calls)) return;
  int code = calls.common.init(0);
  usable = code == 0;
  if (code && code != NO_DEVICE) {
    const char *name = error_name(code);
    cvy_log(CONVOY_LOG_WARNING, "CUDA is not usable: %s (%d)", name ? name : "unnamed error", code);
  }
}

static const driver_calls *calls_of(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return usable ? &calls.common : NULL;
}

/* The context that all who use the device in this process share. */
static int open_device(int device, void **context) {
  return calls.retain(context, device);
}

static void close_device(int device, void *context) {
  (void)context;
  calls.release(device);
}

static int enter(int device, void *context) {
  (void)device;
  return calls.set_current(context);
}

/* ------------------------------------------------------------------------ a framework's thread
 */

/* What was recorded on it stays so, but what is done meanwhile may also wait and allocate. */
static bool visit(int32_t *mode, void **context) {
  *mode = DRIVER_MODE_RELAXED;
  if (!usable || calls.get_current(context)) return false;
  if (calls.common.exchange_mode) calls.common.exchange_mode(mode);
  return true;
}

static void leave(int32_t mode, void *context) {
  calls.set_current(context);
  if (calls.common.exchange_mode) calls.common.exchange_mode(&mode);
}

static const gpu_driver cuda = {
    .name = "cuda",
    .platform = "CUDA",
    .runtime = CVY_RUNTIME_CUDA,
    .units = 16,
    .clock = 13,
    .local_memory = 8,
    .work_group = 1,
    .width = 10,
    .major = 1000,
    .minor = 10,
    .calls = calls_of,
    .error_name = error_name,
    .open = open_device,
    .close = close_device,
    .enter = enter,
    .prepare = cuda_ptx_prepare,
};

static convoy_status list(runtime_device *out, int32_t capacity, int32_t *count) {
  return driver_devices(&cuda, out, capacity, count);
}

static convoy_status open_queue(const runtime_device *device, runtime_queue **out,
                                runtime_traits *traits) {
  return driver_open(&cuda, device, out, traits);
}

static const char *name_of(int32_t code) {
  return driver_error_name(&cuda, code);
}

static convoy_status fail(int32_t code, const char *what) {
  return driver_fail(&cuda, code, what);
}

const runtime cuda_runtime = {
    .name = "cuda",
    .list = list,
    .open = open_queue,
    .error_name = name_of,
    .fail = fail,
    .visit = visit,
    .leave = leave,
    DRIVER_FUNCTIONS,
};
