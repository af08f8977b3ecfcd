/* Chains of operations behind stores, and how much of them is kept. */
#include "core/exec/history.h"

/* A chain longer than this is cut by reading its end back: what it holds on to stays bounded. Sums
 * are cut sooner, since each link holds a whole earlier sum. */
enum { DEEPEST = 64, MOST_ACCUMULATED = 8 };

static int32_t depth_behind(const cvy_op *op) {
  int32_t deepest = 0;
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    const cvy_store *input = cvy_op_input(op, i);
    if (input && input->depth > deepest) deepest = input->depth;
  }
  return deepest;
}

void cvy_history_keep(cvy_store *store, const cvy_op *op) {
  store->history = *op;
  store->has_history = true;
  for (int i = 0; i < CVY_OP_INPUTS; i++) cvy_store_hold(cvy_op_input(op, i));
  store->depth = 1 + depth_behind(op);
  store->accumulated = op->prior ? 1 + op->prior->accumulated : 0;
}

bool cvy_history_is_long(const cvy_store *store) {
  return store->depth > DEEPEST || store->accumulated > MOST_ACCUMULATED;
}

/* The oldest store that a tensor has and only the device has the values of: what is held for it is
 * held for the longest time. */
static cvy_store *oldest_committable(const convoy_context *context) {
  cvy_store *oldest = NULL;
  for (cvy_store *each = context->stores; each; each = each->next) {
    bool a_tensors = each->references > each->held;
    if (a_tensors && each->has_history && !each->status) oldest = each;
  }
  return oldest;
}

cvy_store *cvy_history_excess(const convoy_context *context) {
  if (context->health.history_bytes <= context->options.history_limit) return NULL;
  return oldest_committable(context);
}
