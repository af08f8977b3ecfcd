/* Values of stores, wherever they are: what the device has is read back and judged, what it has
 * lost is computed anew. */
#ifndef CVY_VALUES_H
#define CVY_VALUES_H

#include "core/exec/store.h"

/* Makes sure the host has the store's values. */
convoy_status cvy_store_fetch(cvy_store *store);
/* The same for all that the node reads. */
convoy_status cvy_node_fetch(const cvy_node *node);
/* Copies the store's values out; `values` is untouched on failure. But memory that the device's
 * process reaches it fills itself: the store keeps its history then instead of a copy on the host,
 * and `values` is undefined on failure. Nothing that the store is made from may lie there. */
convoy_status cvy_store_read(cvy_store *store, float *values);
/* Whether that is so: the device can bring the values there itself, which a copy on the host would
 * only hold up. */
bool cvy_store_is_direct(const cvy_store *store, const float *values);

/* Gives `out`, new stores, the node's results by the CPU engine. */
convoy_status cvy_compute_stores(convoy_context *context, const cvy_node *node,
                                 cvy_store *const out[]);
/* Makes sure the device has them. A fault met on the way may take others that it had. */
convoy_status cvy_store_send(cvy_store *store);
/* Brings what the node reads to the device and enqueues it there, with this choice. */
convoy_status cvy_enqueue(convoy_context *context, const cvy_node *node, const cvy_choice *choice,
                          cvy_store *const out[]);
/* The same for an operation that counts; nothing is computed elsewhere. Results of a kind not
 * proven yet are read back and judged before anybody uses them, and so are those that foreign
 * memory has to do with, unless all are for such. */
convoy_status cvy_perform_chosen(convoy_context *context, cvy_node *node, const cvy_choice *choice,
                                 cvy_store *const out[]);
/* Reads back what tensors have until histories hold no more than options.history_limit. */
void cvy_limit_history(convoy_context *context);
/* Verifies what a run of a graph tapped, where all that is needed for it is still there; where it
 * is wrong that is a fault like any other. Fails where that is final. */
convoy_status cvy_verify_tapped(cvy_store *store);
/* One line and one event: the CPU has computed what the device was to. */
void cvy_report_failover(convoy_context *context, const cvy_problem *problem);

#endif
