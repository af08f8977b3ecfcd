/* libamdhip64 of the tests: those of HIP's functions that the engine calls, as their documentation
 * declares them. */
#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "record.h"

int hipInit(unsigned flags) {
  return flags ? GPU_INVALID_VALUE : gpu_start();
}

int hipDriverGetVersion(int *out) {
  *out = 60443483;
  return GPU_OK;
}

int hipGetDeviceCount(int *out) {
  *out = 1;
  return GPU_OK;
}

int hipDeviceGet(int *out, int ordinal) {
  *out = 0;
  return ordinal == 0 ? GPU_OK : GPU_INVALID_DEVICE;
}

int hipDeviceGetName(char *to, int size, int device) {
  return device == 0 ? gpu_name(to, size) : GPU_INVALID_DEVICE;
}

int hipDeviceTotalMem(size_t *out, int device) {
  return device == 0 ? gpu_memory_bytes(out) : GPU_INVALID_DEVICE;
}

int hipDeviceGetPCIBusId(char *to, int size, int device) {
  (void)to, (void)size, (void)device;
  return GPU_INVALID_VALUE;
}

const char *hipGetErrorName(int code) {
  static _Thread_local char name[64];
  const char *known = gpu_error_name(code);
  snprintf(name, sizeof name, "hipError_%s", known ? known : "Unknown");
  return name;
}

/* The chip's name is somewhere behind the device's. */
enum { PROPERTIES = 1472, CHIP = 1160 };

int hipGetDevicePropertiesR0600(void *out, int device) {
  memset(out, 0, PROPERTIES);
  snprintf((char *)out + CHIP, 256, "gfx1010:xnack-");
  return device == 0 ? gpu_name(out, 256) : GPU_INVALID_DEVICE;
}

enum { CLOCK_RATE = 5, MAX_THREADS_PER_BLOCK = 56, UNITS = 63, SHARED_MEMORY = 74, WARP_SIZE = 87 };

int hipDeviceGetAttribute(int *out, int what, int device) {
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

int hipSetDevice(int device) {
  if (device) return GPU_INVALID_DEVICE;
  gpu_enter(true);
  return GPU_OK;
}

int hipGetDevice(int *out) {
  *out = 0;
  return GPU_OK;
}

int hipStreamCreateWithFlags(void **out, unsigned flags) {
  return flags > 1 ? GPU_INVALID_VALUE : gpu_stream(out);
}

int hipStreamDestroy(void *stream) {
  return gpu_stream_release(stream);
}

int hipStreamSynchronize(void *stream) {
  return gpu_stream_wait(stream);
}
int hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
  return flags ? GPU_INVALID_VALUE : gpu_stream_wait_event(stream, event);
}

int hipStreamIsCapturing(void *stream, int *state) {
  *state = record_state(stream);
  return GPU_OK;
}

int hipThreadExchangeStreamCaptureMode(int *mode) {
  *mode = record_exchange_mode(*mode);
  return GPU_OK;
}

int hipStreamBeginCapture(void *stream, int mode) {
  return record_begin(stream, mode);
}

int hipStreamEndCapture(void *stream, void **graph) {
  return record_end(stream, graph);
}

int hipGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
  *out = graph;
  return flags ? GPU_INVALID_VALUE : GPU_OK;
}

int hipGraphLaunch(void *graph, void *stream) {
  return record_launch(graph, stream);
}

int hipGraphDestroy(void *graph) {
  record_free(graph);
  return GPU_OK;
}

int hipMalloc(void **out, size_t bytes) {
  return gpu_memory(out, bytes);
}
int hipFree(void *at) {
  return gpu_memory_release(at);
}

int hipHostRegister(void *at, size_t bytes, unsigned flags) {
  (void)flags;
  return gpu_pin(at, bytes);
}

int hipHostUnregister(void *at) {
  return gpu_unpin(at);
}

int hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, void *stream) {
  return gpu_write(to, from, bytes, stream);
}

int hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *stream) {
  return gpu_read(to, from, bytes, stream);
}

int hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream) {
  return gpu_copy(to, from, bytes, stream);
}

int hipMemsetD8Async(void *at, unsigned char value, size_t bytes, void *stream) {
  return gpu_fill(at, value, bytes, stream);
}

int hipEventCreateWithFlags(void **out, unsigned flags) {
  (void)flags;
  return gpu_event(out);
}

int hipEventRecord(void *event, void *stream) {
  return gpu_event_record(event, stream);
}

int hipEventQuery(void *event) {
  return gpu_event_query(event);
}

int hipEventSynchronize(void *event) {
  return gpu_event_wait(event);
}

int hipEventDestroy(void *event) {
  return gpu_event_release(event);
}

int hipModuleLoadDataEx(void **out, const void *image, unsigned options, int *option,
                        void **value) {
  (void)option, (void)value;
  return options ? GPU_INVALID_VALUE : gpu_load(out, image, false);
}

int hipModuleUnload(void *module) {
  return gpu_unload(module);
}

int hipModuleGetFunction(void **out, void *module, const char *name) {
  return gpu_function(out, module, name);
}

int hipModuleLaunchKernel(void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z,
                          unsigned items_x, unsigned items_y, unsigned items_z,
                          unsigned shared_bytes, void *stream, void **arguments, void **extra) {
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
