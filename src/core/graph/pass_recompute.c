/* What is cheap is computed again instead of kept, where a run would need more memory than there
 * is: an activation before each backward pass that reads it, of the map that it was made of, which
 * is kept for that pass anyway. Results are the same to the bit.
 *
 * Where most is held at a time, the value that gives most bytes for what it costs is given up
 * meanwhile, again and again, until all has room or nothing is left that is cheap. What lies within
 * other values is not known yet, so that what is counted here is at least what is needed. */
#include <stdlib.h>
#include <string.h>

#include "core/graph/costs.h"
#include "core/graph/place.h"
#include "core/graph/plan.h"
#include "problem/operation.h"

enum { NONE = -1 };

/* What a run may take of a limit, where the rest is for gaps, and of a device's memory, which is
 * other programs', too. */
static const double part_of_limit = 15.0 / 16, part_of_device = 7.0 / 8;
/* Results of so many runs are there at a time: a tensor's old ones go when it gets new ones. */
#define RUNS_HELD 2
/* What costs less than moving so many times the result's bytes is cheap. */
#define CHEAP 8.0
/* Of makers whose operands are made again, too. */
enum { DEPTH = 2 };
/* How often the aim is lowered by what places need more than they hold. */
enum { PLACINGS = 4 };

/* A moment in the run: node `at`, where so many bytes are held. */
typedef struct moment {
  int32_t at;
  int64_t bytes;
} moment;

typedef struct recompute {
  cvy_plan *plan;
  int32_t *maker;  /* the node that makes each value; NONE: a tensor has it */
  int32_t *before; /* the last that reads it until the peak; NONE */
  int32_t *after;  /* the first that reads it behind the peak; NONE */
} recompute;

/* ---------------------------------------------------------------------------------------- memory
 */

static bool is_between(const cvy_graph_value *value) {
  return !value->tensor && !value->kept;
}

/* The most scratch memory that one of the operations takes. */
static int64_t scratch_of(const cvy_plan *plan) {
  int64_t most = 0;
  for (int32_t n = 0; n < plan->list.nodes; n++) {
    cvy_choice choice;
    const cvy_problem *problem = plan->list.node[n].problem;
    if (cvy_choose(plan->chooser, plan->engine, problem, &choice)) continue;
    if (choice.workspace > most) most = choice.workspace;
  }
  return most;
}

/* What may be held of what is made on the way; negative: no limit is known. */
static double budget_of(const cvy_plan *plan) {
  const cvy_facts *facts = &plan->engine->facts;
  double part = facts->memory_limit > 0 ? part_of_limit : part_of_device;
  double left = part * (double)cvy_facts_memory(facts);
  if (left <= 0) return -1;
  left -= (double)scratch_of(plan);
  for (int32_t v = 0; v < plan->list.values; v++) {
    const cvy_graph_value *value = &plan->list.value[v];
    if (cvy_nodes_reads_first(&plan->list, v)) left -= (double)value->bytes;
    if (value->kept && !value->tensor) left -= RUNS_HELD * (double)value->bytes;
  }
  return left > 0 ? left : 0;
}

static int64_t made_by(const cvy_nodes *list, const cvy_graph_node *node) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < node->outputs; i++) {
    const cvy_graph_value *value = &list->value[node->out[i]];
    if (is_between(value)) bytes += value->bytes;
  }
  return bytes;
}

static bool reads_before(const cvy_graph_node *node, int32_t input) {
  for (int32_t i = 0; i < input; i++)
    if (node->in[i] == node->in[input]) return true;
  return false;
}

/* What nothing reads behind node `n`, each once. */
static int64_t done_with(const cvy_nodes *list, int32_t n) {
  const cvy_graph_node *node = &list->node[n];
  int64_t bytes = 0;
  for (int32_t i = 0; i < node->inputs; i++) {
    const cvy_graph_value *value = &list->value[node->in[i]];
    if (is_between(value) && value->last_use == n && !reads_before(node, i)) bytes += value->bytes;
  }
  for (int32_t i = 0; i < node->outputs; i++) {
    const cvy_graph_value *value = &list->value[node->out[i]];
    if (is_between(value) && value->last_use < 0) bytes += value->bytes;
  }
  return bytes;
}

