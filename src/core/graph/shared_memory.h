/* Device memory for what runs of graphs make on their way. All graphs of a context share it, since
 * they run one after the other; it is there as long as one of them is carried out by plans. */
#ifndef CVY_SHARED_MEMORY_H
#define CVY_SHARED_MEMORY_H

#include "core/exec/store.h"

/* A plan that uses it is made, and goes. */
void cvy_shared_memory_use(convoy_context *context);
void cvy_shared_memory_leave(convoy_context *context);
/* Array `*array` of at least `bytes` for block `number`. Fails as a command to the device. */
convoy_status cvy_shared_memory_block(convoy_context *context, int32_t number, int64_t bytes,
                                      uint64_t *array);
/* The context closes. */
void cvy_shared_memory_drop(convoy_context *context);

#endif
