/* Concatenations and slices that are done by places: what is put together is computed where it
 * belongs, what is taken from something is read where it lies. All that is carried out by one
 * command then reads and writes regions of larger arrays; a run that carries the operations out one
 * by one does as if nothing had been placed.
 *
 * Each value that could lie within another is put there if all who make or read it, or what already
 * lies within it, can be carried out so by the algorithms that are chosen now. */
#include <stdlib.h>

#include "core/graph/plan.h"
#include "core/graph/uses.h"
#include "problem/operation.h"

/* A trial moves so many values at most, and concerns so many operations. */
enum { NONE = -1, MOST_MOVES = 256, MOST_CONCERNED = 1024 };

/* A value as it was before the trial under way. */
typedef struct moved {
  int32_t value, inside;
  cvy_region region;
} moved;

typedef struct views {
  cvy_plan *plan;
  cvy_uses uses;
  int32_t *part;    /* of each value one that lies within it, NONE */
  int32_t *sibling; /* of each that lies within another the next that does, NONE */
  int32_t *trial;   /* of each node the last that looked at it */
  int32_t trials;
  int32_t moves, concerned; /* of the trial under way */
  moved before[MOST_MOVES];
} views;

/* ---------------------------------------------------------------------------------------- places
 */

static int32_t root_of(const cvy_nodes *list, int32_t v) {
  return list->value[v].inside == NONE ? v : list->value[v].inside;
}

/* Where a region of value `v` lies in what that is a part of. */
static bool find_region(const cvy_nodes *list, int32_t v, const cvy_region *region,
                        cvy_region *out) {
  *out = *region;
  return list->value[v].inside == NONE || cvy_region_within(&list->value[v].region, region, out);
}

/* Whether value `v` is where such a region of `whole` lies. */
static bool lies_there(const cvy_nodes *list, int32_t v, int32_t whole, const cvy_region *region) {
  const cvy_graph_value *value = &list->value[v];
  cvy_region there;
  return value->inside == root_of(list, whole) && find_region(list, whole, region, &there) &&
         memcmp(&value->region, &there, sizeof there) == 0;
}

/* Bits of the inputs that are where the node's result has them, or has its result. */
static uint32_t find_settled(const cvy_nodes *list, const cvy_graph_node *node) {
  uint32_t settled = 0;
  for (int32_t i = 0; i < node->inputs; i++) {
    cvy_region region;
    cvy_kinship kin = cvy_problem_kin(node->problem, i, &region);
    bool there =
        (kin == CVY_KIN_IN_RESULT && lies_there(list, node->in[i], node->out[0], &region)) ||
        (kin == CVY_KIN_HAS_RESULT && lies_there(list, node->out[0], node->in[i], &region));
    settled |= (uint32_t)there << i;
  }
  return settled;
}

/* Inputs without elements are nothing to anybody. */
static bool is_idle(const cvy_nodes *list, const cvy_graph_node *node, uint32_t settled) {
  for (int32_t i = 0; i < node->inputs; i++)
    if (!(settled >> i & 1) && list->value[node->in[i]].bytes > 0) return false;
  return true;
}

/* ------------------------------------------------------------------------------------- problems
 */

static bool lay_operands(const cvy_nodes *list, const cvy_graph_node *node, cvy_problem *placed) {
  bool lies = true;
  for (int32_t i = 0; i < node->inputs && lies; i++) {
    const cvy_graph_value *value = &list->value[node->in[i]];
    if (value->inside != NONE) lies = cvy_problem_lay_input(placed, i, &value->region);
  }
  for (int32_t i = 0; i < node->outputs && lies; i++) {
    const cvy_graph_value *value = &list->value[node->out[i]];
    if (value->inside != NONE) lies = cvy_problem_lay_output(placed, i, &value->region);
  }
  return lies;
}

/* Another algorithm might be slower than what is saved, and has other bits. */
static bool is_chosen_alike(const cvy_plan *plan, const cvy_problem *a, const cvy_problem *b) {
  cvy_choice one, other;
  if (cvy_problem_equal(a, b)) return true;
  return cvy_choose(plan->chooser, plan->engine, a, &one) == CONVOY_OK &&
         cvy_choose(plan->chooser, plan->engine, b, &other) == CONVOY_OK && one.row == other.row;
}

