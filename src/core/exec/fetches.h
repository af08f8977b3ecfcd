/* Stores whose values are on their way to the host in the background. A copy on its way is
 * nobody's: it lands in memory of the backend, and the store keeps its device copy and its history
 * until it has been taken from there. Thus, whatever happens in between, what was committed before
 * is there, and the new values are read or computed again. */
#ifndef CVY_FETCHES_H
#define CVY_FETCHES_H

#include "core/exec/store.h"

/* Asks the device for a copy. Without one on its way afterwards (store->fetch), there is no
 * room. */
convoy_status cvy_fetch_begin(cvy_store *store);
/* The store's copy has been taken, or is not to be had any more. */
void cvy_fetch_end(cvy_store *store);
/* It is not wanted any more, whether there is one or not. */
void cvy_fetch_forget(cvy_store *store);
/* Command `first` and later ones have not been carried out, nor the copies they would have made. */
void cvy_fetches_void(convoy_context *context, uint64_t first);

#endif
