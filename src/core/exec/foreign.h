/* Foreign memory: arrays on the device that belong to a framework in this process, which reads and
 * writes them on a stream of its own. Promises about values that outlive the device, and about
 * results that are computed elsewhere, do not hold for it: a fault is the call's error.
 *
 * A result for foreign memory is a new store like every other, with a home. It is computed in place
 * where it need not be looked at before it is used; else it is proved in memory of our own, and
 * copied home on the device. */
#ifndef CVY_FOREIGN_H
#define CVY_FOREIGN_H

#include "core/exec/store.h"

/* A foreign store over [address, address + bytes) of the device. */
convoy_status cvy_foreign_new(convoy_context *context, uint64_t address, int64_t bytes,
                              cvy_store **out);
/* Fails with what has become of its device. */
convoy_status cvy_foreign_gone(const cvy_store *store);
/* Makes a failure of the device the call's, with what it means for foreign memory. */
convoy_status cvy_foreign_fail(const convoy_context *context, convoy_status status);

/* Whether the node reads foreign memory, or a result is for such. */
bool cvy_foreign_concerns(const cvy_node *node, cvy_store *const out[]);
/* Whether all results are for foreign memory and none is to be judged, so that nobody looks at them
 * before they are home. Those that do not lie over what is read get that memory. */
bool cvy_foreign_place(const cvy_node *node, cvy_store *const out[]);
/* Whether the node may be carried out so: while the stream is recorded only what was carried out
 * before, and `leaves` us, as cvy_foreign_place says. */
convoy_status cvy_foreign_admit(convoy_context *context, const cvy_node *node,
                                const cvy_choice *choice, bool leaves, bool *recorded);
/* Brings a result home that is not there yet. */
convoy_status cvy_foreign_land(cvy_store *out);
/* Copies values to a foreign store, on the device where they are there. */
convoy_status cvy_foreign_bring(cvy_store *from, cvy_store *home);
/* Writes values, NULL: zeros. */
convoy_status cvy_foreign_write(cvy_store *store, const float *values);
/* What was read of it serves until now. */
void cvy_foreign_forget(cvy_store *store);
/* All commands are in the stream: what somebody else puts there comes behind them. */
convoy_status cvy_foreign_enqueued(convoy_context *context);
convoy_status cvy_foreign_stream(convoy_context *context, uint64_t stream);
convoy_status cvy_foreign_allocator(convoy_context *context, const cvy_allocator *allocator);
/* Memory that the device may use until it is taken back, which tells how much it took, here and
 * from the allocator. Without an allocator it takes none. */
convoy_status cvy_foreign_lend(convoy_context *context, uint64_t address, int64_t bytes);
int64_t cvy_foreign_take_back(convoy_context *context);

#endif
