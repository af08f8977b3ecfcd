/* A graph: operations that were captured instead of carried out, and the values they read and make.
 *
 * Values are numbered. A value is what a tensor has when a run begins, or a result of a node; nodes
 * are in the order in which they were captured, so each reads values of earlier ones only. A graph
 * refers to the tensors that it reads and to those that a run gives new values. */
#ifndef CVY_GRAPH_H
#define CVY_GRAPH_H

#include "core/tensor.h"

typedef struct cvy_graph_value {
  int64_t bytes;
  convoy_tensor *tensor; /* whose value it is at a run's beginning; NULL: a node makes it */
  const convoy_tensor *stood_for; /* the first that stood for it during the capture, to compare */
  int32_t last_use;               /* the last node that reads it, -1: none */
  bool kept;                      /* a tensor gets it at a run's end */
} cvy_graph_value;

/* Whether a run reads it from its tensor: one whose gradient is asked for need not be read. */
static inline bool cvy_graph_reads(const cvy_graph_value *value) {
  return value->tensor && (value->last_use >= 0 || value->kept);
}

typedef struct cvy_graph_node {
  int32_t inputs, outputs; /* as cvy_problem_reads and cvy_problem_outputs say */
  int32_t in[CVY_MOST_READ], out[CVY_MAX_OUTPUTS]; /* values */
  bool needed;          /* something that a tensor gets is made of its results */
  cvy_problem *problem; /* of as many bytes as count */
} cvy_graph_node;

typedef struct cvy_graph_output {
  convoy_tensor *tensor;
  int32_t value;
  bool carried; /* the next run reads it: weights, not a loss */
} cvy_graph_output;

enum { CVY_GRAPH_OUTSTANDING = 3 }; /* runs that may be under way */

struct convoy_graph {
  convoy_context *context; /* which it keeps from being used again */
  cvy_graph_node *node;
  cvy_graph_value *value;
  cvy_graph_output *output;
  int32_t nodes, node_room, values, value_room, outputs;
  uint64_t runs; /* the number of the next one, which random numbers depend on */
  uint64_t ticket[CVY_GRAPH_OUTSTANDING]; /* with which the last runs ended, in turn; 0: none */
  cvy_store *tap[CVY_GRAPH_OUTSTANDING];  /* what they kept to be verified, or NULL (taps.h) */
  int32_t next_tap;
};

/* All with the context's lock held. NULL with ERR_MEMORY's sentence. */
convoy_graph *cvy_graph_new(convoy_context *context);
void cvy_graph_drop(convoy_graph *graph);

/* Room for so many more, so that adding them cannot fail. */
convoy_status cvy_graph_reserve(convoy_graph *graph, int32_t nodes, int32_t values);
/* A value that is the tensor's when a run begins. */
int32_t cvy_graph_add_input(convoy_graph *graph, convoy_tensor *tensor);
/* A node that reads these values, as many as cvy_problem_reads says; its results are new ones. NULL
 * with ERR_MEMORY's sentence. What it returns is valid until the next is added. */
cvy_graph_node *cvy_graph_add(convoy_graph *graph, const cvy_problem *problem, const int32_t *in);
/* Takes the last ones back, so that so many are left. */
void cvy_graph_shorten(convoy_graph *graph, int32_t nodes, int32_t values);
/* What the tensors get is known: finds which nodes are needed, and how long each value is. */
void cvy_graph_finish(convoy_graph *graph);

/* Carries it out; the tensors get new values if all went well. With `run` it waits for them. */
convoy_status cvy_graph_run(convoy_graph *graph, convoy_run *run);
/* As convoy_graph_text. */
convoy_status cvy_graph_text(const convoy_graph *graph, char *text, size_t size);

#endif
