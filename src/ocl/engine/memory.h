/* Device memory for whatever purpose: pieces of the engine's own arena, or of a framework's
 * allocator while the device has one. */
#ifndef CVY_OCL_ENGINE_MEMORY_H
#define CVY_OCL_ENGINE_MEMORY_H

#include "backend.h"
#include "ocl/engine/arrays.h"

/* A device's part of this module: its memory and the arrays in it. */
typedef struct device_memory {
  cvy_arena *arena;
  array_map arrays;
  cvy_allocator allocator;
  int64_t allocated, allocated_peak; /* bytes that the allocator has given */
  char *lent;                        /* what is left of memory for one job */
  int64_t lent_bytes;
  int64_t taken; /* bytes, since that was lent */
  bool stirred;  /* the arena has been used since the device was last known to be idle */
} device_memory;

/* Prepacked operands make room for it. */
convoy_status memory_take(cvy_device *device, int64_t bytes, arena_piece **out);
/* Scratch memory of one job, given back when that is enqueued. */
convoy_status memory_take_briefly(cvy_device *device, int64_t bytes, arena_piece **out);
/* The piece goes back at once: its next user comes later in the queue. NULL is allowed. */
void memory_give(cvy_device *device, arena_piece *piece);
/* Bytes in use and held, with those of the allocator. */
arena_counts memory_count(const cvy_device *device);

convoy_status engine_use_allocator(cvy_device *device, const cvy_command *command);
convoy_status engine_lend(cvy_device *device, const cvy_command *command, cvy_reply *reply);

#endif
