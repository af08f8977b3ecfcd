/* ocl.long_rows: few input channels and long filter rows, as in the first layers of networks for
 * EEG, sound and other series. Rows of one array meet rows of the other. Scratch memory holds the
 * partial results of backward_weights. */
#include "ocl/long_rows.h"
#include "problem/conv/conv.h"

/* ITEMS are those of a work-group, at most. CHANNELS and COLUMNS are results per item, for
 * backward_weights output channels and taps. LANES, of forward and backward_data, are items that
 * share results. For backward_weights POSITIONS are those in local memory, and SLICES the
 * work-groups per compute unit that the slices shall make. What a direction does not have is 1. */
enum { ITEMS, CHANNELS, COLUMNS, LANES, POSITIONS, SLICES };

static const cvy_param params_list[] = {
    [ITEMS] = {"ITEMS", {16, 32, 64, 128, 256, 0}},
    [CHANNELS] = {"CHANNELS", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 0}},
    [COLUMNS] = {"COLUMNS", {4, 8, 12, 16, 20, 24, 32, 0}},
    [LANES] = {"LANES", {1, 2, 4, 8, 0}},
    [POSITIONS] = {"POSITIONS", {1, 32, 64, 128, 256, 512, 0}},
    [SLICES] = {"SLICES", {1, 2, 3, 4, 5, 6, 8, 12, 16, 0}},
    {NULL, {0}},
};

#define MOST_CHANNELS 4
#define LEAST_TAPS 8
/* How many sums the registers of an item hold, how many positions of a line it loads, and how many
 * values of x it holds. */
#define MOST_SUMS 128
#define MOST_LOADS 40
#define MOST_WINDOW 32
/* Bytes of local memory: several work-groups shall fit on a compute unit. */
#define MOST_LOCAL 32768

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* The extents of the array whose positions are the items' results, and its channels. */
static const int64_t *results(const cvy_problem *problem, int64_t *channels) {
  bool data = problem->operation == CONVOY_BACKWARD_DATA;
  *channels = data ? problem->conv.c : problem->conv.k;
  return data ? problem->conv.in : problem->conv.out;
}

/* Rows of the source that a row of results meets. */
static int64_t lines_of(const cvy_problem *problem) {
  bool forward = problem->operation == CONVOY_FORWARD;
  return (forward ? problem->conv.c : problem->conv.k) * problem->conv.filter[0] *
         problem->conv.filter[1];
}

static void cut_weights(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                        cvy_ocl_long_rows_plan *plan) {
  const int64_t *out = problem->conv.out, taps = problem->conv.filter[2];
  int64_t rows_of_filter = problem->conv.c * problem->conv.filter[0] * problem->conv.filter[1];
  int64_t images = problem->conv.n > 0 ? problem->conv.n : 1;
  plan->across = cvy_ocl_ceil_div(taps, plan->columns);
  if (plan->across > plan->items / 4) plan->across = larger(plan->items / 4, 1);
  plan->along = plan->items / plan->across;
  plan->items = plan->across * plan->along;
  plan->pieces = images * out[0] * out[1] * cvy_ocl_ceil_div(out[2], plan->positions);
  int64_t tiles =
      plan->blocks * cvy_ocl_ceil_div(taps, plan->across * plan->columns) * rows_of_filter;
  int64_t slices = cvy_ocl_split_k(problem, facts, per_unit, tiles, plan->pieces);
  plan->slice_length = cvy_ocl_ceil_div(plan->pieces, slices);
  plan->slices = cvy_ocl_ceil_div(plan->pieces, plan->slice_length);
  plan->work_groups = tiles * plan->slices;
  if (plan->slices > 1) plan->scratch = plan->slices * cvy_conv_count(problem, CVY_W);
}

