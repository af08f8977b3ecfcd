/* A network has hundreds of small updates: of each parameter, and of the running statistics of each
 * batch norm. A device is done with one of them before the next has begun. Of those over equally
 * many elements, as many as have room in one problem become one (problem/fuse.h).
 *
 * Only what nothing in the run reads is moved so, to where the last of them is: as nobody waits for
 * it, no other order of operations is needed. What it reads is held until then, so that is to be
 * little, or nothing but what nobody reads is to lie between. */
#include "core/graph/fusing.h"

/* Statistics of thousands of channels. */
#define MOST_HELD (64 << 10)

static bool is_end(const cvy_nodes *list, const cvy_graph_node *node) {
  if (!node->needed) return false;
  for (int32_t r = 0; r < node->outputs; r++)
    if (list->value[node->out[r]].last_use >= 0) return false;
  return true;
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

/* What is worth a look: most nodes are no match, and to fuse is much work. */
static bool is_match(const cvy_nodes *list, const cvy_graph_node *a, const cvy_graph_node *b) {
  return a->stage == b->stage && a->outputs + b->outputs <= CVY_MAX_OUTPUTS &&
         list->value[a->out[0]].bytes == list->value[b->out[0]].bytes;
}

/* The next after n that does the work of both. */
static int32_t find_partner(const cvy_plan *plan, int32_t n, cvy_fused *out) {
  const cvy_nodes *list = &plan->list;
  const cvy_graph_node *node = &list->node[n];
  bool far = bytes_held(list, node) <= MOST_HELD;
  uint32_t all = (1u << node->outputs) - 1;
  for (int32_t m = n + 1; m < list->nodes; m++) {
    bool end = is_end(list, &list->node[m]);
    if (!end && list->node[m].needed && !far) break;
    if (end && is_match(list, node, &list->node[m]) && cvy_plan_fuses(plan, n, m, all, out))
      return m;
  }
  return -1;
}

convoy_status cvy_pass_merge(cvy_plan *plan) {
  cvy_nodes *list = &plan->list;
  convoy_status status = CONVOY_OK;
  for (int32_t n = 0; n < list->nodes && !status; n++) {
    cvy_fused fused;
    int32_t partner = is_end(list, &list->node[n]) ? find_partner(plan, n, &fused) : -1;
    if (partner < 0) continue;
    status = cvy_node_take_over(&list->node[partner], &fused);
    if (!status) cvy_node_give_up(list, n);
  }
  return status;
}
