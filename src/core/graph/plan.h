/* A plan: a graph made ready for the engine at hand. Its operations are others than those that were
 * captured, fewer of them, but what tensors get is the same: programs to the bit, sums and
 * convolutions within their bounds. It is a pure function of the graph, the device's facts and the
 * settings. */
#ifndef CVY_PLAN_H
#define CVY_PLAN_H

#include "core/graph/graph.h"

struct cvy_plan {
  cvy_nodes list;
  int32_t *result; /* the value that each of the graph's outputs gets */
  const cvy_engine *engine;
};

/* ERR_MEMORY. */
convoy_status cvy_plan_make(const convoy_graph *graph, const cvy_engine *engine, cvy_plan **out);
void cvy_plan_drop(cvy_plan *plan); /* NULL allowed */

/* -------------------------------------------------------------------------------------- passes */

/* Each changes the list's nodes so that it says the same with less; what is not needed any more is
 * left out when all have run. */
/* Nodes that compute the same of the same are one. */
convoy_status cvy_pass_common(cvy_plan *plan, int32_t outputs);
/* Programs become part of the programs and reductions that read them. */
convoy_status cvy_pass_fuse(cvy_plan *plan, int32_t outputs);

#endif
