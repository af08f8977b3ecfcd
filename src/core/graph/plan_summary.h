/* What a plan consists of, in numbers for whoever asks. */
#ifndef CVY_PLAN_SUMMARY_H
#define CVY_PLAN_SUMMARY_H

#include "core/graph/graph.h"

/* As convoy_plan_graph. */
convoy_status cvy_plan_summary(const convoy_graph *graph, convoy_graph_plan *out);

#endif
