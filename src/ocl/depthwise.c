/* ocl.depthwise: one input channel per group. Bound by memory traffic, so it needs no tiles. Its
 * scratch is the partial results of the slices of backward_weights. */
#include "ocl/ocl.h"

/* SPACE: 1 = geometry in run-time arguments, 2 = compiled in. */
enum { SPACE };

static const cvy_param params_list[] = {
    [SPACE] = {"SPACE", {1, 2, 0}},
    {NULL, {0}},
};

/* Taps a work-group keeps sums of: all of a 3x3 or 4x4 filter. */
#define MOST_TAPS 16

cvy_depthwise_plan cvy_depthwise_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                          const cvy_params *params) {
  const int64_t taps = cvy_filter_volume(problem), items = cvy_ocl_group_items(facts);
  cvy_depthwise_plan plan = {.compiled = params->value[SPACE] == 2,
                             .items = items,
                             .chunk = taps < MOST_TAPS ? taps : MOST_TAPS};
  const int64_t images = problem->n > 0 ? problem->n : 1;
  const int64_t terms = images * cvy_out_volume(problem);
  const int64_t groups = problem->k * cvy_ceil_div(taps, plan.chunk);
  const int64_t weights = problem->k * taps;
  const int64_t room = facts->workspace_limit / (int64_t)sizeof(float) / weights;
  int64_t slices = 8 * (int64_t)facts->info.compute_units / groups;
  if (slices > terms / (4 * items)) slices = terms / (4 * items);
  if (slices > room) slices = room;
  if (slices < 1) slices = 1;
  plan.slice = cvy_ceil_div(terms, slices);
  plan.slices = cvy_ceil_div(terms, plan.slice);
  plan.work_groups = groups * plan.slices;
  if (problem->direction == CONVOY_BACKWARD_WEIGHTS && plan.slices > 1)
    plan.scratch = plan.slices * weights;
  return plan;
}

static int64_t local_bytes(const cvy_problem *problem, const cvy_facts *facts) {
  if (problem->direction != CONVOY_BACKWARD_WEIGHTS) return 0;
  const int64_t taps = cvy_filter_volume(problem);
  return (taps < MOST_TAPS ? taps : MOST_TAPS) * cvy_ocl_group_items(facts) *
         (int64_t)sizeof(float);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  if (problem->groups != problem->c || problem->groups < 2) {
    cvy_text_add(reason, "%lld channels in %lld groups, takes one channel per group",
                 (long long)problem->c, (long long)problem->groups);
    return false;
  }
  const int64_t local = local_bytes(problem, facts);
  if (local > facts->local_memory_bytes) {
    cvy_text_add(reason, "needs %lld bytes of local memory, there are %lld", (long long)local,
                 (long long)facts->local_memory_bytes);
    return false;
  }
  return true;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  return cvy_depthwise_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
}

/* A processor's compiler takes seconds for each program. */
static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  (void)problem;
  *out = (cvy_params){{0}};
  out->value[SPACE] = facts->info.type == CONVOY_DEVICE_CPU ? 1 : 2;
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  (void)problem;
  (void)facts;
  return params->value[SPACE] == 1 || params->value[SPACE] == 2;
}

const cvy_algorithm cvy_ocl_depthwise = {
    .name = "ocl.depthwise",
    .directions = 1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA | 1u << CONVOY_BACKWARD_WEIGHTS,
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .space_params = 1u << SPACE,
    .defaults = defaults,
    .valid = valid,
};
