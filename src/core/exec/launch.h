/* Operations and transfers on the device, with what a failure of theirs brings: one that fails has
 * been dealt with (exec/recover.h) when it returns. Operands have their values on the host or there
 * already; who has to compute them first is exec/values.h's concern. */
#ifndef CVY_LAUNCH_H
#define CVY_LAUNCH_H

#include "core/exec/store.h"

/* The operation is about to be launched: the black box names a kernel's first use, after the one
 * before it has ended; whether this is one. Before the operands are uploaded, since waiting may
 * meet a fault that takes them. */
bool cvy_launch_announce(convoy_context *context, const cvy_problem *problem,
                         const cvy_choice *choice);
/* Gives the store, whose values the host has or which is zero, a copy on the device that is an
 * array there. */
convoy_status cvy_upload(cvy_store *store);
/* Gives the store an array whose contents are undefined, unless it has one. */
convoy_status cvy_launch_room(cvy_store *store);
/* A new block; values for parts of it; a plan, with all the jobs and copies that `send` appends to
 * it; and a run of it. */
convoy_status cvy_launch_block(convoy_context *context, int64_t bytes, cvy_block **out);
convoy_status cvy_launch_pack(cvy_block *block, int32_t count, const cvy_packed *parts);
typedef convoy_status cvy_launch_send(convoy_context *context, void *user, uint64_t plan);
convoy_status cvy_launch_plan(convoy_context *context, cvy_launch_send *send, void *user,
                              uint64_t plan);
/* The next run copies to the store, which has room. */
convoy_status cvy_launch_tap(cvy_store *to, uint64_t plan, int32_t step, int32_t count,
                             const cvy_tap *taps);
convoy_status cvy_launch_run(convoy_context *context, uint64_t plan, uint64_t run, int32_t bases,
                             const cvy_base *to, int64_t bytes);
/* Enqueues the operation, whose inputs are all there; `out` has its values on the device then. */
convoy_status cvy_launch(convoy_context *context, const cvy_node *node, const cvy_choice *choice,
                         cvy_store *const out[]);
/* Waits for everything up to `ticket`. ERR_INTERRUPTED if the call may be interrupted and was. */
convoy_status cvy_await(convoy_context *context, uint64_t ticket);
/* Waits for the store's values and copies them out; `to` is undefined on failure. */
convoy_status cvy_read_back(cvy_store *store, float *to);
/* Asks for a copy of them in the background, if there is room. */
convoy_status cvy_fetch(cvy_store *store);
convoy_status cvy_launch_peak(convoy_context *context, cvy_reply *out);

#endif
