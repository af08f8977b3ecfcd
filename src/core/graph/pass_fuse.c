/* What lies between two operations is stored and read again. Where one problem can do what both do
 * (problem/fuse.h), and that moves less, it takes their place:
 *
 * - a node whose results nothing else wants goes into all that read it. Where these are several,
 * each computes it again: normalising and the activation behind it are computed anew in the
 * backward pass, rather than kept;
 * - a node whose results are wanted, too, goes into the first that reads it, which stores both. */
#include <string.h>

#include "core/graph/costs.h"
#include "core/graph/fusing.h"
#include "problem/operation.h"

enum { MOST_READERS = 8 };

typedef struct readers {
  int32_t count; /* more than MOST_READERS: too many */
  int32_t node[MOST_READERS];
} readers;

static bool reads(const cvy_graph_node *node, int32_t value) {
  for (int32_t i = 0; i < node->inputs; i++)
    if (node->in[i] == value) return true;
  return false;
}

/* In the order of the list, each once. */
static void add_reader(readers *found, int32_t n) {
  int32_t i = found->count;
  for (int32_t k = 0; k < found->count; k++)
    if (found->node[k] == n) return;
  if (found->count++ == MOST_READERS) return;
  for (; i > 0 && found->node[i - 1] > n; i--) found->node[i] = found->node[i - 1];
  found->node[i] = n;
}

static readers readers_of(const cvy_uses *uses, int32_t n) {
  const cvy_graph_node *node = &uses->list->node[n];
  readers found = {0};
  for (int32_t r = 0; r < node->outputs; r++) {
    int32_t use = uses->first[node->out[r]];
    for (; use >= 0 && found.count <= MOST_READERS; use = uses->use[use].next)
      add_reader(&found, cvy_use_node(use));
  }
  return found;
}

/* Bits of the results that are wanted by others than `reader`. */
static uint32_t wanted_elsewhere(const cvy_nodes *list, const cvy_graph_node *node,
                                 const readers *all, int32_t reader) {
  uint32_t wanted = 0;
  for (int32_t r = 0; r < node->outputs; r++) {
    wanted |= (uint32_t)list->value[node->out[r]].kept << r;
    for (int32_t i = 0; i < all->count; i++)
      if (all->node[i] != reader && reads(&list->node[all->node[i]], node->out[r]))
        wanted |= 1u << r;
  }
  return wanted;
}

/* -------------------------------------------------------------------------- into all that read it
 */

static bool is_kept(const cvy_nodes *list, const cvy_graph_node *node) {
  for (int32_t r = 0; r < node->outputs; r++)
    if (list->value[node->out[r]].kept) return true;
  return false;
}

/* What it would cost with the node in each of them; negative: it cannot be. */
static double cost_in_all(const cvy_plan *plan, int32_t n, const readers *all) {
  double cost = 0;
  for (int32_t i = 0; i < all->count; i++) {
    cvy_fused fused;
    if (!cvy_plan_fuses(plan, n, all->node[i], 0, &fused)) return -1;
    cost += cvy_cost_of(plan->engine, &fused.problem);
  }
  return cost;
}

static double cost_apart(const cvy_plan *plan, int32_t n, const readers *all) {
  double cost = cvy_cost_of(plan->engine, plan->list.node[n].problem);
  for (int32_t i = 0; i < all->count; i++)
    cost += cvy_cost_of(plan->engine, plan->list.node[all->node[i]].problem);
  return cost;
}

static convoy_status put_into_all(const cvy_plan *plan, cvy_uses *uses, int32_t n,
                                  const readers *all, bool *done) {
  *done = false;
  if (is_kept(&plan->list, &plan->list.node[n])) return CONVOY_OK;
  double cost = cost_in_all(plan, n, all);
  if (cost < 0 || cost >= cost_apart(plan, n, all)) return CONVOY_OK;
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < all->count && !status; i++) {
    cvy_fused fused;
    *done = cvy_plan_fuses(plan, n, all->node[i], 0, &fused);
    if (*done) status = cvy_node_take_over(uses, all->node[i], &fused);
  }
  return status;
}

/* ------------------------------------------------------------------------ into the first that does
 */

static convoy_status put_into_first(const cvy_plan *plan, cvy_uses *uses, int32_t n,
                                    const readers *all, bool *done) {
  const cvy_nodes *list = &plan->list;
  int32_t first = all->node[0];
  cvy_fused fused;
  *done = false;
  if (list->node[first].stage != list->node[n].stage) return CONVOY_OK;
  uint32_t kept = wanted_elsewhere(list, &list->node[n], all, first);
  if (!kept || !cvy_plan_fuses(plan, n, first, kept, &fused)) return CONVOY_OK;
  double apart = cvy_cost_of(plan->engine, list->node[n].problem) +
                 cvy_cost_of(plan->engine, list->node[first].problem);
  if (cvy_cost_of(plan->engine, &fused.problem) >= apart) return CONVOY_OK;
  *done = true;
  return cvy_node_take_over(uses, first, &fused);
}

/* ---------------------------------------------------------------------------------------- sweeps
 */

/* The uses of values change with each step. */
static convoy_status fuse_node(const cvy_plan *plan, cvy_uses *uses, int32_t n) {
  bool done;
  if (!plan->list.node[n].needed) return CONVOY_OK;
  const readers all = readers_of(uses, n);
  if (!all.count || all.count > MOST_READERS) return CONVOY_OK;
  convoy_status status = put_into_all(plan, uses, n, &all, &done);
  if (!status && !done) status = put_into_first(plan, uses, n, &all, &done);
  if (done) cvy_node_give_up(uses, n);
  return status;
}

/* The next from n on that has changed, or the number of nodes. */
static int32_t next_changed(const cvy_uses *uses, int32_t n) {
  size_t left = (size_t)(uses->list->nodes - n);
  const bool *found = memchr(uses->changed + n, 1, left);
  return found ? (int32_t)(found - uses->changed) : uses->list->nodes;
}

/* What could not be done is only tried again when the node or a reader is another. */
static convoy_status sweep(const cvy_plan *plan, cvy_uses *uses) {
  const int32_t nodes = plan->list.nodes;
  convoy_status status = CONVOY_OK;
  for (int32_t n = next_changed(uses, 0); n < nodes && !status; n = next_changed(uses, n + 1)) {
    uses->changed[n] = false;
    status = fuse_node(plan, uses, n);
  }
  return status;
}

convoy_status cvy_pass_fuse(cvy_plan *plan) {
  cvy_uses uses;
  convoy_status status = cvy_uses_open(&plan->list, &uses);
  if (status) return status;
  while (!status && next_changed(&uses, 0) < plan->list.nodes) status = sweep(plan, &uses);
  cvy_uses_close(&uses);
  return status;
}
