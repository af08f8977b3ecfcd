/* The history of what a run by one command has made: the run as a whole. What a device has lost of
 * it is computed by the CPU engine from what the run read. */
#ifndef CVY_REPLAY_H
#define CVY_REPLAY_H

#include "core/graph/plan.h"

/* A node for run `run`, which reads these stores, as many as the plan has inputs; NULL with
 * ERR_MEMORY's sentence. */
cvy_node *cvy_replay_node(cvy_plan *plan, uint64_t run, cvy_store *const input[]);

#endif
