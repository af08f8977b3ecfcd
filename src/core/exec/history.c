/* Chains of operations behind stores, and how much of them is kept. */
#include "core/exec/history.h"

/* Sums are cut sooner, since each link holds a whole earlier sum. */
enum { MOST_ACCUMULATED = 8 };

int32_t cvy_history_depth(const cvy_store *store) {
  return store->fetch ? 0 : store->depth;
}

static int32_t depth_behind(const cvy_node *node) {
  int32_t deepest = 0;
  for (int32_t i = 0; i < node->inputs; i++) {
    int32_t depth = cvy_history_depth(node->input[i]);
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}

void cvy_history_keep(cvy_node *node, cvy_store *const out[]) {
  const cvy_store *prior = cvy_node_prior(node);
  int32_t run = out[0]->context->run_depth;
  int32_t depth = run ? run : 1 + depth_behind(node);
  node->in_run = run > 0;
  for (int32_t i = 0; i < node->outputs; i++) {
    cvy_store_remember(out[i], node, i);
    out[i]->depth = depth;
    out[i]->accumulated = prior && !prior->fetch && i == 0 ? 1 + prior->accumulated : 0;
  }
}

bool cvy_history_is_long(const cvy_store *store, int32_t deepest) {
  return store->depth > deepest || store->accumulated > MOST_ACCUMULATED;
}

/* The oldest store that a tensor has and only the device has the values of: what is held for it is
 * held for the longest time. */
static cvy_store *oldest_committable(const convoy_context *context) {
  cvy_store *oldest = NULL;
  for (cvy_store *each = context->stores; each; each = each->next) {
    bool a_tensors = each->references > each->held;
    if (a_tensors && each->history && !each->status) oldest = each;
  }
  return oldest;
}

cvy_store *cvy_history_excess(const convoy_context *context) {
  if (context->health.history_bytes <= context->options.history_limit) return NULL;
  return oldest_committable(context);
}
