/* Many small arrays between host and device: a command for each takes longer than their bytes, so
 * those that go together, or lie side by side, are one array on the way. */
#ifndef CVY_TOGETHER_H
#define CVY_TOGETHER_H

#include "core/exec/store.h"

/* Brings those to the device that are small, and that only the host has; the others are left. */
convoy_status cvy_send_together(convoy_context *context, int32_t count, cvy_store *const stores[]);
/* Makes sure the host has those that are small and lie side by side in a block; the others, and
 * after a fault any, are left. */
convoy_status cvy_fetch_together(int32_t count, cvy_store *const stores[]);

#endif
