/* What tensors hold: writing, reading and committing it. The public functions on tensors end here.
 */
#ifndef CVY_CONTENTS_H
#define CVY_CONTENTS_H

#include "core/tensor.h"

/* All with the context's lock held, except cvy_tensor_free, which takes it. */
convoy_status cvy_tensor_write(convoy_tensor *tensor, const void *values, int64_t count);
convoy_status cvy_tensor_read(convoy_tensor *tensor, void *values, int64_t count);
convoy_status cvy_tensor_commit(convoy_tensor *tensor);
/* The user's handle goes; an open capture or a graph may hold on to it. */
void cvy_tensor_free(convoy_tensor *tensor);
/* Waits for everything enqueued. */
convoy_status cvy_sync(convoy_context *context);

#endif
