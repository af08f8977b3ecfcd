/* HIP's row of the seam: libamdhip64, which comes with ROCm and with PyTorch for it. Kernels of
 * OpenCL C ask for the same hidden arguments as HIP's own, so a launch fills them in. */
#include "ocl/engine/hip/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ocl/engine/driver/row.h"
#include "ocl/engine/hip/comgr.h"

/* What CUDA has no part in. */
typedef struct hip_calls {
  driver_calls common;
  int (*set_device)(int device);
  int (*get_device)(int *out);
  const char *(*error_name)(int code);
  int (*properties)(void *out, int device);       /* since ROCm 6 */
  int (*older_properties)(void *out, int device); /* of another layout */
} hip_calls;

#define SYMBOL(name, member) \
  { name, offsetof(hip_calls, member), false }
#define OPTIONAL(name, member) \
  { name, offsetof(hip_calls, member), true }
static const driver_symbol symbols[] = {
    SYMBOL("hipInit", common.init),
    SYMBOL("hipDriverGetVersion", common.version),
    SYMBOL("hipGetDeviceCount", common.count),
    SYMBOL("hipDeviceGet", common.device),
    SYMBOL("hipDeviceGetName", common.name),
    SYMBOL("hipDeviceTotalMem", common.memory_bytes),
    SYMBOL("hipDeviceGetAttribute", common.attribute),
    SYMBOL("hipDeviceGetPCIBusId", common.bus),
    SYMBOL("hipStreamCreateWithFlags", common.stream),
    SYMBOL("hipStreamDestroy", common.stream_release),
    SYMBOL("hipStreamSynchronize", common.stream_wait),
    SYMBOL("hipStreamWaitEvent", common.stream_wait_event),
    OPTIONAL("hipStreamIsCapturing", common.stream_recording),
    OPTIONAL("hipThreadExchangeStreamCaptureMode", common.exchange_mode),
    SYMBOL("hipMalloc", common.memory),
    SYMBOL("hipFree", common.memory_release),
    SYMBOL("hipHostRegister", common.pin),
    SYMBOL("hipHostUnregister", common.unpin),
    SYMBOL("hipMemcpyHtoDAsync", common.write),
    SYMBOL("hipMemcpyDtoHAsync", common.read),
    SYMBOL("hipMemcpyDtoDAsync", common.copy),
    SYMBOL("hipMemsetD8Async", common.fill),
    SYMBOL("hipEventCreateWithFlags", common.event),
    SYMBOL("hipEventRecord", common.event_record),
    SYMBOL("hipEventQuery", common.event_query),
    SYMBOL("hipEventSynchronize", common.event_wait),
    SYMBOL("hipEventDestroy", common.event_release),
    SYMBOL("hipModuleLoadDataEx", common.load),
    SYMBOL("hipModuleUnload", common.unload),
    SYMBOL("hipModuleGetFunction", common.function),
    SYMBOL("hipModuleLaunchKernel", common.launch),
    SYMBOL("hipSetDevice", set_device),
    SYMBOL("hipGetDevice", get_device),
    SYMBOL("hipGetErrorName", error_name),
    OPTIONAL("hipGetDevicePropertiesR0600", properties),
    OPTIONAL("hipGetDeviceProperties", older_properties),
    {NULL, 0, false}};
#undef SYMBOL
#undef OPTIONAL

/* The last one is what PyTorch's packages call it. */
static const char *const libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "libamdhip64.so", NULL};
static hip_calls calls;
static atomic_bool usable;

/* Without a card some versions say the second: 5.7 on a machine with another vendor's. */
enum { NO_DEVICE = 100, INVALID_DEVICE = 101 };

static void load(void) {
  if (!driver_load(libraries, symbols, &calls)) return;
  int code = calls.common.init(0);
  usable = code == 0;
  if (code && code != NO_DEVICE && code != INVALID_DEVICE) {
    cvy_log(CONVOY_LOG_WARNING, "HIP is not usable: %s (%d)", calls.error_name(code), code);
  }
}

