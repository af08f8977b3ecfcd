/* Common subexpressions: a network's own, and those that gradients bring along. */
#include <stdlib.h>

#include "core/graph/plan.h"
#include "problem/operation.h"

/* A node by what it computes. */
typedef struct indexed {
  uint64_t hash; /* spares most a look at the problem */
  int32_t next;  /* in its bucket */
} indexed;

/* All nodes, in as many buckets at least. */
typedef struct index {
  uint64_t buckets; /* a power of two */
  int32_t *first;
  indexed *node;
} index_of_nodes;

static uint64_t hash_of(const cvy_graph_node *node) {
  return cvy_hash(cvy_problem_hash(node->problem), node->in,
                  (size_t)node->inputs * sizeof *node->in);
}

/* Two operations with random numbers have others, and so other problems. */
static bool is_same(const cvy_graph_node *a, const cvy_graph_node *b) {
  return cvy_problem_equal(a->problem, b->problem) &&
         memcmp(a->in, b->in, (size_t)a->inputs * sizeof *a->in) == 0;
}

static int32_t find(const cvy_nodes *list, const index_of_nodes *index, int32_t n) {
  uint64_t hash = index->node[n].hash;
  int32_t at = index->first[hash & (index->buckets - 1)];
  while (at >= 0 && (index->node[at].hash != hash || !is_same(&list->node[at], &list->node[n])))
    at = index->node[at].next;
  return at;
}

static void add(index_of_nodes *index, int32_t n) {
  int32_t *first = &index->first[index->node[n].hash & (index->buckets - 1)];
  index->node[n].next = *first;
  *first = n;
}

/* What each value is replaced by, itself for most. */
static void replace_inputs(cvy_graph_node *node, const int32_t *instead) {
  for (int32_t i = 0; i < node->inputs; i++) node->in[i] = instead[node->in[i]];
}

static void merge(cvy_nodes *list, index_of_nodes *index, int32_t *instead) {
  for (int32_t n = 0; n < list->nodes; n++) {
    cvy_graph_node *node = &list->node[n];
    replace_inputs(node, instead);
    index->node[n].hash = hash_of(node);
    int32_t same = find(list, index, n);
    if (same < 0) {
      add(index, n);
      continue;
    }
    for (int32_t i = 0; i < node->outputs; i++) instead[node->out[i]] = list->node[same].out[i];
  }
}

convoy_status cvy_pass_common(cvy_plan *plan) {
  cvy_nodes *list = &plan->list;
  index_of_nodes index = {.buckets = 1};
  while (index.buckets < (uint64_t)list->nodes) index.buckets *= 2;
  int32_t *instead = malloc(((size_t)list->values + 1) * sizeof *instead);
  index.first = malloc(index.buckets * sizeof *index.first);
  index.node = malloc(((size_t)list->nodes + 1) * sizeof *index.node);
  convoy_status status = CONVOY_OK;
  if (instead && index.first && index.node) {
    for (int32_t v = 0; v < list->values; v++) instead[v] = v;
    for (uint64_t i = 0; i < index.buckets; i++) index.first[i] = -1;
    merge(list, &index, instead);
    for (int32_t i = 0; i < plan->outputs; i++) plan->result[i] = instead[plan->result[i]];
  } else {
    status = cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  }
  free(instead);
  free(index.first);
  free(index.node);
  return status;
}
