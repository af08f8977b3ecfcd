/* A plan: a graph made ready for the engine at hand. Its operations are others than those that were
 * captured, fewer of them, but what tensors get is the same: programs to the bit, sums and
 * convolutions within their bounds. It is a pure function of the graph, the device's facts and the
 * settings.
 *
 * It is counted by references: the graph's, and those of the runs that it is the history of. It
 * does not keep the graph's tensors. */
#ifndef CVY_PLAN_H
#define CVY_PLAN_H

#include "core/graph/graph.h"

typedef struct cvy_device_plan cvy_device_plan;

struct cvy_plan {
  int references;
  const cvy_engine *engine;
  cvy_chooser *chooser; /* the context's, while it is made */
  cvy_nodes list;
  int32_t inputs, outputs;
  int32_t *input;          /* the values that a run reads from tensors */
  int32_t *result;         /* the value that each of the graph's outputs gets */
  bool *carried;           /* whether the next run reads it */
  bool *foreign;           /* and whether it is for foreign memory */
  cvy_device_plan *device; /* how a device carries it out by one command; NULL: not yet */
};

/* One reference. ERR_MEMORY. */
convoy_status cvy_plan_make(const convoy_graph *graph, const cvy_engine *engine, cvy_plan **out);
cvy_plan *cvy_plan_keep(cvy_plan *plan);
void cvy_plan_drop(cvy_plan *plan); /* NULL allowed */
/* Whether values lie within others; then each in memory of its own, and a device is told anew. */
bool cvy_plan_has_views(const cvy_plan *plan);
void cvy_plan_set_apart(cvy_plan *plan);

/* -------------------------------------------------------------------------------------- passes */

/* Each changes the list's nodes so that it says the same with less; what is not needed any more is
 * left out when all have run. */

/* Nodes that compute the same of the same are one. */
convoy_status cvy_pass_common(cvy_plan *plan);
/* Programs become part of the programs and reductions that read them. */
convoy_status cvy_pass_fuse(cvy_plan *plan);
/* Updates over equally many elements, which nothing in the run reads, become one. */
convoy_status cvy_pass_merge(cvy_plan *plan);
/* What is cheap is computed again instead of kept, where memory is short. */
convoy_status cvy_pass_recompute(cvy_plan *plan);
/* Arrays lie where a concatenation would put them, and where a slice would be taken from. */
convoy_status cvy_pass_views(cvy_plan *plan);

#endif
