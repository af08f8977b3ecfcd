/* ocl.implicit_gemm: a tiled matrix product that reads the source array in place, without a column
 * buffer. Its scratch is the packed weights (forward, backward_data) or the partial results of the
 * slices (backward_weights). */
#include "ocl/ocl.h"

/* SLICES: forward, backward_data: slices of the sum; backward_weights: work-groups per compute unit
 * that the slices shall make. SPACE: 1 = extents of space are run-time arguments, 2 = compiled in. */
enum { BM, BN, BK, TM, TN, SLICES, SPACE };

static const cvy_param params_list[] = {
    [BM] = {"BM", {4, 16, 32, 48, 64, 80, 96, 128, 0}},
    [BN] = {"BN", {16, 32, 64, 72, 128, 144, 0}},
    [BK] = {"BK", {4, 8, 16, 0}},
    [TM] = {"TM", {4, 5, 8, 10, 12, 16, 20, 0}},
    [TN] = {"TN", {4, 8, 9, 0}},
    [SLICES] = {"SLICES", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 0}},
    [SPACE] = {"SPACE", {1, 2, 0}},
    {NULL, {0}},
};

static bool of_weights(const cvy_problem *problem) {
  return problem->direction == CONVOY_BACKWARD_WEIGHTS;
}

/* Input positions with the same remainder modulo the stride form a phase of backward_data. */
static void cut_phases(const cvy_problem *problem, cvy_gemm_plan *plan) {
  plan->phases = 1;
  plan->columns = problem->n;
  for (int axis = 0; axis < 3; axis++) {
    const int64_t in = problem->in[axis], stride = problem->stride[axis];
    plan->phases *= in < stride ? in : stride;
    plan->columns *= cvy_ceil_div(in, stride);
  }
}

static void measure_sides(const cvy_problem *problem, cvy_gemm_plan *plan) {
  const int64_t c = problem->c / problem->groups, k = problem->k / problem->groups;
  plan->phases = 1;
  plan->rows = k;
  plan->depth = c;
  plan->columns = problem->n * cvy_out_volume(problem);
  if (of_weights(problem)) plan->columns = c * cvy_filter_volume(problem);
  if (problem->direction == CONVOY_BACKWARD_DATA) {
    plan->rows = c;
    plan->depth = k;
    cut_phases(problem, plan);
  }
}

/* backward_weights: as many work-groups as run at once, not one more, but no slice shorter than is worth
 * starting, and no more partial results than the workspace takes. */
static void slice_positions(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                            cvy_gemm_plan *plan) {
  const int64_t images = problem->n > 0 ? problem->n : 1;
  const int64_t terms = images * cvy_out_volume(problem);
  const int64_t weights = cvy_problem_count(problem, CVY_W);
  const int64_t tiles = plan->row_tiles * plan->column_tiles * problem->groups;
  int64_t slices = per_unit * (int64_t)facts->info.compute_units / tiles;
  const int64_t most = cvy_ceil_div(terms, 16 * plan->tile.bk);
  const int64_t room = facts->workspace_limit / (int64_t)sizeof(float) / weights;
  if (slices > most) slices = most;
  if (slices > room) slices = room;
  if (slices < 1) slices = 1;
  plan->slice = cvy_round_up(cvy_ceil_div(terms, slices), plan->tile.bk);
  plan->slices = cvy_ceil_div(terms, plan->slice);
  plan->scratch = plan->slices * weights;
}

/* forward, backward_data: slices of whole blocks of channels. */
static void slice_blocks(const cvy_problem *problem, int64_t slices, cvy_gemm_plan *plan) {
  const int64_t blocks = plan->depth_up / plan->tile.bk;
  const cvy_array out = cvy_problem_operands(problem).out;
  plan->slice = cvy_ceil_div(blocks, slices);
  plan->slices = cvy_ceil_div(blocks, plan->slice);
  plan->packed = problem->groups * cvy_filter_volume(problem) * plan->depth_up * plan->rows_up;
  plan->packed = cvy_round_up(plan->packed, 64);
  plan->scratch = plan->packed;
  if (plan->slices > 1) plan->scratch += plan->slices * cvy_problem_count(problem, out);
}

cvy_gemm_plan cvy_gemm_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                const cvy_params *params) {
  const int32_t *value = params->value;
  cvy_gemm_plan plan = {.tile = {value[BM], value[BN], value[BK], value[TM], value[TN]}};
  measure_sides(problem, &plan);
  plan.items = plan.tile.bm / plan.tile.tm * (plan.tile.bn / plan.tile.tn);
  plan.row_tiles = cvy_ceil_div(plan.rows, plan.tile.bm);
  plan.column_tiles = cvy_ceil_div(plan.columns, plan.tile.bn);
  plan.rows_up = plan.row_tiles * plan.tile.bm;
  plan.depth_up = cvy_round_up(plan.depth, plan.tile.bk);
  plan.compiled = value[SPACE] == 2;
  if (of_weights(problem))
    slice_positions(problem, facts, value[SLICES], &plan);
  else
    slice_blocks(problem, value[SLICES], &plan);
  plan.work_groups =
      plan.row_tiles * plan.column_tiles * problem->groups * plan.phases * plan.slices;
  return plan;
}