cvy_ocl_long_rows_plan cvy_ocl_long_rows_plan_for(const cvy_problem *problem,
                                                  const cvy_facts *facts,
                                                  const cvy_params *params) {
  const int32_t *v = params->value;
  int64_t channels;
  const int64_t *extent = results(problem, &channels);
  cvy_ocl_long_rows_plan plan = {.channels = v[CHANNELS],
                                 .columns = v[COLUMNS],
                                 .items = v[ITEMS],
                                 .blocks = cvy_ocl_ceil_div(channels, v[CHANNELS]),
                                 .items_per_result = v[LANES],
                                 .positions = v[POSITIONS],
                                 .slices = 1};
  if (cvy_ocl_is_weights(problem)) {
    cut_weights(problem, facts, v[SLICES], &plan);
    return plan;
  }
  int64_t tiles = cvy_ocl_ceil_div(extent[2], plan.items / plan.items_per_result * plan.columns);
  plan.work_groups = plan.blocks * tiles * extent[1] * extent[0] * problem->conv.n;
  return plan;
}

/* Local memory in floats, counted as in the kernels. */
static int64_t local_floats(const cvy_problem *problem, const cvy_ocl_long_rows_plan *plan) {
  int64_t columns = plan->columns, steps = cvy_ocl_ceil_div(problem->conv.filter[2], columns);
  if (cvy_ocl_is_weights(problem)) {
    int64_t stride = problem->conv.stride[2], dilation = problem->conv.dilation[2];
    int64_t x = (plan->positions - 4) * stride + (plan->across * columns - 4) * dilation +
                3 * stride + 3 * dilation + 4;
    return larger(plan->channels * plan->positions + x, 2 * columns * plan->items);
  }
  int64_t line =
      (plan->items / plan->items_per_result + steps) * (columns % 8 ? columns : columns + 4);
  return plan->items_per_result * (line + plan->channels * steps * columns);
}

static bool valid_rows(const cvy_problem *problem, const int32_t *v) {
  int64_t across = v[ITEMS] / v[LANES],
          steps = cvy_ocl_ceil_div(problem->conv.filter[2], v[COLUMNS]);
  return v[POSITIONS] == 1 && v[SLICES] == 1 && problem->conv.stride[2] == 1 &&
         problem->conv.dilation[2] == 1 && v[ITEMS] % v[LANES] == 0 &&
         v[LANES] <= lines_of(problem) &&
         cvy_ocl_ceil_div((across + steps) * v[COLUMNS], across) <= MOST_LOADS;
}

static bool valid_weights(const cvy_problem *problem, const int32_t *v) {
  return v[LANES] == 1 && v[POSITIONS] % 4 == 0 &&
         3 * problem->conv.stride[2] + 3 * problem->conv.dilation[2] + 1 <= MOST_WINDOW;
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  const int32_t *v = params->value;
  for (int i = 0; params_list[i].name; i++)
    if (v[i] < 1) return false;
  if (v[ITEMS] > facts->max_work_group || v[COLUMNS] % 4 != 0) return false;
  if ((int64_t)v[CHANNELS] * v[COLUMNS] > MOST_SUMS) return false;
  if (!(cvy_ocl_is_weights(problem) ? valid_weights : valid_rows)(problem, v)) return false;
  cvy_ocl_long_rows_plan plan = cvy_ocl_long_rows_plan_for(problem, facts, params);
  int64_t most = facts->local_memory_bytes < MOST_LOCAL ? facts->local_memory_bytes : MOST_LOCAL;
  return local_floats(problem, &plan) * (int64_t)sizeof(float) <= most &&
         plan.work_groups <= INT32_MAX / plan.items && cvy_ocl_fits_scratch(plan.scratch, facts);
}

/* Output channels per item: of the list the first number that wastes least on channels that are not
 * there. */
static int32_t channels_for(int64_t channels, const int32_t *list) {
  int32_t best = *list;
  for (; *list; list++)
    if (cvy_ocl_round_up(channels, *list) < cvy_ocl_round_up(channels, best)) best = *list;
  return best;
}

/* Pieces are long, as long as there are enough of them: while a work-group waits for the next one,
 * three others multiply. */
