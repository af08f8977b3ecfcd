/* Stages: a graph that is carried out in several parts, one after the other, as forward and
 * backward passes are where a framework makes the gradient between them. They are planned
 * together, so that a stage computes again what an earlier one need not store; then each is a graph
 * of its own, and tensors of the graph's own carry what one leaves for the next. */
#ifndef CVY_STAGES_H
#define CVY_STAGES_H

#include "core/graph/graph.h"

/* Runs stage `stage` of the run under way; stage 0 begins one. ERR_ARGUMENT if it is not its turn.
 */
convoy_status cvy_graph_run_stage(convoy_graph *graph, int32_t stage, convoy_run *run);
/* All of them. Of a graph with one stage that is cvy_graph_run. */
convoy_status cvy_graph_run_all(convoy_graph *graph, convoy_run *run);

#endif