static int64_t local_bytes(const cvy_params *params, bool weights) {
  const int64_t bm = params->value[BM], bn = params->value[BN], bk = params->value[BK];
  if (weights) return (bm + bn) * (bk + 4) * (int64_t)sizeof(float) + bn * 16;
  return 2 * bk * (bm + bn) * (int64_t)sizeof(float);
}

/* The same divisibilities as the #error lines of the kernels. */
static bool divides(const cvy_params *params, bool weights) {
  const int32_t *v = params->value;
  if (v[BM] % v[TM] != 0 || v[BN] % v[TN] != 0) return false;
  const int32_t items = v[BM] / v[TM] * (v[BN] / v[TN]);
  if (weights) return v[BK] % 8 == 0 && items % v[BK] == 0;
  if (v[TM] % 4 != 0 || v[TN] % 4 != 0 || (v[BN] & (v[BN] - 1)) != 0) return false;
  if (items < v[BN]) return v[BN] % items == 0;
  return items % v[BN] == 0 && v[BK] % (items / v[BN]) == 0;
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  const int32_t *v = params->value;
  for (int i = BM; i <= SPACE; i++)
    if (v[i] < 1) return false;
  if (!divides(params, of_weights(problem))) return false;
  const int32_t items = v[BM] / v[TM] * (v[BN] / v[TN]);
  if (items < 4 || items > facts->max_work_group) return false;
  if (v[TM] * v[TN] > 128) return false;
  if (local_bytes(params, of_weights(problem)) > facts->local_memory_bytes) return false;
  const cvy_gemm_plan plan = cvy_gemm_plan_for(problem, facts, params);
  const int64_t bytes = plan.scratch * (int64_t)sizeof(float);
  if (plan.scratch > INT32_MAX - 65536) return false;
  return bytes <= facts->workspace_limit && bytes <= facts->max_allocation_bytes;
}

/* A processor runs the items of a group one after the other: few of them, each with much to do, and
 * all of it in its first cache. Few different programs, because its compiler takes seconds for each:
 * nothing is compiled in. */
static void defaults_cpu(const cvy_problem *problem, const cvy_gemm_plan *sides, cvy_params *out) {
  const bool weights = of_weights(problem);
  out->value[BM] = sides->rows > 16 ? 32 : sides->rows > 4 || weights ? 16 : 4;
  out->value[BN] = 32;
  out->value[BK] = weights || sides->depth > 4 ? 8 : 4;
  out->value[TM] = 4;
  out->value[TN] = 8;
  out->value[SLICES] = weights ? 4 : 1;
  out->value[SPACE] = 1;
}

/* Rows and items' shares for tiles of a GPU, preferred first; among them the one that wastes the
 * fewest rows is taken. */
typedef struct tile_choice {
  int32_t bm, bn, tm, tn;
} tile_choice;

static const tile_choice gather_tiles[] = {
    {64, 128, 8, 8},  {96, 128, 12, 8}, {80, 128, 20, 4}, {48, 128, 12, 8},
    {32, 128, 16, 4}, {16, 128, 8, 8},  {4, 128, 4, 4},
};
static const tile_choice nine_tap_tiles[] = {
    {64, 72, 8, 9}, {80, 144, 5, 9}, {48, 72, 4, 9}, {32, 144, 8, 9}, {16, 144, 4, 9},
};
static const tile_choice weights_tiles[] = {
    {64, 64, 8, 8}, {80, 64, 5, 8}, {48, 64, 4, 8}, {32, 64, 4, 8}, {16, 64, 4, 4},
};

static void choose_tile(const tile_choice *tiles, size_t count, int64_t rows, cvy_params *out) {
  const tile_choice *best = &tiles[0];
  for (size_t i = 1; i < count; i++)
    if (cvy_round_up(rows, tiles[i].bm) < cvy_round_up(rows, best->bm)) best = &tiles[i];
  out->value[BM] = best->bm;
  out->value[BN] = best->bn;
  out->value[TM] = best->tm;
  out->value[TN] = best->tn;
}

/* The largest value of a parameter's list that is at most `most`. */
static int32_t at_most(int which, int64_t most) {
  int32_t value = params_list[which].values[0];
  for (const int32_t *v = params_list[which].values; *v; v++)
    if (*v <= most) value = *v;
  return value;
}

