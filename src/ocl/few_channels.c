/* ocl.few_channels: forward and backward_data where the input has few channels, as in first layers.
 * A tile of channels would be almost empty there, so items compute all of them for a few
 * neighbouring results. */
#include "ocl/few_channels.h"

#include "ocl/reach.h"
#include "problem/conv/conv.h"

/* Results per item. */
enum { CHANNELS, ROWS, COLUMNS };

static const cvy_param params_list[] = {
    [CHANNELS] = {"CHANNELS", {1, 2, 3, 4, 8, 16, 0}},
    [ROWS] = {"ROWS", {1, 2, 4, 0}},
    [COLUMNS] = {"COLUMNS", {1, 2, 4, 8, 0}},
    {NULL, {0}},
};

#define MOST_CHANNELS 4
/* The registers of an item hold so many results. */
#define MOST_RESULTS 64
/* Local memory for weights: what is aimed at, so that many work-groups fit on a compute unit, and
 * the most. */
#define STAGED_BYTES 8192
#define MOST_STAGED_BYTES 16384
#define MOST_ITEMS 128

/* Three channels are kept as four in local memory, so that their weights are read at once. */
static int64_t weights_per_tap(int64_t channels) {
  return channels == 3 ? 4 : channels;
}

/* The weights of one source channel in local memory. */
static int64_t staged_bytes(const cvy_problem *problem, int64_t channels) {
  return cvy_filter_volume(problem) * weights_per_tap(channels) * (int64_t)sizeof(float);
}

cvy_ocl_few_channels_plan cvy_ocl_few_channels_plan_for(const cvy_problem *problem,
                                                        const cvy_facts *facts,
                                                        const cvy_params *params) {
  bool forward = problem->operation == CONVOY_FORWARD;
  int64_t sources = forward ? problem->conv.c : problem->conv.k;
  cvy_ocl_few_channels_plan plan = {.channels = params->value[CHANNELS],
                                    .rows = params->value[ROWS],
                                    .columns = params->value[COLUMNS],
                                    .weights_per_tap = weights_per_tap(params->value[CHANNELS]),
                                    .items = cvy_ocl_group_items(facts)};
  if (plan.items > MOST_ITEMS) plan.items = MOST_ITEMS;
  plan.blocks = cvy_ocl_ceil_div(forward ? problem->conv.k : problem->conv.c, plan.channels);
  plan.sources = STAGED_BYTES / staged_bytes(problem, plan.channels);
  if (plan.sources > sources) plan.sources = sources;
  if (plan.sources < 1) plan.sources = 1;
  plan.elements = problem->conv.n * cvy_ocl_reach_items(problem, plan.rows, plan.columns);
  plan.work_groups = plan.blocks * cvy_ocl_ceil_div(plan.elements, plan.items);
  return plan;
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  const int32_t *v = params->value;
  if (v[CHANNELS] < 1 || v[ROWS] < 1 || v[COLUMNS] < 1) return false;
  if (v[CHANNELS] * v[ROWS] * v[COLUMNS] > MOST_RESULTS) return false;
  if (staged_bytes(problem, v[CHANNELS]) > MOST_STAGED_BYTES ||
      MOST_STAGED_BYTES > facts->local_memory_bytes)
    return false;
  cvy_ocl_few_channels_plan plan = cvy_ocl_few_channels_plan_for(problem, facts, params);
  return plan.work_groups <= INT32_MAX / plan.items &&
         cvy_ocl_reach_fits(problem, v[ROWS], v[COLUMNS]);
}

/* Items are wide where taps share columns. With a stride, those of backward_data have as many rows
 * and columns as it skips. They are small where a processor's compiler takes seconds for what is
 * unrolled. */
static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  bool small = facts->info.type == CONVOY_DEVICE_CPU;
  const int64_t *stride = problem->conv.stride, k = problem->conv.k;
  if (problem->operation == CONVOY_FORWARD) {
    *out = (cvy_params){{k < 8 || small ? 4 : k < 16 ? 8 : 16, 1, small ? 2 : 4}};
    return;
  }
  *out = (cvy_params){{(int32_t)problem->conv.c, stride[1] <= 4 ? (int32_t)stride[1] : 1, 4}};
  if (stride[2] == 1) out->value[COLUMNS] = small ? 2 : 8;
  if (stride[2] == 2 && small) out->value[COLUMNS] = 2;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  if (problem->conv.groups != 1 || problem->conv.c > MOST_CHANNELS) {
    cvy_text_add(reason, "%lld channels in %lld groups, takes up to %d in one",
                 (long long)problem->conv.c, (long long)problem->conv.groups, MOST_CHANNELS);
    return false;
  }
  cvy_params params;
  defaults(problem, facts, &params);
  if (valid(&params, problem, facts)) return true;
  cvy_text_add(reason, "%lld taps or strides %lld, %lld are beyond its items",
               (long long)cvy_filter_volume(problem), (long long)problem->conv.stride[1],
               (long long)problem->conv.stride[2]);
  return false;
}

static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  (void)problem;
  return facts->info.type != CONVOY_DEVICE_CPU;
}

const cvy_algorithm cvy_ocl_few_channels = {
    .name = "ocl.few_channels",
    .operations = CVY_CONV_MAPS,
    .accepts = accepts,
    .params = params_list,
    .defaults = defaults,
    .valid = valid,
    .pays = pays,
};
