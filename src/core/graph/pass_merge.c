/* A network has hundreds of small updates: of each parameter, and of the running statistics of each
 * batch norm. A device is done with one of them before the next has begun. Of those over equally
 * many elements, as many as have room in one problem become one (problem/fuse.h).
 *
 * Only what nothing in the run reads is moved so, to where the last of them is: as nothing waits
 * for it, no other order of operations is needed. What it reads is held until then, so that is to
 * be little, or nothing but what is not read is to lie between. */
#include <stdlib.h>

#include "core/graph/fusing.h"

/* Statistics of thousands of channels. */
#define MOST_HELD (64 << 10)

/* So many that come next, of as many elements, are looked at, and tried, for each. */
enum { MOST_LOOKS = 512, MOST_TRIES = 64, NONE = -1 };

/* Of each node. */
typedef struct ends {
  int32_t *next;    /* of an end: the next with results of as many bytes, in the same stage */
  int32_t *barrier; /* the first node behind it that is no end and needed */
} ends;

static bool is_end(const cvy_uses *uses, const cvy_graph_node *node) {
  return node->needed && !cvy_uses_any(uses, node);
}

/* Of what the run has computed. */
static int64_t bytes_held(const cvy_nodes *list, const cvy_graph_node *node) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < node->inputs; i++) {
    const cvy_graph_value *value = &list->value[node->in[i]];
    if (!value->tensor) bytes += value->bytes;
  }
  return bytes;
}

/* What is worth a try, which is much work. */
static bool is_match(const cvy_graph_node *a, const cvy_graph_node *b) {
  return a->outputs + b->outputs <= CVY_MAX_OUTPUTS;
}

/* The next after n that does the work of both. */
static int32_t find_partner(const cvy_plan *plan, const ends *all, int32_t n, cvy_fused *out) {
  const cvy_nodes *list = &plan->list;
  const cvy_graph_node *node = &list->node[n];
  bool far = bytes_held(list, node) <= MOST_HELD;
  uint32_t results = (1u << node->outputs) - 1;
  int32_t end = far ? list->nodes : all->barrier[n], looks = MOST_LOOKS, tries = MOST_TRIES;
  if (node->outputs == CVY_MAX_OUTPUTS) return NONE;
  for (int32_t m = all->next[n]; m != NONE && m < end && looks-- && tries; m = all->next[m]) {
    if (!is_match(node, &list->node[m])) continue;
    if (cvy_plan_fuses(plan, n, m, results, out)) return m;
    tries--;
  }
  return NONE;
}

/* ---------------------------------------------------------------------------------------- kinds
 */

typedef struct end_kind {
  int64_t bytes;
  int32_t stage, node;
} end_kind;

static int by_kind(const void *left, const void *right) {
  const end_kind *a = left, *b = right;
  if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
  return a->node < b->node ? -1 : 1;
}

/* `kinds` has room for all. */
static void find_ends(const cvy_uses *uses, end_kind *kinds, const ends *out) {
  const cvy_nodes *list = uses->list;
  int32_t count = 0, barrier = list->nodes;
  for (int32_t n = list->nodes - 1; n >= 0; n--) {
    const cvy_graph_node *node = &list->node[n];
    bool end = is_end(uses, node);
    out->barrier[n] = barrier;
    out->next[n] = NONE;
    if (end) kinds[count++] = (end_kind){list->value[node->out[0]].bytes, node->stage, n};
    if (!end && node->needed) barrier = n;
  }
  qsort(kinds, (size_t)count, sizeof *kinds, by_kind);
  for (int32_t i = 0; i < count; i++) {
    bool last = i + 1 == count || kinds[i].bytes != kinds[i + 1].bytes ||
                kinds[i].stage != kinds[i + 1].stage;
    out->next[kinds[i].node] = last ? NONE : kinds[i + 1].node;
  }
}

/* An end stays one, of as many bytes, whatever becomes part of it. */
static convoy_status merge(const cvy_plan *plan, cvy_uses *uses, const ends *all) {
  const cvy_nodes *list = &plan->list;
  convoy_status status = CONVOY_OK;
  for (int32_t n = 0; n < list->nodes && !status; n++) {
    cvy_fused fused;
    int32_t partner = is_end(uses, &list->node[n]) ? find_partner(plan, all, n, &fused) : NONE;
    if (partner == NONE) continue;
    status = cvy_node_take_over(uses, partner, &fused);
    if (!status) cvy_node_give_up(uses, n);
  }
  return status;
}

convoy_status cvy_pass_merge(cvy_plan *plan) {
  size_t nodes = (size_t)plan->list.nodes + 1;
  cvy_uses uses;
  convoy_status status = cvy_uses_open(&plan->list, &uses);
  if (status) return status;
  end_kind *kinds = malloc(nodes * sizeof *kinds);
  const ends all = {malloc(nodes * sizeof(int32_t)), malloc(nodes * sizeof(int32_t))};
  if (kinds && all.next && all.barrier) {
    find_ends(&uses, kinds, &all);
    status = merge(plan, &uses, &all);
  } else {
    status = cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  }
  free(kinds);
  free(all.next);
  free(all.barrier);
  cvy_uses_close(&uses);
  return status;
}
