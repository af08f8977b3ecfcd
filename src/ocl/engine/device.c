/* Opening and closing a device: context, queue, arena. */
#include <stdlib.h>
#include <string.h>

#include "ocl/engine/engine.h"

#define MOST_LISTED 64
#define DISPATCH_SECONDS 0.25 /* a guess that is off by two still keeps half a second */
#define LEAST_ALIGNMENT (CONV_ALIGN * (int64_t)sizeof(float))
#define BLOCK_BYTES (INT64_C(64) << 20)
#define SIMULATOR_BLOCK_BYTES (INT64_C(64) << 10) /* it keeps a record for every byte */

/* A new block. Drivers tend to allocate at first use only, when the failure would hit some innocent
 * kernel, so the block is moved to the device at once. */
static void *make_block(void *user, int64_t bytes) {
  cvy_device *device = user;
  cl_int code;
  cl_mem memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
  if (!memory) return NULL;
  code = clEnqueueMigrateMemObjects(device->queue, 1, &memory,
                                    CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
  if (code == CL_SUCCESS && completion_wait(device, UINT64_MAX)) code = CL_OUT_OF_RESOURCES;
  if (code == CL_SUCCESS) code = clFinish(device->queue);
  if (code == CL_SUCCESS) return memory;
  cvy_log(CONVOY_LOG_DEBUG, "a block of %lld bytes: %s", (long long)bytes, cl_error_name(code));
  clReleaseMemObject(memory);
  return NULL;
}

static void drop_block(void *user, void *memory) {
  (void)user;
  clReleaseMemObject(memory);
}

/* Idle blocks worth keeping: a step's largest workspace and two blocks, at most a quarter of all. */
static int64_t keep_bytes(const cvy_facts *facts) {
  const int64_t most = facts->info.memory_bytes / 4;
  const int64_t wanted = facts->workspace_limit + 2 * BLOCK_BYTES;
  return wanted < most ? wanted : most;
}

static convoy_status open_arena(cvy_device *device) {
  cl_uint bits = 0;
  clGetDeviceInfo(device->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
  int64_t alignment = LEAST_ALIGNMENT;
  while (alignment < (int64_t)bits / 8) alignment *= 2;
  const arena_source source = {device, make_block, drop_block};
  const arena_limits limits = {
      .alignment = alignment,
      .block_bytes = device->facts.info.simulator ? SIMULATOR_BLOCK_BYTES : BLOCK_BYTES,
      .most_bytes = device->facts.max_allocation_bytes / alignment * alignment,
      .keep_bytes = keep_bytes(&device->facts)};
  device->memory = arena_new(&source, &limits);
  if (!device->memory) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for the arena");
  return CONVOY_OK;
}

static convoy_status open_queue(cvy_device *device) {
  cl_int code;
  device->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
  if (!device->context) return cl_fail(code, "cannot create an OpenCL context");
  device->queue = clCreateCommandQueue(device->context, device->id, 0, &code);
  if (!device->queue) return cl_fail(code, "cannot create an OpenCL queue");
  return open_arena(device);
}

static void read_platform_version(cvy_device *device) {
  cl_platform_id platform = NULL;
  clGetDeviceInfo(device->id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof device->platform_version - 1,
                    device->platform_version, NULL);
}

static bool has_extension(cl_device_id id, const char *name) {
  size_t size = 0;
  if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS) return false;
  char *all = calloc(1, size + 1);
  if (!all) return false;
  clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, all, NULL);
  const bool found = strstr(all, name) != NULL;
  free(all);
  return found;
}

convoy_status engine_open(int32_t index, const cvy_open_options *options, cvy_device **out) {
  cvy_facts facts[MOST_LISTED];
  cl_device_id ids[MOST_LISTED];
  int32_t count = 0;
  convoy_status status = devices_list(options, facts, ids, MOST_LISTED, &count);
  if (status) return status;
  if (index < 0 || index >= count || index >= MOST_LISTED)
    return cvy_fail(CONVOY_ERR_NOT_FOUND, "there is no OpenCL device %d, only %d", (int)index,
                    (int)count);
  cvy_device *device = calloc(1, sizeof *device);
  if (!device) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a device");
  device->facts = facts[index];
  device->id = ids[index];
  device->dispatch = options->dispatch > 0 ? options->dispatch : DISPATCH_SECONDS;
  device->build_wait = options->build_wait;
  read_platform_version(device);
  device->tells_registers = has_extension(device->id, "cl_nv_compiler_options");
  status = open_queue(device);
  if (status) {
    engine_close(device);
    return status;
  }
  *out = device;
  return CONVOY_OK;
}

void engine_close(cvy_device *device) {
  if (!device) return;
  if (device->queue) clFinish(device->queue);
  completion_drop(device);
  completion_forget_idle(device);
  staging_close(device);
  pinned_close(device);
  captured_close(device);
  programs_close(device);
  product_cache_close();
  prepacked_forget_all(device);
  arrays_clear(&device->arrays);
  arena_free(device->memory);
  if (device->queue) clReleaseCommandQueue(device->queue);
  if (device->context) clReleaseContext(device->context);
  free(device);
}
