/* What a plan consists of, in numbers. */
#ifndef CVY_PLAN_SUMMARY_H
#define CVY_PLAN_SUMMARY_H

#include "core/graph/plan.h"

/* The plan that runs on the context's device have, with a reference: a plan may be looked at before
 * there is a run. */
convoy_status cvy_plan_look(const convoy_graph *graph, cvy_plan **out);
/* out->struct_size is kept. */
convoy_status cvy_plan_sums(const convoy_graph *graph, const cvy_plan *plan,
                            convoy_graph_plan *out);
/* As convoy_plan_graph. */
convoy_status cvy_plan_summary(const convoy_graph *graph, convoy_graph_plan *out);

#endif
