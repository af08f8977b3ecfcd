/* Each block is a store that no tensor has: what befalls the device takes its array as that of
 * others. */
#include "core/graph/shared_memory.h"

#include <stdlib.h>

#include "core/exec/launch.h"

void cvy_shared_memory_use(convoy_context *context) {
  context->shared.plans++;
}

void cvy_shared_memory_drop(convoy_context *context) {
  cvy_shared_blocks *shared = &context->shared;
  for (int32_t i = 0; i < shared->count; i++) cvy_store_drop(shared->block[i]);
  free(shared->block);
  shared->block = NULL;
  shared->count = 0;
}

void cvy_shared_memory_leave(convoy_context *context) {
  if (--context->shared.plans == 0) cvy_shared_memory_drop(context);
}

static convoy_status add_blocks(convoy_context *context, int32_t count) {
  cvy_shared_blocks *shared = &context->shared;
  if (count <= shared->count) return CONVOY_OK;
  cvy_store **grown = realloc(shared->block, (size_t)count * sizeof *grown);
  if (!grown) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph");
  shared->block = grown;
  while (shared->count < count) grown[shared->count++] = NULL;
  return CONVOY_OK;
}

convoy_status cvy_shared_memory_block(convoy_context *context, int32_t number, int64_t bytes,
                                      uint64_t *array) {
  convoy_status status = add_blocks(context, number + 1);
  if (status) return status;
  cvy_store **block = &context->shared.block[number];
  if (*block && (*block)->bytes < bytes) {
    cvy_store_drop(*block);
    *block = NULL;
  }
  if (!*block) *block = cvy_store_new(context, bytes);
  if (!*block) return CONVOY_ERR_MEMORY;
  status = cvy_launch_room(*block);
  *array = (*block)->array;
  return status;
}
