/* Memory of an allocator is a piece without a block. What is lent for one job goes first: it is cut
 * off from the front, and never put together again. */
#include "ocl/engine/memory.h"

#include <stdlib.h>

#include "ocl/engine/device.h"

/* Vectors of 16 are the longest that kernels load. */
enum { ALIGNMENT = 64 };

static convoy_status check_address(const cvy_device *device, const void *memory, int64_t bytes) {
  if (!memory)
    return cvy_fail(CONVOY_ERR_MEMORY, "the allocator of %s has no %lld bytes",
                    device->facts.info.id, (long long)bytes);
  if ((uintptr_t)memory % ALIGNMENT == 0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "the allocator of %s gave %p, which is no multiple of %d",
                  device->facts.info.id, memory, ALIGNMENT);
}

static void release(cvy_device *device, const arena_piece *piece) {
  const cvy_allocator *allocator = &device->memory.allocator;
  allocator->release(allocator->user, piece->memory, (size_t)piece->bytes, device->stream);
}

static convoy_status ask_allocator(cvy_device *device, arena_piece *piece) {
  device_memory *memory = &device->memory;
  const cvy_allocator *allocator = &memory->allocator;
  if (device->runtime->enter) device->runtime->enter(device->queue);
  piece->memory = allocator->allocate(allocator->user, (size_t)piece->bytes, device->stream);
  convoy_status status = check_address(device, piece->memory, piece->bytes);
  if (status) {
    if (piece->memory) release(device, piece);
    return status;
  }
  piece->used = true;
  memory->allocated += piece->bytes;
  if (memory->allocated > memory->allocated_peak) memory->allocated_peak = memory->allocated;
  return CONVOY_OK;
}

/* An unused piece: it need not be given back. */
static bool cut_off(device_memory *memory, arena_piece *piece) {
  if (piece->bytes > memory->lent_bytes) return false;
  piece->memory = memory->lent;
  memory->lent += piece->bytes;
  memory->lent_bytes -= piece->bytes;
  return true;
}

static convoy_status allocate(cvy_device *device, int64_t bytes, arena_piece **out) {
  device_memory *memory = &device->memory;
  arena_piece *piece = calloc(1, sizeof *piece);
  if (!piece) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a piece of device memory");
  piece->bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  convoy_status status = cut_off(memory, piece) ? CONVOY_OK : ask_allocator(device, piece);
  if (status) {
    free(piece);
    return status;
  }
  memory->taken += piece->bytes;
  *out = piece;
  return CONVOY_OK;
}

typedef convoy_status arena_take_fn(cvy_arena *arena, int64_t bytes, arena_piece **out);

static convoy_status take(cvy_device *device, int64_t bytes, arena_take_fn *from,
                          arena_piece **out) {
  if (device->memory.allocator.allocate) return allocate(device, bytes, out);
  device->memory.stirred = true;
  return from(device->memory.arena, bytes, out);
}

static convoy_status take_or_make_room(cvy_device *device, int64_t bytes, arena_take_fn *from,
                                       arena_piece **out) {
  convoy_status status = take(device, bytes, from, out);
  if (status != CONVOY_ERR_MEMORY || !device->prepacked.first) return status;
  prepacked_forget_all(device);
  return take(device, bytes, from, out);
}

convoy_status memory_take(cvy_device *device, int64_t bytes, arena_piece **out) {
  return take_or_make_room(device, bytes, arena_take, out);
}

convoy_status memory_take_briefly(cvy_device *device, int64_t bytes, arena_piece **out) {
  return take_or_make_room(device, bytes, arena_take_briefly, out);
}

void memory_give(cvy_device *device, arena_piece *piece) {
  if (!piece) return;
  if (piece->block) {
    arena_give(device->memory.arena, piece);
    return;
  }
  if (piece->used) {
    device->memory.allocated -= piece->bytes;
    release(device, piece);
  }
  free(piece);
}

arena_counts memory_count(const cvy_device *device) {
  arena_counts counts = arena_count(device->memory.arena);
  counts.bytes += device->memory.allocated;
  counts.held += device->memory.allocated;
  counts.peak += device->memory.allocated_peak; /* at most */
  return counts;
}

/* What another allocator has given has to go back to it. */
convoy_status engine_use_allocator(cvy_device *device, const cvy_command *command) {
  prepacked_forget_all(device);
  if (device->memory.allocated > 0)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "%lld bytes of the allocator before are in use",
                    (long long)device->memory.allocated);
  device->memory.allocator = *command->allocator;
  return CONVOY_OK;
}

convoy_status engine_lend(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  device_memory *memory = &device->memory;
  uint64_t address = command->lend.address;
  reply->taken = memory->taken;
  memory->taken = 0;
  memory->lent = (char *)(uintptr_t)address;
  memory->lent_bytes = address ? command->lend.bytes : 0;
  return CONVOY_OK;
}
