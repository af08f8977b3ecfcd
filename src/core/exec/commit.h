/* Commits: the device copies a store's values out while the trainer goes on. */
#ifndef CVY_COMMIT_H
#define CVY_COMMIT_H

#include "core/exec/store.h"

/* Sees to it that the host gets the store's values. Waits only where the device does not have them,
 * where it cannot copy in the background, and, while too much is on its way, for the oldest of
 * that. Fails as cvy_store_fetch. */
convoy_status cvy_commit(cvy_store *store);
/* Takes the copies that have come. What goes wrong is reported when the store is read. */
void cvy_commits_take(convoy_context *context);

/* Runs of a graph after which the host gets what the next one reads, and after which it does even
 * where that takes more than its share of the time: a lost device costs so many runs of the CPU's
 * time at most, and three more that are under way. */
enum { CVY_COMMIT_EVERY = 16, CVY_COMMIT_AT_LAST = 128 };
/* After so many runs, for so many bytes, so long after the last time. */
bool cvy_commit_is_due(int32_t runs, double bytes, double seconds);

#endif
