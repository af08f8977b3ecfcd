/* A run of a graph by one command to the device. */
#ifndef CVY_PLANNED_H
#define CVY_PLANNED_H

#include "core/graph/plan.h"

/* Gives out[i], for each of the graph's outputs, a store with a reference; on failure nothing.
 * ERR_UNSUPPORTED: the device does not carry it out so; else a fault, which has been dealt with. */
convoy_status cvy_run_planned(convoy_graph *graph, cvy_store *out[]);
/* Whether all that a run reads is on the device. */
bool cvy_planned_is_there(const convoy_graph *graph);

#endif