static void defaults_weights(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  static const int32_t list[] = {8, 6, 5, 4, 3, 2, 1, 0};
  int64_t taps = problem->conv.filter[2], row = problem->conv.out[2];
  bool small = facts->info.type == CONVOY_DEVICE_CPU;
  int32_t channels = channels_for(problem->conv.k, list);
  int32_t positions = 32;
  while (positions < row && positions < 512) positions *= 2;
  *out = (cvy_params){{small ? 32 : 128, channels, taps > 12 ? 8 : 4, 1, positions, 4}};
  if (taps > 24 && channels <= 4 && !small) out->value[COLUMNS] = 16;
  cvy_ocl_long_rows_plan plan = cvy_ocl_long_rows_plan_for(problem, facts, out);
  if (positions == 512 && plan.work_groups < 2 * (int64_t)facts->info.compute_units)
    out->value[POSITIONS] = 256;
  while (!valid(out, problem, facts) && out->value[POSITIONS] > 32) out->value[POSITIONS] /= 2;
}

/* What the tiles cost: their results, those behind the end of a row too, and loading their rows.
 * Few tiles leave units of the device idle. */
static double cost_of(const cvy_problem *problem, const cvy_facts *facts, const cvy_params *params,
                      double speed) {
  cvy_ocl_long_rows_plan plan = cvy_ocl_long_rows_plan_for(problem, facts, params);
  double tile = (double)(plan.items / plan.items_per_result * plan.columns);
  double enough = 4.0 * facts->info.compute_units;
  double groups = (double)plan.work_groups;
  return (groups < enough ? enough : groups) * (tile + .1 * (double)problem->conv.filter[2]) /
         speed;
}

static void defaults_rows(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  static const struct {
    int32_t columns;
    double speed;
  } list[] = {{16, 1}, {12, .97}, {8, .97}, {4, .7}};
  static const int32_t outputs[] = {4, 5, 6, 3, 2, 1, 0};
  bool forward = problem->operation == CONVOY_FORWARD;
  bool small = facts->info.type == CONVOY_DEVICE_CPU;
  int32_t channels = forward ? channels_for(problem->conv.k, outputs) : (int32_t)problem->conv.c;
  int32_t sharing = 4;
  while (sharing > lines_of(problem)) sharing /= 2;
  if (forward) sharing = 1;
  double least = 1e300;
  *out = (cvy_params){{16, channels, 4, 1, 1, 1}};
  for (size_t i = 0; i < CVY_COUNT(list) && !small; i++) {
    if (channels * list[i].columns > 48 && list[i].columns > 8) continue;
    for (int32_t across = 64; across >= 8; across /= 2) {
      cvy_params tried = {{across * sharing, channels, list[i].columns, sharing, 1, 1}};
      if (across * sharing > 128 || across * sharing < 32 || !valid(&tried, problem, facts))
        continue;
      double cost = cost_of(problem, facts, &tried, list[i].speed);
      if (cost >= least) continue;
      least = cost;
      *out = tried;
    }
  }
}

static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  (cvy_ocl_is_weights(problem) ? defaults_weights : defaults_rows)(problem, facts, out);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  if (problem->conv.groups != 1 || problem->conv.c > MOST_CHANNELS ||
      problem->conv.filter[2] < LEAST_TAPS) {
    cvy_text_add(reason,
                 "%lld channels in %lld groups, %lld taps in a row, takes up to %d channels in one "
                 "and from %d taps on",
                 (long long)problem->conv.c, (long long)problem->conv.groups,
                 (long long)problem->conv.filter[2], MOST_CHANNELS, LEAST_TAPS);
    return false;
  }
  cvy_params params;
  defaults(problem, facts, &params);
  if (valid(&params, problem, facts)) return true;
  cvy_text_add(reason, "stride %lld or dilation %lld along the row, or %lld taps, are beyond it",
               (long long)problem->conv.stride[2], (long long)problem->conv.dilation[2],
               (long long)problem->conv.filter[2]);
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  return cvy_ocl_long_rows_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
}

/* For a dozen taps of forward ocl.few_channels is faster, which has them in registers. */
static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  if (facts->info.type == CONVOY_DEVICE_CPU) return false;
  return problem->operation != CONVOY_FORWARD || problem->conv.filter[2] >= 16;
}

const cvy_algorithm cvy_ocl_long_rows = {
    .name = "ocl.long_rows",
    .operations = CVY_CONV_FILTERED,
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .launch_params = 1u << SLICES,
    .defaults = defaults,
    .valid = valid,
    .pays = pays,
};
