/* ocl.implicit_gemm: a tiled matrix product that reads the source array in place, without a column
 * buffer. Its scratch is the packed weights (forward, backward_data) or the partial results of the
 * slices (backward_weights). */
#include "ocl/ocl.h"

enum { BM, BN, BK, TM, TN };

static const cvy_param params_list[] = {
    [BM] = {"BM", {16, 32, 64, 128, 0}},
    [BN] = {"BN", {16, 32, 64, 128, 0}},
    [BK] = {"BK", {4, 8, 16, 0}},
    [TM] = {"TM", {4, 8, 16, 0}},
    [TN] = {"TN", {4, 8, 0}},
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

/* Slices of the sum of backward_weights: enough work-groups to fill the device four times over, but
 * no slice shorter than is worth starting, and no more partial results than the workspace takes. */
static void cut_slices(const cvy_problem *problem, const cvy_facts *facts, int64_t tiles,
                       cvy_gemm_plan *plan) {
  const int64_t images = problem->n > 0 ? problem->n : 1;
  const int64_t terms = images * cvy_out_volume(problem);
  const int64_t weights = cvy_problem_count(problem, CVY_W);
  int64_t slices = cvy_ceil_div(4 * (int64_t)facts->info.compute_units, tiles);
  const int64_t most = cvy_ceil_div(terms, 16 * plan->tile.bk);
  const int64_t room = facts->workspace_limit / (int64_t)sizeof(float) / weights;
  if (slices > most) slices = most;
  if (slices > room) slices = room;
  if (slices < 1) slices = 1;
  plan->slice = cvy_round_up(cvy_ceil_div(terms, slices), plan->tile.bk);
  plan->slices = cvy_ceil_div(terms, plan->slice);
  plan->scratch = plan->slices * weights;
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
  plan.slices = 1;
  const int64_t tiles = plan.row_tiles * plan.column_tiles * problem->groups;
  if (of_weights(problem))
    cut_slices(problem, facts, tiles, &plan);
  else
    plan.scratch = problem->groups * cvy_filter_volume(problem) * plan.depth_up * plan.rows_up;
  plan.work_groups = tiles * plan.phases * plan.slices;
  return plan;
}

static int64_t local_bytes(const cvy_params *params, bool weights) {
  const int64_t bm = params->value[BM], bn = params->value[BN], bk = params->value[BK];
  const int64_t pad = weights ? 8 : 0, table = weights ? bn * 16 : 0;
  return 2 * bk * (bm + bn + pad) * (int64_t)sizeof(float) + table;
}

/* The same divisibilities as the #error lines of tile.cl and the two kernels. */
static bool divides(const cvy_params *params, bool weights) {
  const int32_t *v = params->value;
  if (v[BM] % v[TM] != 0 || v[BN] % v[TN] != 0) return false;
  const int32_t items = v[BM] / v[TM] * (v[BN] / v[TN]);
  if (weights) {
    if (items % v[BK] != 0) return false;
    const int32_t step = items / v[BK];
    return v[BM] % step == 0 && v[BN] % step == 0;
  }
  if (items < v[BN]) return v[BN] % items == 0;
  return items % v[BN] == 0 && v[BK] % (items / v[BN]) == 0;
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  const int32_t *v = params->value;
  if (!divides(params, of_weights(problem))) return false;
  const int32_t items = v[BM] / v[TM] * (v[BN] / v[TN]);
  if (items < 4 || items > facts->max_work_group) return false;
  if (v[TM] * v[TN] > 128) return false;
  if (local_bytes(params, of_weights(problem)) > facts->local_memory_bytes) return false;
  const int64_t bytes = cvy_gemm_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
  return bytes <= facts->workspace_limit && bytes <= facts->max_allocation_bytes;
}

/* The smallest of the values that covers `extent`, at most `most`. */
static int32_t cover(int64_t extent, int32_t least, int32_t most) {
  int32_t size = least;
  while (size < extent && size < most) size *= 2;
  return size;
}

/* Terms per step: the most that wastes little on channels that are not there. */
static int32_t step_terms(int64_t depth, int32_t most) {
  for (int32_t bk = most; bk > 4; bk /= 2)
    if (cvy_round_up(depth, bk) * 8 <= depth * 9) return bk;
  return 4;
}

/* A processor runs the items of a group one after the other: few of them, each with much to do, and
 * all of it in its first cache. Few different tiles, because its compiler takes seconds for each. */
static void defaults_cpu(const cvy_gemm_plan *sides, cvy_params *out) {
  out->value[BM] = sides->rows > 16 ? 32 : 16;
  out->value[BN] = 32;
  out->value[BK] = sides->depth > 4 ? 8 : 4;
  out->value[TM] = 4;
  out->value[TN] = 8;
}

/* 64x128 with 8x8 per item was best on large layers of the GPU measured; smaller tiles where the
 * problem does not fill them, or would leave most of the device idle. */
static void defaults_gpu(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_gemm_plan *sides, cvy_params *out) {
  const bool weights = of_weights(problem);
  int32_t bm = cover(sides->rows, 16, 64), bn = cover(sides->columns, 16, weights ? 64 : 128);
  const int64_t slots = 2 * (int64_t)facts->info.compute_units;
  while (!weights && bn > 32 &&
         cvy_ceil_div(sides->rows, bm) * cvy_ceil_div(sides->columns, bn) * problem->groups *
                 sides->phases <
             slots)
    bn /= 2;
  out->value[BM] = bm;
  out->value[BN] = bn;
  out->value[BK] = weights ? 8 : step_terms(sides->depth, 8);
  out->value[TM] = bm * bn >= 64 * 64 ? 8 : 4;
  out->value[TN] = bn >= 64 ? 8 : 4;
}

/* What every device takes: 16 items, under 4 KiB of local memory. */
static const cvy_params least = {{16, 16, 4, 4, 4}};

static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  cvy_gemm_plan sides = {0};
  measure_sides(problem, &sides);
  *out = (cvy_params){{0}};
  if (facts->info.type == CONVOY_DEVICE_CPU)
    defaults_cpu(&sides, out);
  else
    defaults_gpu(problem, facts, &sides, out);
  if (!valid(out, problem, facts)) *out = least;
}

/* Below this most rows of the smallest tile would be empty: depthwise, or gradients of an image. */
#define LEAST_ROWS 4

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  cvy_gemm_plan sides = {0};
  measure_sides(problem, &sides);
  if (sides.rows < LEAST_ROWS) {
    cvy_text_add(reason, "too thin for tiles: %lld channels out per group, needs %d",
                 (long long)sides.rows, LEAST_ROWS);
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
    .defaults = defaults,
    .valid = valid,
};
