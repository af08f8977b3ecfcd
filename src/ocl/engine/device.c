/* Opening and closing a device: its queue, and its arena of device memory. */
#include "ocl/engine/device.h"

#include <stdlib.h>

#include "cl/conv_args.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/opencl/devices.h"
#include "ocl/engine/opencl/memory.h"
#include "ocl/engine/pinned.h"

#define MOST_LISTED 64
/* Of a launch; a guess of a kernel's speed that is off by two still keeps within half a second. */
#define LONGEST_LAUNCH_SECONDS 0.25
#define LEAST_ALIGNMENT (CONV_ALIGN * (int64_t)sizeof(float))
#define BLOCK_BYTES (INT64_C(64) << 20)
/* A simulator keeps a record for every byte. */
#define SIMULATOR_BLOCK_BYTES (INT64_C(64) << 10)

/* Makes a block of the arena. Drivers tend to allocate at first use only, when the failure would
 * hit some innocent kernel, so the block is moved to the device at once. */
static void *make_block(void *user, int64_t bytes) {
  cvy_device *device = user;
  cl_int code;
  cl_mem memory = opencl_memory(&device->queue, bytes, &code);
  if (!memory) return NULL;
  code = opencl_memory_move(&device->queue, memory);
  if (code == CL_SUCCESS && completion_wait(device, UINT64_MAX)) code = CL_OUT_OF_RESOURCES;
  if (code == CL_SUCCESS) code = opencl_finish(&device->queue);
  if (code == CL_SUCCESS) return memory;
  cvy_log(CONVOY_LOG_DEBUG, "a block of %lld bytes: %s", (long long)bytes, opencl_error_name(code));
  opencl_memory_release(memory);
  return NULL;
}

static void drop_block(void *user, void *memory) {
  (void)user;
  opencl_memory_release(memory);
}

/* Idle blocks worth keeping: a step's largest workspace and two blocks, at most a quarter
 * of all. */
static int64_t keep_bytes(const cvy_facts *facts) {
  int64_t most = facts->info.memory_bytes / 4;
  int64_t wanted = facts->workspace_limit + 2 * BLOCK_BYTES;
  return wanted < most ? wanted : most;
}

static convoy_status open_arena(cvy_device *device) {
  int64_t alignment = LEAST_ALIGNMENT, needed = opencl_alignment(device->queue.device);
  while (alignment < needed) alignment *= 2;
  arena_source source = {device, make_block, drop_block};
  arena_limits limits = {
      .alignment = alignment,
      .block_bytes = device->facts.info.simulator ? SIMULATOR_BLOCK_BYTES : BLOCK_BYTES,
      .most_bytes = device->facts.max_allocation_bytes / alignment * alignment,
      .keep_bytes = keep_bytes(&device->facts)};
  device->memory.arena = arena_new(&source, &limits);
  if (!device->memory.arena) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for the arena");
  return CONVOY_OK;
}

/* What programs depend on beside the device's facts. */
static void ask_for_programs(cl_device_id id, const cvy_open_options *options,
                             device_programs *programs) {
  programs->build_wait = options->build_wait;
  programs->takes_registers = opencl_takes_registers(id);
  opencl_platform_version(id, programs->platform_version, sizeof programs->platform_version);
}

convoy_status engine_open(int32_t index, const cvy_open_options *options, cvy_device **out) {
  cvy_facts facts[MOST_LISTED];
  cl_device_id ids[MOST_LISTED];
  int32_t count = 0;
  convoy_status status = opencl_devices(options, facts, ids, MOST_LISTED, &count);
  if (status) return status;
  if (index < 0 || index >= count || index >= MOST_LISTED) {
    return cvy_fail(CONVOY_ERR_NOT_FOUND, "there is no OpenCL device %d, only %d", (int)index,
                    (int)count);
  }
  cvy_device *device = calloc(1, sizeof *device);
  if (!device) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a device");
  device->facts = facts[index];
  device->longest_launch = options->dispatch > 0 ? options->dispatch : LONGEST_LAUNCH_SECONDS;
  ask_for_programs(ids[index], options, &device->programs);
  status = opencl_open(ids[index], &device->queue);
  if (!status) status = open_arena(device);
  if (status) {
    engine_close(device);
    return status;
  }
  *out = device;
  return CONVOY_OK;
}

void engine_close(cvy_device *device) {
  if (!device) return;
  if (device->queue.commands) opencl_finish(&device->queue);
  completion_drop(device);
  completion_forget_idle(device);
  staging_close(device);
  pinned_close(device);
  captured_close(device);
  generated_close(device);
  programs_close(device);
  clblast_close();
  prepacked_forget_all(device);
  arrays_clear(&device->memory.arrays);
  arena_free(device->memory.arena);
  opencl_close(&device->queue);
  free(device);
}
