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

#endif