static int32_t items_of(const cvy_params *params) {
  return params->value[BM] / params->value[TM] * (params->value[BN] / params->value[TN]);
}

/* backward_weights: columns are (channel, tap), so nine columns per item suit nine taps. 256 items
 * per compute unit are what its registers hold. */
static void defaults_gpu_weights(const cvy_problem *problem, const cvy_gemm_plan *sides,
                                 cvy_params *out) {
  if (cvy_filter_volume(problem) % 9 == 0)
    choose_tile(nine_tap_tiles, CVY_COUNT(nine_tap_tiles), sides->rows, out);
  else
    choose_tile(weights_tiles, CVY_COUNT(weights_tiles), sides->rows, out);
  if (sides->columns <= 32) {
    out->value[BN] = 32;
    out->value[TN] = 4;
  }
  out->value[BK] = 16;
  out->value[SLICES] = at_most(SLICES, 256 / items_of(out));
}

/* Channels per block: the most that wastes little on channels that are not there. */
static int32_t block_channels(int64_t depth) {
  for (int32_t bk = 8; bk > 4; bk /= 2)
    if (cvy_round_up(depth, bk) * 8 <= depth * 9) return bk;
  return 4;
}

/* Where tiles are fewer than what runs at once: narrower tiles, or slices of at least eight steps. */
static void defaults_gpu_gather(const cvy_problem *problem, const cvy_facts *facts,
                                const cvy_gemm_plan *sides, cvy_params *out) {
  int32_t *v = out->value;
  choose_tile(gather_tiles, CVY_COUNT(gather_tiles), sides->rows, out);
  v[BK] = block_channels(sides->depth);
  v[SLICES] = 1;
  const int64_t units = facts->info.compute_units, tiles = cvy_ceil_div(sides->rows, v[BM]) *
                                                           cvy_ceil_div(sides->columns, v[BN]) *
                                                           problem->groups * sides->phases;
  if (tiles >= 2 * units) return;
  if (2 * tiles >= 2 * units && v[BM] >= 64) {
    v[BN] = 64;
    return;
  }
  const int64_t steps =
      cvy_ceil_div(sides->depth, v[BK]) * cvy_filter_volume(problem) / sides->phases;
  const int64_t slices = 3 * units / tiles;
  v[SLICES] = at_most(SLICES, slices < steps / 8 ? slices : steps / 8);
}

/* What every device takes: 16 items, 2 KiB of local memory. */
static const cvy_params least = {{16, 16, 8, 4, 4, 1, 1}};

static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  cvy_gemm_plan sides = {0};
  measure_sides(problem, &sides);
  *out = (cvy_params){{0}};
  out->value[SPACE] = 2;
  if (facts->info.type == CONVOY_DEVICE_CPU)
    defaults_cpu(problem, &sides, out);
  else if (of_weights(problem))
    defaults_gpu_weights(problem, &sides, out);
  else
    defaults_gpu_gather(problem, facts, &sides, out);
  if (!valid(out, problem, facts)) out->value[SLICES] = 1;
  if (!valid(out, problem, facts)) *out = least;
}

/* Below this most rows of the smallest tile would be empty. */
static int64_t least_rows(const cvy_problem *problem) {
  return of_weights(problem) ? 4 : 2;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  cvy_gemm_plan sides = {0};
  measure_sides(problem, &sides);
  if (sides.rows < least_rows(problem)) {
    cvy_text_add(reason, "too thin for tiles: %lld channels out per group, needs %lld",
                 (long long)sides.rows, (long long)least_rows(problem));
    return false;
  }
  cvy_params params;
  defaults(problem, facts, &params);
  const cvy_gemm_plan plan = cvy_gemm_plan_for(problem, facts, &params);
  const double bytes = (double)plan.scratch * sizeof(float);
  if (!valid(&params, problem, facts) || bytes > 8e9) {
    cvy_text_add(reason,
                 "needs %.0f bytes of workspace and %lld of local memory; limits %lld, %lld", bytes,
                 (long long)local_bytes(&params, of_weights(problem)),
                 (long long)facts->workspace_limit, (long long)facts->local_memory_bytes);
    return false;
  }
  if (plan.work_groups > INT32_MAX / plan.items) {
    cvy_text_add(reason, "needs %lld work-groups of %lld items, more than 32-bit numbers count",
                 (long long)plan.work_groups, (long long)plan.items);
    return false;
  }
  return true;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  return cvy_gemm_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
}

const cvy_algorithm cvy_ocl_implicit_gemm = {
    .name = "ocl.implicit_gemm",
    .directions = 1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA | 1u << CONVOY_BACKWARD_WEIGHTS,
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .launch_params = 1u << SLICES,
    .space_params = 1u << SPACE,
    .defaults = defaults,
    .valid = valid,
};
