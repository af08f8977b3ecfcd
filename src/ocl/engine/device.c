/* Opening and closing a device: its queue, and its arena of device memory. */
#include "ocl/engine/device.h"

#include <stdlib.h>

#include "cl/conv_args.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/pinned.h"
#include "ocl/engine/runtime/devices.h"

/* Of a launch; a guess of a kernel's speed that is off by two still keeps within half a second. */
#define LONGEST_LAUNCH_SECONDS 0.25
#define LEAST_ALIGNMENT (CONV_ALIGN * (int64_t)sizeof(float))
#define BLOCK_BYTES (INT64_C(64) << 20)
#define LEAST_BLOCK_BYTES (INT64_C(1) << 20)
#define BLOCKS_LEAST 256 /* of all memory */
/* A simulator keeps a record for every byte. */
#define SIMULATOR_BLOCK_BYTES (INT64_C(64) << 10)

/* Makes a block of the arena. Drivers tend to allocate at first use only, when the failure would
 * hit some innocent kernel, so the block is moved to the device at once. */
static void *make_block(void *user, int64_t bytes) {
  cvy_device *device = user;
  const runtime *calls = device->runtime;
  int32_t code;
  runtime_memory *memory = calls->memory(device->queue, bytes, &code);
  if (!memory) return NULL;
  code = calls->memory_move(device->queue, memory);
  convoy_status status = code ? CONVOY_OK : completion_wait(device, UINT64_MAX);
  if (!code && !status) code = calls->finish(device->queue);
  if (!code && !status) return memory;
  cvy_log(CONVOY_LOG_DEBUG, "a block of %lld bytes: %s", (long long)bytes,
          status ? cvy_last_error() : calls->error_name(code));
  calls->memory_release(device->queue, memory);
  return NULL;
}

static void drop_block(void *user, void *memory) {
  const cvy_device *device = user;
  device->runtime->memory_release(device->queue, memory);
}

/* Gaps are about as large as blocks: of little memory these are small. */
static int64_t block_bytes(const cvy_facts *facts) {
  int64_t bytes = cvy_facts_memory(facts) / BLOCKS_LEAST;
  if (facts->info.simulator) return SIMULATOR_BLOCK_BYTES;
  if (bytes > BLOCK_BYTES) return BLOCK_BYTES;
  return bytes > LEAST_BLOCK_BYTES ? bytes / LEAST_BLOCK_BYTES * LEAST_BLOCK_BYTES
                                   : LEAST_BLOCK_BYTES;
}

/* Idle blocks worth keeping: a step's largest workspace and two blocks, at most a quarter
 * of all. */
static int64_t keep_bytes(const cvy_facts *facts) {
  int64_t most = cvy_facts_memory(facts) / 4;
  int64_t wanted = facts->workspace_limit + 2 * BLOCK_BYTES;
  return wanted < most ? wanted : most;
}

static convoy_status open_arena(cvy_device *device) {
  int64_t alignment = LEAST_ALIGNMENT;
  while (alignment < device->traits.alignment) alignment *= 2;
  arena_source source = {device, make_block, drop_block};
  arena_limits limits = {.alignment = alignment,
                         .block_bytes = block_bytes(&device->facts),
                         .all_bytes = device->facts.memory_limit,
                         .most_bytes = device->facts.max_allocation_bytes / alignment * alignment,
                         .keep_bytes = keep_bytes(&device->facts)};
  device->memory.arena = arena_new(&source, &limits);
  if (!device->memory.arena) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for the arena");
  return CONVOY_OK;
}

convoy_status engine_open(int32_t index, const cvy_open_options *options, cvy_device **out) {
  runtime_device there[RUNTIME_DEVICES];
  int32_t count = 0;
  int32_t enough = index >= 0 && index < RUNTIME_DEVICES ? index + 1 : RUNTIME_DEVICES;
  convoy_status status = runtime_devices(options, enough, there, &count);
  if (status) return status;
  if (index < 0 || index >= count) {
    return cvy_fail(CONVOY_ERR_NOT_FOUND, "there is no device %d, only %d", (int)index, (int)count);
  }
  cvy_device *device = calloc(1, sizeof *device);
  if (!device) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a device");
  device->facts = there[index].facts;
  device->runtime = there[index].runtime;
  device->longest_launch = options->dispatch > 0 ? options->dispatch : LONGEST_LAUNCH_SECONDS;
  device->programs.build_wait = options->build_wait;
  status = device->runtime->open(&there[index], &device->queue, &device->traits);
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
  if (device->queue) device->runtime->finish(device->queue);
  completion_drop(device);
  completion_forget_idle(device);
  pinned_close(device);
  plans_close(device);
  captured_close(device);
  generated_close(device);
  programs_close(device);
  clblast_close();
  prepacked_forget_all(device);
  arrays_clear(&device->memory.arrays);
  arena_free(device->memory.arena);
  if (device->queue) device->runtime->close(device->queue);
  free(device);
}
