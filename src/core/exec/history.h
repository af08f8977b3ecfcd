/* How a store was made, kept until the host has its values, so that a lost device loses nothing. */
#ifndef CVY_HISTORY_H
#define CVY_HISTORY_H

#include "core/exec/store.h"

/* Remembers how the node's results were made. It ends for each when the host has its values
 * (cvy_store_publish). */
void cvy_history_keep(cvy_node *node, cvy_store *const out[]);
/* Calls back to values that the host has or is about to get; a graph's run is one. */
int32_t cvy_history_depth(const cvy_store *store);
/* A chain of calls longer than this is cut by reading its end back: what it holds on to stays
 * bounded. */
enum { CVY_HISTORY_DEEPEST = 64 };
/* Whether that is due: a chain is longer than `deepest`, or many sums hold an earlier one. */
bool cvy_history_is_long(const cvy_store *store, int32_t deepest);
/* While histories hold more memory than options.history_limit: the store whose values the host
 * should get next; NULL: none. */
cvy_store *cvy_history_excess(const convoy_context *context);

#endif
