/* libcuda.so.1 of the tests: those of CUDA's driver's functions that the engine calls, as their
 * documentation declares them. */
#include <stdio.h>

#include "gpu.h"
#include "record.h"

typedef uint64_t address;

static void *pointer(address at) {
  return (void *)(uintptr_t)at;
}

int cuInit(unsigned flags) {
  return flags ? GPU_INVALID_VALUE : gpu_start();
}
int cuDriverGetVersion(int *out) {
  *out = 12040;
  return GPU_OK;
}
int cuDeviceGetCount(int *out) {
  *out = 1;
  return GPU_OK;
}
int cuDeviceGet(int *out, int ordinal) {
  *out = 0;
  return ordinal == 0 ? GPU_OK : GPU_INVALID_DEVICE;
}
int cuDeviceGetName(char *to, int size, int device) {
  return device == 0 ? gpu_name(to, size) : GPU_INVALID_DEVICE;
}
int cuDeviceTotalMem_v2(size_t *out, int device) {
  return device == 0 ? gpu_memory_bytes(out) : GPU_INVALID_DEVICE;
}
int cuDeviceGetPCIBusId(char *to, int size, int device) {
  (void)to, (void)size, (void)device;
  return GPU_INVALID_VALUE;
}
int cuGetErrorName(int code, const char **out) {
  static _Thread_local char name[64];
  const char *known = gpu_error_name(code);
  snprintf(name, sizeof name, "CUDA_ERROR_%s", known ? known : "UNKNOWN");
  *out = name;
  return known ? GPU_OK : GPU_INVALID_VALUE;
}

enum { MAX_THREADS_PER_BLOCK = 1, SHARED_MEMORY = 8, WARP_SIZE = 10, CLOCK_RATE = 13, UNITS = 16 };

int cuDeviceGetAttribute(int *out, int what, int device) {
  if (device) return GPU_INVALID_DEVICE;
  switch (what) {
    case MAX_THREADS_PER_BLOCK:
      *out = gpu_group_items();
      return GPU_OK;
    case SHARED_MEMORY:
      *out = gpu_local_bytes();
      return GPU_OK;
    case WARP_SIZE:
      *out = 32;
      return GPU_OK;
    case CLOCK_RATE:
      *out = gpu_clock();
      return GPU_OK;
    case UNITS:
      *out = gpu_units();
      return GPU_OK;
    default:
      return GPU_INVALID_VALUE;
  }
}

/* A context is anything but NULL here. */
static char the_context;

int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &the_context;
  return device == 0 ? GPU_OK : GPU_INVALID_DEVICE;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return device == 0 ? GPU_OK : GPU_INVALID_DEVICE;
}
int cuCtxSetCurrent(void *context) {
  if (context && context != &the_context) return GPU_INVALID_VALUE;
  gpu_enter(context != NULL);
  return GPU_OK;
}
int cuCtxGetCurrent(void **context) {
  *context = gpu_entered() ? &the_context : NULL;
  return GPU_OK;
}

int cuStreamCreate(void **out, unsigned flags) {
  return flags > 1 ? GPU_INVALID_VALUE : gpu_stream(out);
}
int cuStreamDestroy_v2(void *stream) {
  return gpu_stream_release(stream);
}
int cuStreamSynchronize(void *stream) {
  return gpu_stream_wait(stream);
}
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  return flags ? GPU_INVALID_VALUE : gpu_stream_wait_event(stream, event);
}

int cuStreamIsCapturing(void *stream, int *state) {
  *state = record_state(stream);
  return GPU_OK;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
  *mode = record_exchange_mode(*mode);
  return GPU_OK;
}
int cuStreamBeginCapture_v2(void *stream, int mode) {
  return record_begin(stream, mode);
}
int cuStreamEndCapture(void *stream, void **graph) {
  return record_end(stream, graph);
}
int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
  *out = graph;
  return flags ? GPU_INVALID_VALUE : GPU_OK;
}
int cuGraphLaunch(void *graph, void *stream) {
  return record_launch(graph, stream);
}
int cuGraphDestroy(void *graph) {
  record_free(graph);
  return GPU_OK;
}

int cuMemAlloc_v2(address *out, size_t bytes) {
  void *at = NULL;
  const int code = gpu_memory(&at, bytes);
  if (!code) *out = (uintptr_t)at;
  return code;
}
int cuMemFree_v2(address at) {
  return gpu_memory_release(pointer(at));
}
int cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags) {
  (void)flags;
  return gpu_pin(at, bytes);
}
int cuMemHostUnregister(void *at) {
  return gpu_unpin(at);
}

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream) {
  return gpu_write(pointer(to), from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream) {
  return gpu_read(to, pointer(from), bytes, stream);
}
int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void *stream) {
  return gpu_copy(pointer(to), pointer(from), bytes, stream);
}
int cuMemsetD8Async(address at, unsigned char value, size_t bytes, void *stream) {
  return gpu_fill(pointer(at), value, bytes, stream);
}

int cuEventCreate(void **out, unsigned flags) {
  (void)flags;
  return gpu_event(out);
}
int cuEventRecord(void *event, void *stream) {
  return gpu_event_record(event, stream);
}
int cuEventQuery(void *event) {
  return gpu_event_query(event);
}
int cuEventSynchronize(void *event) {
  return gpu_event_wait(event);
}
int cuEventDestroy_v2(void *event) {
  return gpu_event_release(event);
}

int cuModuleLoadDataEx(void **out, const void *image, unsigned options, int *option, void **value) {
  (void)options, (void)option, (void)value;
  return gpu_load(out, image, true);
}
int cuModuleUnload(void *module) {
  return gpu_unload(module);
}
int cuModuleGetFunction(void **out, void *module, const char *name) {
  return gpu_function(out, module, name);
}
int cuLaunchKernel(void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z,
                   unsigned items_x, unsigned items_y, unsigned items_z, unsigned shared_bytes,
                   void *stream, void **arguments, void **extra) {
  if (shared_bytes || extra) return GPU_INVALID_VALUE;
  return gpu_launch(function, (const unsigned[]){groups_x, groups_y, groups_z},
                    (const unsigned[]){items_x, items_y, items_z}, stream, arguments);
}

/* What tests ask for. */
long standin_waits(void) {
  return gpu_waits();
}
void standin_fail_next(int code) {
  gpu_fail_next(code);
}
void standin_skip_next(int launches) {
  gpu_skip_next(launches);
}
