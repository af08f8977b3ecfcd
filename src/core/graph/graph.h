/* A graph: operations that were captured instead of carried out, and the values they read and make.
 * It refers to the tensors that it reads and to those that a run gives new values. */
#ifndef CVY_GRAPH_H
#define CVY_GRAPH_H

#include "core/graph/nodes.h"

typedef struct cvy_graph_output {
  convoy_tensor *tensor;
  int32_t value;
  int32_t stage; /* that gives it to the tensor */
  bool carried;  /* the next run reads it: weights, not a loss */
} cvy_graph_output;

typedef struct cvy_planned_tap cvy_planned_tap;

enum { CVY_GRAPH_OUTSTANDING = 3 }; /* runs that may be under way */

typedef struct cvy_plan cvy_plan;

struct convoy_graph {
  convoy_context *context; /* which it keeps from being used again */
  cvy_plan *plan;          /* what is carried out; NULL until the first run */
  cvy_nodes list;          /* in the order in which they were captured */
  bool is_stage;           /* of another graph, in whose plan it has been planned */
  bool foreign;            /* it reads or writes foreign memory (foreign_graph.h)... */
  uint64_t moves;          /* ...which was looked at when so often some had been moved */
  convoy_graph **stage;    /* where it has several (stages.h); NULL until the first run */
  convoy_tensor **between; /* what they leave for each other */
  int32_t stages, tensors_between, next_stage;
  cvy_graph_output *output;
  int32_t outputs;
  uint64_t seed;    /* of random numbers, as it was when the capture began */
  uint64_t runs;    /* the number of the next one, which random numbers depend on */
  double committed; /* when the host was last given what the next run read */
  uint64_t ticket[CVY_GRAPH_OUTSTANDING]; /* with which the last runs ended, in turn; 0: none */
  /* What they kept to be verified, or NULL: taps.h, planned_taps.h. */
  cvy_store *tap[CVY_GRAPH_OUTSTANDING];
  cvy_planned_tap *planned_tap[CVY_GRAPH_OUTSTANDING];
  int32_t next_tap;
  int64_t untapped; /* operations since the last that was tapped */
};

/* All with the context's lock held. NULL with ERR_MEMORY's sentence. */
convoy_graph *cvy_graph_new(convoy_context *context);
void cvy_graph_drop(convoy_graph *graph);
void cvy_graph_drop_stages(convoy_graph *graph);

/* What the tensors get is known: finds which nodes are needed, and how long each value is. */
void cvy_graph_finish(convoy_graph *graph);

/* Carries it out; the tensors get new values if all went well. With `run` it waits for them. */
convoy_status cvy_graph_run(convoy_graph *graph, convoy_run *run);
/* As convoy_graph_text. */
convoy_status cvy_graph_text(const convoy_graph *graph, char *text, size_t size);

#endif
