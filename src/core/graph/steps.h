/* A run of a plan operation by operation, each as if it had been called, except that what is made
 * on the way is not kept on the device. Should it be wanted again, since the device was lost, it is
 * made anew from what the run read (exec/values.c). */
#ifndef CVY_STEPS_H
#define CVY_STEPS_H

#include "core/graph/plan.h"

/* Gives out[i], for each of the graph's outputs, a store with a reference; on failure nothing. One
 * of the operations, in turn, keeps what is needed to verify it (graph/taps.h). */
convoy_status cvy_run_steps(convoy_graph *graph, cvy_store *out[]);

#endif
