/* Many small arrays between host and device: a command for each takes longer than their bytes, so
 * those that go together, or lie side by side, are one array on the way. */
#ifndef CVY_TOGETHER_H
#define CVY_TOGETHER_H

#include "core/exec/store.h"

/* Brings those to the device that are small, and that only the host has; the others are left. */
convoy_status cvy_send_together(convoy_context *context, int32_t count, cvy_store *const stores[]);

/* Part of a block, in which some stores lie side by side, as one store, and its values. */
typedef struct cvy_span {
  cvy_store *store;
  float *values;
} cvy_span;

/* Reads those that are small and lie side by side in a block, judges them as any other, and lets
 * `arrived` of each point to its values, until cvy_spans_drop. The stores keep their histories
 * instead of a copy. The others, and after a fault any, are left. `spans` has room for `count`. */
convoy_status cvy_read_together(int32_t count, cvy_store *const stores[], cvy_span *spans,
                                int32_t *made);
void cvy_spans_drop(int32_t made, cvy_span *spans, int32_t count, cvy_store *const stores[]);

#endif