/* The node's problem with its arrays where they lie. False: there is none, or none as good. */
static bool place_node(const cvy_plan *plan, const cvy_graph_node *node, bool *idle,
                       cvy_problem *placed) {
  const cvy_nodes *list = &plan->list;
  uint32_t settled = find_settled(list, node);
  *idle = settled && is_idle(list, node, settled);
  cvy_problem_copy(placed, node->problem);
  if (*idle) return true;
  if (!lay_operands(list, node, placed)) return false;
  if (settled) cvy_problem_settle(placed, settled);
  return is_chosen_alike(plan, node->problem, placed);
}

/* ---------------------------------------------------------------------------------------- trials
 */

/* Vectors of four are worth more than a copy. */
static bool keeps_fours(const cvy_region *region) {
  return region->width % 4 != 0 || (region->at % 4 == 0 && region->pitch % 4 == 0);
}

static bool move(views *p, int32_t v, int32_t root, const cvy_region *region) {
  cvy_graph_value *value = &p->plan->list.value[v];
  if (p->moves == MOST_MOVES) return false;
  p->before[p->moves++] = (moved){v, value->inside, value->region};
  value->inside = root;
  value->region = *region;
  return keeps_fours(region);
}

/* Moves `child`, and all that lies within it. */
static bool move_all(views *p, int32_t child, int32_t root, const cvy_region *region) {
  bool fits = move(p, child, root, region);
  for (int32_t v = p->part[child]; v != NONE && fits; v = p->sibling[v]) {
    cvy_region there;
    fits = cvy_region_within(region, &p->plan->list.value[v].region, &there) &&
           move(p, v, root, &there);
  }
  return fits;
}

static void move_back(const views *p) {
  for (int32_t i = 0; i < p->moves; i++) {
    cvy_graph_value *value = &p->plan->list.value[p->before[i].value];
    value->inside = p->before[i].inside;
    value->region = p->before[i].region;
  }
}

static void note_parts(const views *p, int32_t child, int32_t root) {
  p->part[child] = NONE;
  for (int32_t i = 0; i < p->moves; i++) {
    int32_t v = p->before[i].value;
    p->sibling[v] = p->part[root];
    p->part[root] = v;
  }
}

static bool node_agrees(views *p, int32_t n) {
  cvy_problem placed;
  bool idle;
  if (p->trial[n] == p->trials) return true;
  p->trial[n] = p->trials;
  return ++p->concerned <= MOST_CONCERNED &&
         place_node(p->plan, &p->plan->list.node[n], &idle, &placed);
}

/* Those that make or read what moves. */
static bool nodes_agree(views *p) {
  for (int32_t i = 0; i < p->moves; i++) {
    int32_t v = p->before[i].value;
    if (p->uses.maker[v] != NONE && !node_agrees(p, p->uses.maker[v])) return false;
    for (int32_t use = p->uses.first[v]; use != NONE; use = p->uses.use[use].next)
      if (!node_agrees(p, cvy_use_node(use))) return false;
  }
  return true;
}

/* What a tensor has, or gets, is an array of its own. */
static bool may_move(const views *p, int32_t v) {
  const cvy_graph_value *value = &p->plan->list.value[v];
  return p->uses.maker[v] != NONE && !value->kept && value->inside == NONE && value->bytes > 0;
}

/* Puts `child` where that region of `parent` lies, if it can be. */
static void try_inside(views *p, int32_t child, int32_t parent, const cvy_region *region) {
  const cvy_nodes *list = &p->plan->list;
  int32_t root = root_of(list, parent);
  cvy_region there;
  bool fits = may_move(p, child) && root != child && find_region(list, parent, region, &there);
  if (!fits) return;
  p->moves = p->concerned = 0;
  p->trials++;
  if (move_all(p, child, root, &there) && nodes_agree(p))
    note_parts(p, child, root);
  else
    move_back(p);
}

/* ----------------------------------------------------------------------------------- candidates
 */

static int64_t image_of(const cvy_nodes *list, int32_t v, int64_t images) {
  return list->value[v].bytes / (int64_t)sizeof(float) / images;
}