static moment find_peak(const cvy_nodes *list) {
  moment found = {0, 0};
  int64_t held = 0;
  for (int32_t n = 0; n < list->nodes; n++) {
    held += made_by(list, &list->node[n]);
    if (held > found.bytes) found = (moment){n, held};
    held -= done_with(list, n);
  }
  return found;
}

/* ------------------------------------------------------------------------------------ candidates
 */

static void find_uses(const recompute *r, int32_t peak) {
  const cvy_nodes *list = &r->plan->list;
  for (int32_t v = 0; v < list->values; v++) r->maker[v] = r->before[v] = r->after[v] = NONE;
  for (int32_t n = 0; n < list->nodes; n++) {
    const cvy_graph_node *node = &list->node[n];
    for (int32_t i = 0; i < node->outputs; i++) r->maker[node->out[i]] = n;
    for (int32_t i = 0; i < node->inputs; i++) {
      int32_t v = node->in[i];
      if (n <= peak) r->before[v] = n;
      if (n > peak && r->after[v] == NONE) r->after[v] = n;
    }
  }
}

/* What it takes to make a value once more. */
typedef struct price {
  double cost;
  int64_t kept; /* bytes of what nothing else reads at the peak or behind */
} price;

static bool can_be_made_again(const recompute *r, int32_t v, int32_t peak) {
  if (!is_between(&r->plan->list.value[v]) || r->maker[v] == NONE || r->maker[v] >= peak)
    return false;
  const cvy_graph_node *maker = &r->plan->list.node[r->maker[v]];
  return maker->outputs == 1 && !maker->problem->accumulate;
}

static bool is_gone(const cvy_nodes *list, int32_t v, int32_t peak) {
  return is_between(&list->value[v]) && list->value[v].last_use < peak;
}

/* Whether it is cheap, and leaves at least half of the bytes. */
static bool is_worth_it(const recompute *r, int32_t v, price asked) {
  int64_t bytes = r->plan->list.value[v].bytes;
  return asked.kept < bytes / 2 && asked.cost < CHEAP * (double)(bytes - asked.kept);
}

static price price_of(const recompute *r, int32_t v, int32_t peak, int depth);

/* Whether the maker of something makes its operand `v` once more, too: what is put together of
 * activations, of those. */
static bool is_made_again(const recompute *r, int32_t v, int32_t peak, int depth) {
  return depth > 0 && can_be_made_again(r, v, peak) &&
         is_worth_it(r, v, price_of(r, v, peak, depth - 1));
}

/* Depths end the recursion. */
static price price_of(const recompute *r, int32_t v, int32_t peak, int depth) {
  const cvy_nodes *list = &r->plan->list;
  const cvy_graph_node *maker = &list->node[r->maker[v]];
  price sum = {cvy_cost_of(r->plan->engine, maker->problem), 0};
  for (int32_t i = 0; i < maker->inputs; i++) {
    price part = {0, list->value[maker->in[i]].bytes};
    if (!is_gone(list, maker->in[i], peak) || reads_before(maker, i)) continue;
    if (is_made_again(r, maker->in[i], peak, depth))
      part = price_of(r, maker->in[i], peak, depth - 1);
    sum.cost += part.cost;
    sum.kept += part.kept;
  }
  return sum;
}

static bool is_idle_at(const recompute *r, int32_t v, int32_t peak) {
  return r->before[v] != peak && r->after[v] != NONE;
}

/* That with most bytes for its cost; NONE: there is nothing cheap. */
static int32_t find_best(const recompute *r, int32_t peak) {
  const cvy_nodes *list = &r->plan->list;
  int32_t best = NONE;
  double most = 0;
  for (int32_t v = 0; v < list->values; v++) {
    if (!can_be_made_again(r, v, peak) || !is_idle_at(r, v, peak)) continue;
    price asked = price_of(r, v, peak, DEPTH);
    double each = (double)(list->value[v].bytes - asked.kept) / asked.cost;
    if (is_worth_it(r, v, asked) && each > most) best = v, most = each;
  }
  return best;
}

/* ---------------------------------------------------------------------------------------- change
 */

