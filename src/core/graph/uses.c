/* Uses as a list for each value. */
#include "core/graph/uses.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

static void link_use(cvy_uses *uses, int32_t use, int32_t value) {
  int32_t next = uses->first[value];
  uses->use[use] = (cvy_use){next, NONE};
  if (next != NONE) uses->use[next].previous = use;
  uses->first[value] = use;
}

static void unlink_use(cvy_uses *uses, int32_t use, int32_t value) {
  const cvy_use *gone = &uses->use[use];
  if (gone->next != NONE) uses->use[gone->next].previous = gone->previous;
  if (gone->previous != NONE)
    uses->use[gone->previous].next = gone->next;
  else
    uses->first[value] = gone->next;
}

/* The maker of what it reads has another reader, or one less. */
static void note_change(cvy_uses *uses, int32_t n) {
  const cvy_graph_node *node = &uses->list->node[n];
  uses->changed[n] = true;
  for (int32_t i = 0; i < node->inputs; i++) {
    int32_t maker = uses->maker[node->in[i]];
    if (maker != NONE) uses->changed[maker] = true;
  }
}

void cvy_uses_add(cvy_uses *uses, int32_t n) {
  const cvy_graph_node *node = &uses->list->node[n];
  for (int32_t i = 0; i < node->inputs; i++) link_use(uses, n * CVY_MOST_READ + i, node->in[i]);
  for (int32_t i = 0; i < node->outputs; i++) uses->maker[node->out[i]] = n;
  note_change(uses, n);
}

void cvy_uses_remove(cvy_uses *uses, int32_t n) {
  const cvy_graph_node *node = &uses->list->node[n];
  for (int32_t i = 0; i < node->inputs; i++) unlink_use(uses, n * CVY_MOST_READ + i, node->in[i]);
  note_change(uses, n);
}

bool cvy_uses_any(const cvy_uses *uses, const cvy_graph_node *node) {
  for (int32_t i = 0; i < node->outputs; i++)
    if (uses->first[node->out[i]] != NONE) return true;
  return false;
}

static bool is_wanted(const cvy_uses *uses, const cvy_graph_node *node) {
  for (int32_t i = 0; i < node->outputs; i++)
    if (uses->list->value[node->out[i]].kept) return true;
  return cvy_uses_any(uses, node);
}

void cvy_uses_give_up(cvy_uses *uses, int32_t n) {
  int32_t count = 0;
  uses->list->node[n].needed = false;
  for (uses->pending[count++] = n; count > 0;) {
    int32_t gone = uses->pending[--count];
    const cvy_graph_node *node = &uses->list->node[gone];
    cvy_uses_remove(uses, gone);
    for (int32_t i = 0; i < node->inputs; i++) {
      int32_t maker = uses->maker[node->in[i]];
      cvy_graph_node *made_it = maker == NONE ? NULL : &uses->list->node[maker];
      if (!made_it || !made_it->needed || is_wanted(uses, made_it)) continue;
      made_it->needed = false;
      uses->pending[count++] = maker;
    }
  }
}

/* ------------------------------------------------------------------------------ open and close */

static void fill(cvy_uses *uses) {
  const cvy_nodes *list = uses->list;
  for (int32_t v = 0; v < list->values; v++) uses->maker[v] = uses->first[v] = NONE;
  for (int32_t n = 0; n < list->nodes; n++)
    if (list->node[n].needed) cvy_uses_add(uses, n);
}

convoy_status cvy_uses_open(cvy_nodes *list, cvy_uses *out) {
  size_t nodes = (size_t)list->nodes + 1, values = (size_t)list->values + 1;
  *out = (cvy_uses){.list = list,
                    .use = malloc(nodes * CVY_MOST_READ * sizeof(cvy_use)),
                    .maker = malloc(values * sizeof(int32_t)),
                    .first = malloc(values * sizeof(int32_t)),
                    .changed = calloc(nodes, sizeof(bool)),
                    .pending = malloc(nodes * sizeof(int32_t))};
  if (out->use && out->maker && out->first && out->changed && out->pending) {
    fill(out);
    return CONVOY_OK;
  }
  cvy_uses_close(out);
  return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan of %d nodes", (int)list->nodes);
}

void cvy_uses_close(cvy_uses *uses) {
  free(uses->use);
  free(uses->maker);
  free(uses->first);
  free(uses->changed);
  free(uses->pending);
  *uses = (cvy_uses){0};
}
