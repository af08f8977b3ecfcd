/* Graphs that read or write foreign memory (exec/foreign.h): what is different about their
 * runs. They go into its owner's stream, are waited for only to be proved, nothing of
 * them is sampled later, and what they make has no history, since what they read may change. */
#ifndef CVY_FOREIGN_GRAPH_H
#define CVY_FOREIGN_GRAPH_H

#include "core/graph/plan.h"

/* Whether memory that a run writes overlaps what it reads under another tensor. */
convoy_status cvy_foreign_graph_check(convoy_graph *graph);
/* Whether the stream is being recorded: then what a run would have to wait for is refused. */
convoy_status cvy_foreign_graph_recording(const convoy_graph *graph, bool *recorded);
/* Fails with why a run cannot be recorded. */
convoy_status cvy_foreign_graph_refuse(convoy_context *context);
/* Brings results home that were made elsewhere; out[i] is the tensor's own store then. */
convoy_status cvy_foreign_graph_land(const convoy_graph *graph, cvy_store *out[]);
/* All of the run is in the stream. Gives back memory that the next run may get, and forgets what
 * the host has of memory that may change. */
convoy_status cvy_foreign_graph_end(const convoy_graph *graph);

#endif
