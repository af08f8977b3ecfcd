/* Blocks of device memory. */
#include "core/exec/block.h"

#include <stdlib.h>

#include "core/exec/device.h"

convoy_status cvy_block_new(convoy_context *context, int64_t bytes, cvy_block **out) {
  cvy_block *block = malloc(sizeof *block);
  if (!block) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a block of the device's");
  *block = (cvy_block){context, ++context->last_id, bytes, 1};
  const cvy_command command = {CVY_ALLOCATE, .allocate = {block->array, bytes}};
  convoy_status status = cvy_device_execute(context, &command);
  if (status)
    cvy_block_drop(block);
  else
    *out = block;
  return status;
}

void cvy_block_drop(cvy_block *block) {
  if (!block || --block->references > 0) return;
  cvy_device_release(block->context, block->array);
  free(block);
}