static void move_last_to(cvy_nodes *list, int32_t to) {
  cvy_graph_node last = list->node[list->nodes - 1];
  memmove(&list->node[to + 1], &list->node[to],
          (size_t)(list->nodes - 1 - to) * sizeof *list->node);
  list->node[to] = last;
}

/* The value that a copy of the maker of `v` makes before node *at, which then is one further; NONE:
 * no memory. */
static int32_t make_again(const recompute *r, int32_t v, int32_t peak, int depth, int32_t *at) {
  cvy_nodes *list = &r->plan->list;
  const cvy_graph_node *maker = &list->node[r->maker[v]];
  int32_t in[CVY_MOST_READ];
  int32_t inputs = maker->inputs;
  memcpy(in, maker->in, sizeof in);
  for (int32_t i = 0; i < inputs; i++) {
    if (!is_gone(list, in[i], peak) || !is_made_again(r, in[i], peak, depth)) continue;
    int32_t gone = in[i], again = make_again(r, gone, peak, depth - 1, at);
    if (again == NONE) return NONE;
    for (int32_t k = i; k < inputs; k++)
      if (in[k] == gone) in[k] = again;
  }
  cvy_graph_node *copy = cvy_nodes_add(list, list->node[r->maker[v]].problem, in);
  if (!copy) return NONE;
  copy->stage = list->node[*at].stage;
  int32_t made = copy->out[0];
  move_last_to(list, (*at)++);
  return made;
}

/* Before the first that reads it behind the peak; from there on all read what is made there. */
static convoy_status compute_again(const recompute *r, int32_t v, int32_t peak) {
  cvy_nodes *list = &r->plan->list;
  int32_t at = r->after[v], again = make_again(r, v, peak, DEPTH, &at);
  if (again == NONE) return CONVOY_ERR_MEMORY;
  for (int32_t n = at; n < list->nodes; n++)
    for (int32_t i = 0; i < list->node[n].inputs; i++)
      if (list->node[n].in[i] == v) list->node[n].in[i] = again;
  cvy_nodes_finish(list);
  return CONVOY_OK;
}

/* There are more values each time. */
static convoy_status make_room(recompute *r) {
  size_t bytes = ((size_t)r->plan->list.values + 1) * sizeof(int32_t);
  int32_t **const lists[] = {&r->maker, &r->before, &r->after};
  for (size_t i = 0; i < CVY_COUNT(lists); i++) {
    int32_t *grown = realloc(*lists[i], bytes);
    if (!grown) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
    *lists[i] = grown;
  }
  return CONVOY_OK;
}

static convoy_status lower(recompute *r, double budget) {
  for (int32_t tries = r->plan->list.nodes; tries > 0; tries--) {
    moment top = find_peak(&r->plan->list);
    if ((double)top.bytes <= budget) return CONVOY_OK;
    convoy_status status = make_room(r);
    if (status) return status;
    find_uses(r, top.at);
    int32_t v = find_best(r, top.at);
    if (v == NONE) return CONVOY_OK;
    status = compute_again(r, v, top.at);
    if (status) return status;
  }
  return CONVOY_OK;
}

/* Bytes that all of it needs once each value has its place; there are gaps between these. */
static double placed_bytes(const cvy_plan *plan) {
  cvy_places places;
  double bytes = 0;
  if (cvy_places_find(plan, &places)) return 0; /* the run, which wants the places, says why */
  for (int32_t b = 0; b < places.shared; b++) bytes += (double)places.bytes[b];
  cvy_places_free(&places);
  return bytes;
}

static convoy_status lower_until_placed(recompute *r, double budget) {
  convoy_status status = lower(r, budget);
  double aim = budget, over = placed_bytes(r->plan) - budget;
  for (int tries = 0; tries < PLACINGS && over > 0 && !status; tries++) {
    aim -= over;
    status = lower(r, aim);
    over = placed_bytes(r->plan) - budget;
  }
  return status;
}

convoy_status cvy_pass_recompute(cvy_plan *plan) {
  double budget = budget_of(plan);
  if (budget < 0 || plan->engine->backend->host_memory) return CONVOY_OK;
  recompute r = {.plan = plan};
  convoy_status status = lower_until_placed(&r, budget);
  free(r.maker);
  free(r.before);
  free(r.after);
  return status;
}