/* The region of a node's result that would hold what input `i` is a part of. */
static bool find_holder(const cvy_nodes *list, const cvy_graph_node *node, int32_t i,
                        cvy_region *out) {
  const cvy_graph_value *value = &list->value[node->in[i]];
  const cvy_region *inner = &value->region;
  if (value->inside == NONE || cvy_problem_kin(node->problem, i, out) != CVY_KIN_IN_RESULT)
    return false;
  if (inner->images != out->images) return false;
  out->at -= inner->at;
  out->width = image_of(list, value->inside, out->images);
  if (out->images == 1) out->pitch = out->width;
  bool whole = out->images == 1 || inner->pitch == out->width;
  return whole && out->at >= 0 && out->at + out->width <= image_of(list, node->out[0], out->images);
}

/* Whether all inputs whose places it would take are parts of it that lie there. Of what is no kin
 * there is no telling what places it takes. */
static bool holds_all(const cvy_nodes *list, const cvy_graph_node *node, int32_t holder,
                      const cvy_region *at) {
  for (int32_t i = 0; i < node->inputs; i++) {
    cvy_region region;
    const cvy_graph_value *value = &list->value[node->in[i]];
    if (value->bytes == 0) continue;
    if (cvy_problem_kin(node->problem, i, &region) != CVY_KIN_IN_RESULT) return false;
    if (region.at >= at->at + at->width || region.at + region.width <= at->at) continue;
    if (value->inside != holder || value->region.at != region.at - at->at) return false;
    if (value->region.width != region.width) return false;
  }
  return true;
}

/* An input that lies within something may bring it along: both halves of what is concatenated with
 * something made of one of them. */
static void try_input(views *p, const cvy_graph_node *node, int32_t i) {
  const cvy_nodes *list = &p->plan->list;
  int32_t v = node->in[i];
  cvy_region region;
  if (list->value[v].inside == NONE && cvy_problem_kin(node->problem, i, &region))
    try_inside(p, v, node->out[0], &region);
  else if (find_holder(list, node, i, &region) &&
           holds_all(list, node, list->value[v].inside, &region))
    try_inside(p, list->value[v].inside, node->out[0], &region);
}

static void try_node(views *p, const cvy_graph_node *node) {
  for (int32_t i = 0; i < node->inputs; i++) {
    cvy_region region;
    cvy_kinship kin = cvy_problem_kin(node->problem, i, &region);
    if (kin == CVY_KIN_IN_RESULT) try_input(p, node, i);
    if (kin == CVY_KIN_HAS_RESULT) try_inside(p, node->out[0], node->in[i], &region);
  }
}

/* ------------------------------------------------------------------------------------------ all */

/* A choice that is another one by now leaves all values apart. */
static convoy_status set_placed(const cvy_plan *plan, cvy_graph_node *node, bool *fits) {
  cvy_problem placed;
  *fits = place_node(plan, node, &node->idle, &placed);
  if (!*fits || node->idle || cvy_problem_equal(&placed, node->problem)) return CONVOY_OK;
  return cvy_nodes_set_placed(node, &placed);
}

static convoy_status find_views(views *p) {
  cvy_nodes *list = &p->plan->list;
  convoy_status status = CONVOY_OK;
  bool fits = true;
  for (int32_t v = 0; v < list->values; v++) p->part[v] = p->sibling[v] = NONE;
  for (int32_t n = 0; n < list->nodes; n++) try_node(p, &list->node[n]);
  for (int32_t n = 0; n < list->nodes && !status && fits; n++)
    status = set_placed(p->plan, &list->node[n], &fits);
  if (!fits) cvy_nodes_set_apart(list);
  return status;
}

static convoy_status open(cvy_plan *plan, views *out) {
  size_t values = (size_t)plan->list.values + 1, nodes = (size_t)plan->list.nodes + 1;
  *out = (views){.plan = plan};
  convoy_status status = cvy_uses_open(&plan->list, &out->uses);
  if (status) return status;
  out->part = malloc(values * sizeof *out->part);
  out->sibling = malloc(values * sizeof *out->sibling);
  out->trial = calloc(nodes, sizeof *out->trial);
  if (out->part && out->sibling && out->trial) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
}

/* Without a command for all there is no memory to place in. */
convoy_status cvy_pass_views(cvy_plan *plan) {
  views p;
  if (!cvy_backend_takes(plan->engine->backend, CVY_PLAN_RUN)) return CONVOY_OK;
  convoy_status status = open(plan, &p);
  if (!status) status = find_views(&p);
  cvy_uses_close(&p.uses);
  free(p.part);
  free(p.sibling);
  free(p.trial);
  return status;
}
