/* ocl.winograd: 3x3 convolution without stride by Winograd's minimal filtering. Tiles of the result
 * are transformed, multiplied point by point in tiled matrix products and transformed back. That
 * takes 4 (TILE 4) or 2.25 (TILE 2) times fewer multiplications, and more memory traffic. Its
 * scratch memory holds the transformed arrays of as many images as fit, or the partial results of a
 * fused gradient; transformed weights are a prepacked operand. */
#include "ocl/winograd.h"
#include "problem/conv/conv.h"

static const cvy_param params_list[] = {
    [WINOGRAD_TILE] = {"TILE", {2, 4, 0}},
    [WINOGRAD_BM] = {"BM", {16, 32, 48, 64, 80, 96, 128, 0}},
    [WINOGRAD_BN] = {"BN", {16, 32, 48, 64, 80, 96, 128, 0}},
    [WINOGRAD_BK] = {"BK", {4, 8, 16, 0}},
    [WINOGRAD_TM] = {"TM", {4, 8, 12, 16, 20, 0}},
    [WINOGRAD_TN] = {"TN", {4, 8, 0}},
    [WINOGRAD_SLICES] = {"SLICES", {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 0}},
    [WINOGRAD_FUSED] = {"FUSED", {1, 2, 0}},
    [WINOGRAD_PARAMS] = {NULL, {0}},
};

/* It is below 2^31 by enough for what kernels add to an index. */
#define MOST_ELEMENTS INT64_C(2000000000)
/* The parts of the scratch memory begin at multiples of so many floats. */
#define ALIGN 64
/* A slice of a fused gradient sums over at least so many tiles. */
#define FEWEST_TILES 64

int64_t cvy_ocl_winograd_tiles(const cvy_problem *problem, int64_t tile) {
  const int64_t *out =
      problem->operation == CONVOY_BACKWARD_DATA ? problem->conv.in : problem->conv.out;
  return out[0] * cvy_ocl_ceil_div(out[1], tile) * cvy_ocl_ceil_div(out[2], tile);
}

/* The extents of the products for a piece of `images` images. */
static void measure(const cvy_problem *problem, int64_t images, cvy_ocl_winograd_plan *plan) {
  int64_t c = problem->conv.c / problem->conv.groups, k = problem->conv.k / problem->conv.groups;
  int64_t tiles = images * cvy_ocl_winograd_tiles(problem, plan->tile);
  const struct {
    int64_t rows, columns, depth;
  } extents[] = {
      [CONVOY_FORWARD] = {k, tiles, c},
      [CONVOY_BACKWARD_DATA] = {c, tiles, k},
      [CONVOY_BACKWARD_WEIGHTS] = {k, c, tiles},
  };
  plan->images = images;
  plan->product.rows = extents[problem->operation].rows;
  plan->product.columns = extents[problem->operation].columns;
  plan->product.depth = extents[problem->operation].depth;
}

cvy_ocl_winograd_plan cvy_ocl_winograd_extents(const cvy_problem *problem, int64_t tile,
                                               int64_t images) {
  cvy_ocl_winograd_plan plan = {.tile = tile};
  measure(problem, images, &plan);
  return plan;
}

static void cut_products(const cvy_problem *problem, int64_t slices, cvy_ocl_winograd_plan *plan) {
  const cvy_ocl_tile *tile = &plan->product_tile;
  cvy_ocl_product *product = &plan->product;
  int64_t points = (plan->tile + 2) * (plan->tile + 2);
  plan->matrices = points * problem->conv.groups;
  plan->items = tile->bm / tile->tm * (tile->bn / tile->tn);
  product->row_tiles = cvy_ocl_ceil_div(product->rows, tile->bm);
  product->column_tiles = cvy_ocl_ceil_div(product->columns, tile->bn);
  product->rows_up = product->row_tiles * tile->bm;
  product->columns_up = product->column_tiles * tile->bn;
  product->depth_up = cvy_ocl_round_up(product->depth, tile->bk);
  product->slice_length = cvy_ocl_round_up(cvy_ocl_ceil_div(product->depth_up, slices), tile->bk);
  product->slices = cvy_ocl_ceil_div(product->depth_up, product->slice_length);
  plan->work_groups = product->row_tiles * product->column_tiles * plan->matrices * product->slices;
}

/* Makes it the plan of one kernel, whose work-groups do all points of their tiles. */
static void fuse(const cvy_problem *problem, cvy_ocl_winograd_plan *plan) {
  const cvy_ocl_product *product = &plan->product;
  int64_t points = plan->matrices / problem->conv.groups;
  plan->fused = true;
  plan->items *= points;
  plan->work_groups /= points;
  plan->weights =
      cvy_ocl_is_weights(problem) ? 0 : plan->matrices * product->rows_up * product->depth_up;
  if (product->slices > 1) plan->scratch = product->slices * cvy_conv_count(problem, CVY_W);
  plan->largest = plan->weights > plan->scratch ? plan->weights : plan->scratch;
}

