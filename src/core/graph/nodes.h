/* A list of operations and of the values that they read and make: what a capture notes, and what
 * planning makes of it.
 *
 * Values are numbered. A value is what a tensor has when a run begins, or a result of a node; each
 * node reads values of earlier ones only. A list keeps the tensors that its values are of. */
#ifndef CVY_NODES_H
#define CVY_NODES_H

#include "core/tensor.h"
#include "problem/region.h"

typedef struct cvy_graph_value {
  int64_t bytes;
  convoy_tensor *tensor; /* whose value it is when `stage` begins; NULL: a node makes it */
  int32_t stage;         /* the first that was captured to read it: later ones read the same */
  int32_t origin;        /* that tensor's value in an earlier stage, which is one with it to
                            gradients and to counts of uses; of most itself */
  int32_t last_use;      /* the last node that reads it, -1: none */
  bool kept;             /* a tensor gets it at a run's end */
  int32_t first_output, last_output; /* of a kept one in a plan: the outputs that get it */
  bool detached;                     /* gradients do not go through it */
  int32_t inside;                    /* in a plan's memory it is part of this value, -1: of none */
  cvy_region region;                 /* and where it lies in that, which is part of none itself */
} cvy_graph_value;

/* Whether a run reads it from its tensor: one whose gradient is asked for need not be read. */
static inline bool cvy_graph_reads(const cvy_graph_value *value) {
  return value->tensor && (value->last_use >= 0 || value->kept);
}

typedef struct cvy_graph_node {
  int32_t inputs, outputs; /* as cvy_problem_reads and cvy_problem_outputs say */
  int32_t in[CVY_MOST_READ], out[CVY_MAX_OUTPUTS]; /* values */
  int32_t stage;                                   /* of the run, from 0 on (graph/stages.h) */
  bool needed;          /* something that a tensor gets is made of its results */
  bool idle;            /* in a plan's memory its results are there: it is not carried out */
  cvy_problem *problem; /* of as many bytes as count */
  cvy_problem *placed; /* the same with its arrays where they lie in a plan's memory; NULL: it is no
                          other */
} cvy_graph_node;

/* What a plan's one command carries out. */
static inline const cvy_problem *cvy_graph_node_placed(const cvy_graph_node *node) {
  return node->placed ? node->placed : node->problem;
}

typedef struct cvy_nodes {
  cvy_graph_node *node;
  cvy_graph_value *value;
  int32_t nodes, node_room, values, value_room;
  int32_t stage; /* of nodes that are added */
  bool borrows;  /* the tensors are kept by another list, or not at all */
} cvy_nodes;

/* All with the context's lock held. */

/* Room for so many more, so that adding them cannot fail. */
convoy_status cvy_nodes_reserve(cvy_nodes *list, int32_t nodes, int32_t values);
/* A value that is the tensor's when the stage begins. There must be room. */
int32_t cvy_nodes_add_input(cvy_nodes *list, convoy_tensor *tensor);
/* A node that reads these values, as many as cvy_problem_reads says; its results are new ones. NULL
 * with ERR_MEMORY's sentence. What it returns is valid until the next is added. */
cvy_graph_node *cvy_nodes_add(cvy_nodes *list, const cvy_problem *problem, const int32_t *in);
/* The problem with its arrays where they lie in a plan's memory. ERR_MEMORY. */
convoy_status cvy_nodes_set_placed(cvy_graph_node *node, const cvy_problem *placed);
/* Whether a run reads it from its tensor, and the same array not as its origin, too. */
bool cvy_nodes_reads_first(const cvy_nodes *list, int32_t value);
/* Every value in memory of its own again. */
void cvy_nodes_set_apart(cvy_nodes *list);
/* Another problem in the place of a node's. ERR_MEMORY, then nothing has changed. */
convoy_status cvy_nodes_replace(cvy_graph_node *node, const cvy_problem *problem);
/* What a node has, when it leaves its list. */
void cvy_nodes_free_node(cvy_graph_node *node);
/* Takes the last ones back, so that so many are left. */
void cvy_nodes_shorten(cvy_nodes *list, int32_t nodes, int32_t values);
/* A list of its own with the same nodes and values, which keeps no tensor. On failure `out` is
 * empty.
 */
convoy_status cvy_nodes_copy(const cvy_nodes *from, cvy_nodes *out);
void cvy_nodes_drop(cvy_nodes *list);
/* What is kept is known: finds which nodes are needed, and how long each value is. */
void cvy_nodes_finish(cvy_nodes *list);

#endif
