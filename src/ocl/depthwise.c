/* ocl.depthwise: convolutions with one input channel per group. They are bound by memory traffic,
 * so items compute a few neighbouring results with the geometry compiled in, or one without.
 * Scratch memory holds the partial results of backward_weights. */
#include "ocl/depthwise.h"

#include "ocl/reach.h"
#include "problem/conv/conv.h"

/* ROWS and COLUMNS are results per item. With SPACE 1 the geometry is in run-time arguments and an
 * item has one result, with 2 it is compiled in. */
enum { ROWS, COLUMNS, SPACE };

static const cvy_param params_list[] = {
    [ROWS] = {"ROWS", {1, 2, 4, 0}},
    [COLUMNS] = {"COLUMNS", {1, 2, 4, 8, 0}},
    [SPACE] = {"SPACE", {1, 2, 0}},
    {NULL, {0}},
};

/* A work-group keeps sums of so many taps at most: of all that a 3x3 or 4x4 filter has. */
#define MOST_TAPS 16
/* backward_weights shall have so many work-groups per compute unit. */
#define WEIGHTS_GROUPS_PER_UNIT 8
/* And each item of these shall have so many terms at least. */
#define LEAST_TERMS 4

static void cut_weights(const cvy_problem *problem, const cvy_facts *facts,
                        cvy_ocl_depthwise_plan *plan) {
  int64_t taps = cvy_filter_volume(problem), images = problem->conv.n > 0 ? problem->conv.n : 1;
  int64_t terms = images * cvy_out_volume(problem);
  int64_t groups = problem->conv.k * cvy_ocl_ceil_div(taps, plan->chunk);
  int64_t slices = cvy_ocl_split_k(problem, facts, WEIGHTS_GROUPS_PER_UNIT, groups,
                                   terms / (LEAST_TERMS * plan->items));
  plan->slice_length = cvy_ocl_ceil_div(terms, slices);
  plan->slices = cvy_ocl_ceil_div(terms, plan->slice_length);
  plan->work_groups = groups * plan->slices;
  if (plan->slices > 1) plan->scratch = plan->slices * cvy_conv_count(problem, CVY_W);
}

cvy_ocl_depthwise_plan cvy_ocl_depthwise_plan_for(const cvy_problem *problem,
                                                  const cvy_facts *facts,
                                                  const cvy_params *params) {
  int64_t taps = cvy_filter_volume(problem);
  cvy_ocl_depthwise_plan plan = {.compiled = params->value[SPACE] == 2,
                                 .rows = params->value[ROWS],
                                 .columns = params->value[COLUMNS],
                                 .items = cvy_ocl_group_items(facts),
                                 .chunk = taps < MOST_TAPS ? taps : MOST_TAPS};
  int64_t maps = problem->operation == CONVOY_FORWARD ? problem->conv.k : problem->conv.c;
  plan.elements = problem->conv.n * maps * cvy_ocl_reach_items(problem, plan.rows, plan.columns);
  if (problem->operation == CONVOY_BACKWARD_WEIGHTS) cut_weights(problem, facts, &plan);
  return plan;
}

static int64_t local_bytes(const cvy_problem *problem, const cvy_facts *facts) {
  if (problem->operation != CONVOY_BACKWARD_WEIGHTS) return 0;
  int64_t taps = cvy_filter_volume(problem);
  return (taps < MOST_TAPS ? taps : MOST_TAPS) * cvy_ocl_group_items(facts) *
         (int64_t)sizeof(float);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  if (problem->conv.groups != problem->conv.c || problem->conv.groups < 2) {
    cvy_text_add(reason, "%lld channels in %lld groups, takes one channel per group",
                 (long long)problem->conv.c, (long long)problem->conv.groups);
    return false;
  }
  int64_t local = local_bytes(problem, facts);
  if (local > facts->local_memory_bytes) {
    cvy_text_add(reason, "needs %lld bytes of local memory, there are %lld", (long long)local,
                 (long long)facts->local_memory_bytes);
    return false;
  }
  return true;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  return cvy_ocl_depthwise_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  (void)facts;
  const int32_t *v = params->value;
  if (v[ROWS] < 1 || v[COLUMNS] < 1 || v[SPACE] < 1 || v[SPACE] > 2) return false;
  if (v[SPACE] == 1 || problem->operation == CONVOY_BACKWARD_WEIGHTS)
    return v[ROWS] == 1 && v[COLUMNS] == 1;
  return cvy_ocl_reach_fits(problem, v[ROWS], v[COLUMNS]);
}

/* Results that share taps belong to one item, the more the better, as long as enough items are left
 * to fill the device. A processor's compiler takes seconds for each program, so nothing is compiled
 * in there. */
static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  static const int32_t shapes[][2] = {{4, 4}, {2, 4}, {1, 4}, {2, 2},
                                      {1, 2}, {4, 1}, {2, 1}, {1, 1}};
  *out = (cvy_params){{1, 1, 1}};
  if (facts->info.type == CONVOY_DEVICE_CPU) return;
  if (problem->operation == CONVOY_BACKWARD_WEIGHTS) {
    out->value[SPACE] = 2;
    return;
  }
  bool shares_columns = problem->conv.filter[2] > 1 || problem->conv.stride[2] > 1;
  int64_t enough = 1024 * (int64_t)facts->info.compute_units;
  for (size_t i = 0; i < CVY_COUNT(shapes); i++) {
    cvy_params tried = {{shapes[i][0], shapes[i][1], 2}};
    if (!valid(&tried, problem, facts)) continue;
    int64_t items = cvy_ocl_depthwise_plan_for(problem, facts, &tried).elements;
    if (shapes[i][1] > 1 && !shares_columns && items < 16 * enough) continue;
    *out = tried;
    if (items >= enough) return;
  }
}

const cvy_algorithm cvy_ocl_depthwise = {
    .name = "ocl.depthwise",
    .operations = CVY_CONV_FILTERED,
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .space_params = 1u << SPACE,
    .defaults = defaults,
    .valid = valid,
};