/* The slices of a fused gradient, none of which has few tiles only. */
static int64_t fused_slices(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                            const cvy_ocl_winograd_plan *plan) {
  int64_t rows = cvy_ocl_ceil_div(plan->product.rows, plan->product_tile.bm);
  int64_t columns = cvy_ocl_ceil_div(plan->product.columns, plan->product_tile.bn);
  return cvy_ocl_split_k(problem, facts, per_unit, rows * columns * problem->conv.groups,
                         cvy_ocl_ceil_div(plan->product.depth, FEWEST_TILES));
}

static void lay_out(const cvy_problem *problem, cvy_ocl_winograd_plan *plan) {
  const cvy_ocl_product *product = &plan->product;
  bool weights = cvy_ocl_is_weights(problem);
  int64_t a = plan->matrices * product->rows_up * product->depth_up;
  int64_t b = plan->matrices * product->columns_up * product->depth_up;
  int64_t out = product->slices * plan->matrices * product->rows_up * product->columns_up;
  plan->largest = out > b ? out : b;
  if (a > plan->largest) plan->largest = a;
  plan->weights = weights ? 0 : a;
  plan->b_at = weights ? cvy_ocl_round_up(a, ALIGN) : 0;
  plan->out_at = plan->b_at + cvy_ocl_round_up(b, ALIGN);
  plan->scratch = plan->out_at + out;
}

/* Floats that a job may use, the transformed weights among them. */
static int64_t room(const cvy_facts *facts) {
  return cvy_ocl_scratch_limit(facts) / (int64_t)sizeof(float);
}

static bool fits(const cvy_ocl_winograd_plan *plan, const cvy_facts *facts) {
  return plan->scratch + plan->weights <= room(facts) && plan->largest <= MOST_ELEMENTS;
}

/* The batch is cut into as few pieces as fit, of equal size. */
cvy_ocl_winograd_plan cvy_ocl_winograd_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                                const cvy_params *params) {
  const int32_t *v = params->value;
  cvy_ocl_winograd_plan plan = {.tile = v[WINOGRAD_TILE],
                                .product_tile = {v[WINOGRAD_BM], v[WINOGRAD_BN], v[WINOGRAD_BK],
                                                 v[WINOGRAD_TM], v[WINOGRAD_TN]}};
  int64_t images = problem->conv.n > 0 ? problem->conv.n : 1;
  if (v[WINOGRAD_FUSED] == 2) {
    measure(problem, images, &plan);
    int64_t slices =
        cvy_ocl_is_weights(problem) ? fused_slices(problem, facts, v[WINOGRAD_SLICES], &plan) : 1;
    cut_products(problem, slices, &plan);
    fuse(problem, &plan);
    return plan;
  }
  for (int64_t pieces = 1;; pieces++) {
    measure(problem, images, &plan);
    cut_products(problem, v[WINOGRAD_SLICES], &plan);
    lay_out(problem, &plan);
    if (images == 1 || fits(&plan, facts)) return plan;
    /* Scratch memory shrinks with the images at most in proportion, so numbers of pieces that
     * cannot fit are skipped. */
    int64_t least = plan.scratch / (room(facts) + 1) * pieces;
    if (pieces < least) pieces = least;
    images = cvy_ocl_ceil_div(problem->conv.n, pieces + 1);
  }
}

/* -------------------------------------------------------------------- which problems it takes */

static int64_t local_bytes(const cvy_params *params, bool weights) {
  const int32_t *v = params->value;
  int64_t bm = v[WINOGRAD_BM], bn = v[WINOGRAD_BN], bk = v[WINOGRAD_BK];
  if (v[WINOGRAD_FUSED] == 2) {
    int64_t rows = bm / v[WINOGRAD_TM] * 4, columns = bn / v[WINOGRAD_TN] * 4;
    int64_t terms = 16 * (weights ? bk * (bm + bn + 8) + rows + columns : bk * (bm + bn) + 32);
    int64_t results = 16 * rows * bn;
    return (terms > results ? terms : results) * (int64_t)sizeof(float);
  }
  return 2 * bk * (bm + 4 + bn + 4) * (int64_t)sizeof(float);
}

/* It says the same as the #error lines of the fused kernels; `items` are those of one point. */
static bool fuses(const cvy_params *params, const cvy_problem *problem, int64_t items) {
  const int32_t *v = params->value;
  int64_t bm = v[WINOGRAD_BM], bn = v[WINOGRAD_BN], bk = v[WINOGRAD_BK], group = 16 * items;
  if (v[WINOGRAD_TILE] != 2) return false;
  if (cvy_ocl_is_weights(problem))
    return group % bk == 0 && bm * bk % group == 0 && bn * bk % group == 0;
  return v[WINOGRAD_SLICES] == 1 && group % bn == 0 && bk * bn % group == 0 &&
         4 * bk * bm % group == 0;
}

