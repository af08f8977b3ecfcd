/* Memory of convoy_host_alloc: shared with the device's process if it has one, else ordinary. */
#include <stdlib.h>
#include <string.h>

#include "core/context.h"

enum { ALIGNMENT = 4096 };

struct cvy_block {
  cvy_block *next;
  void *memory;
  size_t bytes;
  void (*give_back)(cvy_device *device, void *memory);
  cvy_device *device; /* NULL: ordinary memory, or the device has gone */
};

static void free_ordinary(cvy_device *device, void *memory) {
  (void)device;
  free(memory);
}

static void *ordinary(size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
  size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *memory = aligned_alloc(ALIGNMENT, whole);
  if (memory) memset(memory, 0, whole);
  return memory;
}

static void allocate(const cvy_engine *engine, size_t bytes, cvy_block *block) {
  block->bytes = bytes;
  if (engine->device && engine->backend->host_alloc) {
    block->memory = engine->backend->host_alloc(engine->device, bytes);
    block->give_back = engine->backend->host_free;
    block->device = engine->device;
  }
  if (!block->memory) {
    block->memory = ordinary(bytes);
    block->give_back = free_ordinary;
    block->device = NULL;
  }
}

convoy_status cvy_host_alloc(convoy_context *context, size_t bytes, void **out) {
  if (bytes == 0) {
    *out = NULL;
    return CONVOY_OK;
  }
  cvy_block *block = calloc(1, sizeof(*block));
  if (block) allocate(&context->device, bytes, block);
  if (!block || !block->memory) {
    free(block);
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %zu bytes", bytes);
  }
  block->next = context->blocks;
  context->blocks = block;
  atomic_fetch_add(&context->references, 1);
  *out = block->memory;
  return CONVOY_OK;
}

static cvy_block *unlink_block(convoy_context *context, const void *memory) {
  cvy_block **link = &context->blocks;
  while (*link && (*link)->memory != memory) link = &(*link)->next;
  cvy_block *block = *link;
  if (block) *link = block->next;
  return block;
}

bool cvy_host_free(convoy_context *context, void *memory) {
  cvy_block *block = unlink_block(context, memory);
  if (!block) return false;
  block->give_back(block->device, memory);
  free(block);
  return true;
}

bool cvy_host_has(const convoy_context *context, const void *at, int64_t bytes) {
  for (const cvy_block *block = context->blocks; block; block = block->next) {
    const uintptr_t into = (uintptr_t)at - (uintptr_t)block->memory; /* enormous before it */
    if (!block->device || into > block->bytes) continue;
    if ((uint64_t)bytes <= block->bytes - into) return true;
  }
  return false;
}

void cvy_blocks_orphan(convoy_context *context) {
  for (cvy_block *block = context->blocks; block; block = block->next) block->device = NULL;
}
