/* Who makes each value of a list and who reads it, as passes change the nodes: what a change
 * concerns is found without a look at all the others. */
#ifndef CVY_USES_H
#define CVY_USES_H

#include "core/graph/nodes.h"

/* One of the inputs of a node that is needed, by its number: CVY_MOST_READ for each node. */
typedef struct cvy_use {
  int32_t next, previous; /* of the same value, -1: none; in no particular order */
} cvy_use;

typedef struct cvy_uses {
  cvy_nodes *list;
  cvy_use *use;
  int32_t *maker; /* of each value the node that makes it, -1: none */
  int32_t *first; /* of each value one of its uses, -1: none */
  bool *changed;  /* of each node: it, or who reads its results, is another since this was reset */
  int32_t *pending; /* nodes that are about to be given up */
} cvy_uses;

/* All have changed. ERR_MEMORY; there is nothing to close then. The list gets no more nodes or
 * values. */
convoy_status cvy_uses_open(cvy_nodes *list, cvy_uses *out);
void cvy_uses_close(cvy_uses *uses);

static inline int32_t cvy_use_node(int32_t use) {
  return use / CVY_MOST_READ;
}
/* Before a needed node gets other inputs and outputs, and behind that. */
void cvy_uses_remove(cvy_uses *uses, int32_t n);
void cvy_uses_add(cvy_uses *uses, int32_t n);
/* The node is not needed any more, nor is what only it needed. Others make its results now, or
 * none does. */
void cvy_uses_give_up(cvy_uses *uses, int32_t n);
/* Whether any needed node reads one of the node's results. */
bool cvy_uses_any(const cvy_uses *uses, const cvy_graph_node *node);

#endif