bool cvy_ocl_winograd_valid(const cvy_params *params, const cvy_problem *problem,
                            const cvy_facts *facts) {
  const int32_t *v = params->value;
  int32_t bm = v[WINOGRAD_BM], bn = v[WINOGRAD_BN], tm = v[WINOGRAD_TM], tn = v[WINOGRAD_TN];
  for (int i = 0; i < WINOGRAD_PARAMS; i++)
    if (v[i] < 1) return false;
  if (v[WINOGRAD_TILE] != 2 && v[WINOGRAD_TILE] != 4) return false;
  if (tm % 4 != 0 || tn % 4 != 0 || v[WINOGRAD_BK] % 4 != 0) return false;
  if (bm % tm != 0 || bn % tn != 0) return false;
  int32_t items = bm / tm * (bn / tn);
  if (v[WINOGRAD_FUSED] == 2 && !fuses(params, problem, items)) return false;
  if (items < 4 || tm * tn > 128) return false;
  if (local_bytes(params, cvy_ocl_is_weights(problem)) > facts->local_memory_bytes) return false;
  cvy_ocl_winograd_plan plan = cvy_ocl_winograd_plan_for(problem, facts, params);
  if (plan.items > facts->max_work_group) return false;
  return fits(&plan, facts) && plan.work_groups <= INT32_MAX / plan.items;
}

static bool is_three_by_three(const cvy_problem *problem) {
  if (problem->conv.filter[0] != 1 || problem->conv.stride[0] != 1 ||
      problem->conv.in[0] != problem->conv.out[0])
    return false;
  for (int axis = 1; axis < 3; axis++) {
    if (problem->conv.filter[axis] != 3 || problem->conv.stride[axis] != 1 ||
        problem->conv.dilation[axis] != 1)
      return false;
  }
  return problem->conv.pad[0] == 0;
}

/* How far rounding errors of a tile of 4 grow: the transforms multiply an error of one unit by at
 * most 205 = max over outputs o and taps r of (sum over points i of |A[i][o]| |G[i][r]| sum
 * |B[i]|)^2, and no value goes through more than 24 roundings beside those of its sum. With sums of
 * `terms` products, at least 6 outputs each for the gradient of weights and 9 taps for the others,
 * that stays within 4 (len + 2) ERROR_GROWTH from LEAST_TERMS on. */
#define ERROR_GROWTH 32
#define LEAST_TERMS 8
#define LEAST_PLANE 4

static bool is_large_enough(const cvy_problem *problem, cvy_text *reason) {
  const int64_t *out =
      problem->operation == CONVOY_BACKWARD_DATA ? problem->conv.in : problem->conv.out;
  int64_t images = problem->conv.n > 0 ? problem->conv.n : 1;
  int64_t depth = cvy_ocl_winograd_extents(problem, 4, images).product.depth;
  if (depth >= LEAST_TERMS && out[1] >= LEAST_PLANE && out[2] >= LEAST_PLANE) return true;
  cvy_text_add(reason,
               "sums of %lld terms over planes of %lld x %lld are too small for its error bound: "
               "needs %d, %d x %d",
               (long long)depth, (long long)out[1], (long long)out[2], LEAST_TERMS, LEAST_PLANE,
               LEAST_PLANE);
  return false;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  if (!is_three_by_three(problem)) {
    cvy_text_add(reason, "it does 3x3 filters without stride and dilation only");
    return false;
  }
  if (!is_large_enough(problem, reason)) return false;
  cvy_params params;
  cvy_ocl_winograd_defaults(problem, facts, &params);
  if (cvy_ocl_winograd_valid(&params, problem, facts)) return true;
  cvy_ocl_winograd_plan plan = cvy_ocl_winograd_plan_for(problem, facts, &params);
  double bytes = (double)(plan.scratch + plan.weights) * sizeof(float);
  cvy_text_add(
      reason, "one image needs %.0f bytes of workspace and %lld of local memory; limits %lld, %lld",
      bytes, (long long)local_bytes(&params, cvy_ocl_is_weights(problem)),
      (long long)facts->workspace_limit, (long long)facts->local_memory_bytes);
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  return cvy_ocl_winograd_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
}

const cvy_algorithm cvy_ocl_winograd = {
    .name = "ocl.winograd",
    .operations = CVY_CONV_FILTERED,
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .launch_params = 1u << WINOGRAD_SLICES,
    .space_params = 1u << WINOGRAD_FUSED,
    .defaults = cvy_ocl_winograd_defaults,
    .valid = cvy_ocl_winograd_valid,
    .pays = cvy_ocl_winograd_pays,
    .error_growth = ERROR_GROWTH,
    .error_reach = 3,
};