static const driver_calls *calls_of(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return usable ? &calls.common : NULL;
}

static const char *error_name(int code) {
  return calls.error_name(code);
}

/* HIP knows a thread's device by its number and makes what it needs itself. */
static int open_device(int device, void **context) {
  (void)context;
  return calls.set_device(device);
}

static void close_device(int device, void *context) {
  (void)device, (void)context;
}

static int enter(int device, void *context) {
  (void)context;
  return calls.set_device(device);
}

/* ------------------------------------------------------------------------ a framework's thread
 */

static bool visit(int32_t *device, void **mode) {
  int before = DRIVER_MODE_RELAXED;
  if (!usable || calls.get_device(device)) return false;
  if (calls.common.exchange_mode) calls.common.exchange_mode(&before);
  *mode = (void *)(intptr_t)before;
  return true;
}

static void leave(int32_t device, void *mode) {
  int before = (int)(intptr_t)mode;
  calls.set_device(device);
  if (calls.common.exchange_mode) calls.common.exchange_mode(&before);
}

/* ------------------------------------------------------------------------------------- the chip */

/* Larger than the properties of any version. The first member is the device's name. */
enum { PROPERTIES = 16384, NAME = 256 };
static const char gfx[] = "gfx";

/* "gfx1010:xnack-": the one text that begins so in the properties behind the name. Where it lies is
 * another place in each version. */
static const char *find_chip(const char *properties) {
  const char *end = properties + PROPERTIES - sizeof gfx;
  for (const char *at = properties + NAME; at < end; at++)
    if (memcmp(at, gfx, sizeof gfx - 1) == 0) return at;
  return NULL;
}

static void chip_of(int device, char *to, size_t size) {
  int (*const ask)(void *, int) = calls.properties ? calls.properties : calls.older_properties;
  char *properties = ask ? calloc(1, PROPERTIES) : NULL;
  const char *found = NULL;
  if (properties && ask(properties, device) == 0) found = find_chip(properties);
  cvy_text_copy(to, size, found ? found : "");
  free(properties);
}

static bool target(int device, char *to, size_t size, uint64_t *hash) {
  char chip[64];
  cvy_text text = cvy_text_in(to, size);
  if (!comgr_is_there(hash)) return false;
  chip_of(device, chip, sizeof chip);
  if (!chip[0]) return false;
  cvy_text_add(&text, "amdgcn-amd-amdhsa--%s", chip);
  *hash = cvy_hash(*hash, to, strlen(to));
  return true;
}

static const gpu_driver hip = {
    .name = "hip",
    .platform = "HIP",
    .runtime = CVY_RUNTIME_HIP,
    .units = 63,
    .clock = 5,
    .local_memory = 74,
    .work_group = 56,
    .width = 87,
    .major = 10000000,
    .minor = 100000,
    .calls = calls_of,
    .error_name = error_name,
    .open = open_device,
    .close = close_device,
    .enter = enter,
    .chip = chip_of,
    .target = target,
    .compile = comgr_compile,
};

static convoy_status list(runtime_device *out, int32_t capacity, int32_t *count) {
  return driver_devices(&hip, out, capacity, count);
}

static convoy_status open_queue(const runtime_device *device, runtime_queue **out,
                                runtime_traits *traits) {
  return driver_open(&hip, device, out, traits);
}

static const char *name_of(int32_t code) {
  return driver_error_name(&hip, code);
}

static convoy_status fail(int32_t code, const char *what) {
  return driver_fail(&hip, code, what);
}

const runtime hip_runtime = {
    .name = "hip",
    .list = list,
    .open = open_queue,
    .error_name = name_of,
    .fail = fail,
    .visit = visit,
    .leave = leave,
    DRIVER_FUNCTIONS,
};
