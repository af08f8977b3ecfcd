/* What tensors hold: writing, reading and committing it. The public functions on tensors end here.
 */
#ifndef CVY_CONTENTS_H
#define CVY_CONTENTS_H

#include "core/tensor.h"

/* All with the context's lock held, except cvy_tensor_free, which takes it. */
convoy_status cvy_tensor_write(convoy_tensor *tensor, const void *values, int64_t count);
convoy_status cvy_tensor_read(convoy_tensor *tensor, void *values, int64_t count);
/* The same for several, all or none. */
convoy_status cvy_tensors_write(convoy_context *context, int32_t count,
                                convoy_tensor *const tensors[], const void *const values[],
                                const int64_t counts[]);
/* Their values are the caller's until cvy_stores_own (exec/store.h). */
convoy_status cvy_tensors_lend(convoy_context *context, int32_t count,
                               convoy_tensor *const tensors[], const void *const values[],
                               const int64_t counts[]);
convoy_status cvy_tensors_read(convoy_context *context, int32_t count,
                               convoy_tensor *const tensors[], void *const values[],
                               const int64_t counts[]);
convoy_status cvy_tensor_commit(convoy_tensor *tensor);
/* `to` shares what `from` has; in a capture, what it stands for. */
convoy_status cvy_tensor_copy(convoy_tensor *from, convoy_tensor *to);
/* The user's handle goes; an open capture or a graph may hold on to it. */
void cvy_tensor_free(convoy_tensor *tensor);
/* What follows may be interrupted; an interruption that came before counts too. */
convoy_status cvy_begin_wait(convoy_context *context);
/* Waits for everything enqueued. */
convoy_status cvy_sync(convoy_context *context);

#endif
