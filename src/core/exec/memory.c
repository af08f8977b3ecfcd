/* Memory of convoy_host_alloc: shared with the device's process if it has one, else ordinary. */
#include <stdlib.h>
#include <string.h>

#include "core/context.h"

enum { ALIGNMENT = 4096 };

struct cvy_host_allocation {
  cvy_host_allocation *next;
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

static void allocate(const cvy_engine *engine, size_t bytes, cvy_host_allocation *allocation) {
  allocation->bytes = bytes;
  if (engine->device && engine->backend->host_alloc) {
    allocation->memory = engine->backend->host_alloc(engine->device, bytes);
    allocation->give_back = engine->backend->host_free;
    allocation->device = engine->device;
  }
  if (!allocation->memory) {
    allocation->memory = ordinary(bytes);
    allocation->give_back = free_ordinary;
    allocation->device = NULL;
  }
}

convoy_status cvy_host_alloc(convoy_context *context, size_t bytes, void **out) {
  if (bytes == 0) {
    *out = NULL;
    return CONVOY_OK;
  }
  cvy_host_allocation *allocation = calloc(1, sizeof(*allocation));
  if (allocation) allocate(&context->device, bytes, allocation);
  if (!allocation || !allocation->memory) {
    free(allocation);
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %zu bytes", bytes);
  }
  allocation->next = context->host_allocations;
  context->host_allocations = allocation;
  atomic_fetch_add(&context->references, 1);
  *out = allocation->memory;
  return CONVOY_OK;
}

static cvy_host_allocation *unlink_allocation(convoy_context *context, const void *memory) {
  cvy_host_allocation **link = &context->host_allocations;
  while (*link && (*link)->memory != memory) link = &(*link)->next;
  cvy_host_allocation *allocation = *link;
  if (allocation) *link = allocation->next;
  return allocation;
}

bool cvy_host_free(convoy_context *context, void *memory) {
  cvy_host_allocation *allocation = unlink_allocation(context, memory);
  if (!allocation) return false;
  allocation->give_back(allocation->device, memory);
  free(allocation);
  return true;
}

bool cvy_host_has(const convoy_context *context, const void *at, int64_t bytes) {
  for (const cvy_host_allocation *allocation = context->host_allocations; allocation;
       allocation = allocation->next) {
    uintptr_t into = (uintptr_t)at - (uintptr_t)allocation->memory; /* enormous before it */
    if (!allocation->device || into > allocation->bytes) continue;
    if ((uint64_t)bytes <= allocation->bytes - into) return true;
  }
  return false;
}

void cvy_host_allocations_orphan(convoy_context *context) {
  for (cvy_host_allocation *allocation = context->host_allocations; allocation;
       allocation = allocation->next)
    allocation->device = NULL;
}
