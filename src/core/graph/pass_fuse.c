/* What lies between two operations is stored and read again. Where one problem can do what both do
 * (problem/fuse.h), and that moves less, it takes their place:
 *
 * - a node whose results nobody else wants goes into all that read it. Where these are several,
 * each computes it again: normalising and the activation behind it are computed anew in the
 * backward pass, rather than kept;
 * - a node whose results are wanted, too, goes into the first that reads it, which stores both. */
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

static bool reads_any_of(const cvy_graph_node *node, const cvy_graph_node *maker) {
  for (int32_t r = 0; r < maker->outputs; r++)
    if (reads(node, maker->out[r])) return true;
  return false;
}

static int32_t last_use_of(const cvy_nodes *list, const cvy_graph_node *node) {
  int32_t last = -1;
  for (int32_t r = 0; r < node->outputs; r++) {
    int32_t use = list->value[node->out[r]].last_use;
    last = use > last ? use : last;
  }
  return last;
}

/* In the order of the list. */
static readers readers_of(const cvy_nodes *list, int32_t n) {
  readers found = {0};
  int32_t last = last_use_of(list, &list->node[n]);
  for (int32_t m = n + 1; m <= last; m++) {
    if (!list->node[m].needed || !reads_any_of(&list->node[m], &list->node[n])) continue;
    if (found.count < MOST_READERS) found.node[found.count] = m;
    found.count++;
  }
  return found;
}

/* Bits of the results that somebody beside `reader` wants. */
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

static convoy_status put_into_all(cvy_plan *plan, int32_t n, const readers *all, bool *done) {
  *done = false;
  if (is_kept(&plan->list, &plan->list.node[n])) return CONVOY_OK;
  double cost = cost_in_all(plan, n, all);
  if (cost < 0 || cost >= cost_apart(plan, n, all)) return CONVOY_OK;
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < all->count && !status; i++) {
    cvy_fused fused;
    *done = cvy_plan_fuses(plan, n, all->node[i], 0, &fused);
    if (*done) status = cvy_node_take_over(&plan->list.node[all->node[i]], &fused);
  }
  return status;
}

/* ------------------------------------------------------------------------ into the first that does
 */

static convoy_status put_into_first(cvy_plan *plan, int32_t n, const readers *all, bool *done) {
  cvy_nodes *list = &plan->list;
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
  return cvy_node_take_over(&list->node[first], &fused);
}

/* ---------------------------------------------------------------------------------------- sweeps
 */

/* The uses of values change with each step. */
static convoy_status fuse_node(cvy_plan *plan, int32_t n, bool *done) {
  cvy_nodes *list = &plan->list;
  *done = false;
  if (!list->node[n].needed) return CONVOY_OK;
  const readers all = readers_of(list, n);
  if (!all.count || all.count > MOST_READERS) return CONVOY_OK;
  convoy_status status = put_into_all(plan, n, &all, done);
  if (!status && !*done) status = put_into_first(plan, n, &all, done);
  if (*done) cvy_node_give_up(list, n);
  return status;
}

convoy_status cvy_pass_fuse(cvy_plan *plan) {
  bool any = true;
  convoy_status status = CONVOY_OK;
  while (any && !status) {
    any = false;
    for (int32_t n = 0; n < plan->list.nodes && !status; n++) {
      bool done;
      status = fuse_node(plan, n, &done);
      any = any || done;
    }
  }
  return status;
}
