/* ocl.winograd: 3x3 convolution without stride by Winograd's minimal filtering. Tiles of the result
 * are transformed, multiplied point by point in tiled matrix products and transformed back: 4 (TILE 4)
 * or 2.25 (TILE 2) times fewer multiplications, more memory traffic. Its scratch is the transformed
 * arrays of as many images as fit, or the slices of a fused gradient; transformed weights are a derived form. */
#include "ocl/ocl.h"

/* TILE: outputs per tile and axis. SLICES: of the sum, in blocks of BK terms; of a fused gradient: work-groups
 * per compute unit that they shall make. FUSED: 2 = one kernel does it all, for TILE 2, with the extents of
 * space compiled in; 1 = transforms and products by themselves. */
enum { TILE, BM, BN, BK, TM, TN, SLICES, FUSED };

static const cvy_param params_list[] = {
    [TILE] = {"TILE", {2, 4, 0}},
    [BM] = {"BM", {16, 32, 48, 64, 80, 96, 128, 0}},
    [BN] = {"BN", {16, 32, 48, 64, 80, 96, 128, 0}},
    [BK] = {"BK", {4, 8, 16, 0}},
    [TM] = {"TM", {4, 8, 12, 16, 20, 0}},
    [TN] = {"TN", {4, 8, 0}},
    [SLICES] = {"SLICES", {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 0}},
    [FUSED] = {"FUSED", {1, 2, 0}},
    {NULL, {0}},
};

/* Below 2^31 by enough for what kernels add to an index. */
#define MOST_ELEMENTS INT64_C(2000000000)
#define ALIGN 64        /* elements, of the parts of the scratch memory */
#define FEWEST_TILES 64 /* of a slice of a fused gradient */

static bool of_weights(const cvy_problem *problem) {
  return problem->direction == CONVOY_BACKWARD_WEIGHTS;
}

/* Tiles of an image. */
static int64_t tiles_of(const cvy_problem *problem, int64_t tile) {
  const int64_t *out = problem->direction == CONVOY_BACKWARD_DATA ? problem->in : problem->out;
  return out[0] * cvy_ceil_div(out[1], tile) * cvy_ceil_div(out[2], tile);
}

/* The extents of the products for a piece of `images` images. */
static void measure_sides(const cvy_problem *problem, int64_t images, cvy_winograd_plan *plan) {
  const int64_t c = problem->c / problem->groups, k = problem->k / problem->groups;
  const int64_t tiles = images * tiles_of(problem, plan->tile);
  const struct {
    int64_t rows, columns, depth;
  } sides[] = {
      [CONVOY_FORWARD] = {k, tiles, c},
      [CONVOY_BACKWARD_DATA] = {c, tiles, k},
      [CONVOY_BACKWARD_WEIGHTS] = {k, c, tiles},
  };
  plan->images = images;
  plan->rows = sides[problem->direction].rows;
  plan->columns = sides[problem->direction].columns;
  plan->depth = sides[problem->direction].depth;
}

static void cut_products(const cvy_problem *problem, int64_t slices, cvy_winograd_plan *plan) {
  const cvy_gemm_tile *tile = &plan->product;
  const int64_t points = (plan->tile + 2) * (plan->tile + 2);
  plan->matrices = points * problem->groups;
  plan->items = tile->bm / tile->tm * (tile->bn / tile->tn);
  plan->row_tiles = cvy_ceil_div(plan->rows, tile->bm);
  plan->column_tiles = cvy_ceil_div(plan->columns, tile->bn);
  plan->rows_up = plan->row_tiles * tile->bm;
  plan->columns_up = plan->column_tiles * tile->bn;
  plan->depth_up = cvy_round_up(plan->depth, tile->bk);
  plan->slice = cvy_round_up(cvy_ceil_div(plan->depth_up, slices), tile->bk);
  plan->slices = cvy_ceil_div(plan->depth_up, plan->slice);
  plan->work_groups = plan->row_tiles * plan->column_tiles * plan->matrices * plan->slices;
}

/* One work-group does all points of its tiles. */
static void fuse(const cvy_problem *problem, cvy_winograd_plan *plan) {
  const int64_t points = plan->matrices / problem->groups;
  plan->fused = true;
  plan->items *= points;
  plan->work_groups /= points;
  plan->weights = of_weights(problem) ? 0 : plan->matrices * plan->rows_up * plan->depth_up;
  if (plan->slices > 1) plan->scratch = plan->slices * cvy_problem_count(problem, CVY_W);
  plan->largest = plan->weights > plan->scratch ? plan->weights : plan->scratch;
}

/* Of a fused gradient, none of few tiles only. */
static int64_t fused_slices(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                            const cvy_winograd_plan *plan) {
  const int64_t rows = cvy_ceil_div(plan->rows, plan->product.bm);
  const int64_t columns = cvy_ceil_div(plan->columns, plan->product.bn);
  return cvy_ocl_slices(problem, facts, per_unit, rows * columns * problem->groups,
                        cvy_ceil_div(plan->depth, FEWEST_TILES));
}

static void lay_out(const cvy_problem *problem, cvy_winograd_plan *plan) {
  const int64_t a = plan->matrices * plan->rows_up * plan->depth_up;
  const int64_t b = plan->matrices * plan->columns_up * plan->depth_up;
  const int64_t out = plan->slices * plan->matrices * plan->rows_up * plan->columns_up;
  plan->largest = out > b ? out : b;
  if (a > plan->largest) plan->largest = a;
  plan->weights = of_weights(problem) ? 0 : a;
  plan->b_at = of_weights(problem) ? cvy_round_up(a, ALIGN) : 0;
  plan->out_at = plan->b_at + cvy_round_up(b, ALIGN);
  plan->scratch = plan->out_at + out;
}

/* Elements that a job may use, the transformed weights among them. */
static int64_t room(const cvy_facts *facts) {
  int64_t bytes = facts->workspace_limit;
  if (bytes > facts->max_allocation_bytes) bytes = facts->max_allocation_bytes;
  return bytes / (int64_t)sizeof(float);
}

static bool fits(const cvy_winograd_plan *plan, const cvy_facts *facts) {
  return plan->scratch + plan->weights <= room(facts) && plan->largest <= MOST_ELEMENTS;
}

/* As few pieces of the batch as fit, of equal size. */
cvy_winograd_plan cvy_winograd_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                        const cvy_params *params) {
  const int32_t *value = params->value;
  cvy_winograd_plan plan = {.tile = value[TILE],
                            .product = {value[BM], value[BN], value[BK], value[TM], value[TN]}};
  int64_t images = problem->n > 0 ? problem->n : 1;
  if (value[FUSED] == 2) {
    measure_sides(problem, images, &plan);
    cut_products(problem,
                 of_weights(problem) ? fused_slices(problem, facts, value[SLICES], &plan) : 1,
                 &plan);
    fuse(problem, &plan);
    return plan;
  }
  for (int64_t pieces = 1;; pieces++) {
    measure_sides(problem, images, &plan);
    cut_products(problem, value[SLICES], &plan);
    lay_out(problem, &plan);
    if (images == 1 || fits(&plan, facts)) return plan;
    /* Scratch memory shrinks with the images at most in proportion: skip what cannot fit. */
    const int64_t least = plan.scratch / (room(facts) + 1) * pieces;
    if (pieces < least) pieces = least;
    images = cvy_ceil_div(problem->n, pieces + 1);
  }
}

/* ----------------------------------------------------------------------- which problems, how */

static int64_t local_bytes(const cvy_params *params, bool weights) {
  const int64_t bm = params->value[BM], bn = params->value[BN], bk = params->value[BK];
  if (params->value[FUSED] == 2) {
    const int64_t rows = bm / params->value[TM] * 4, columns = bn / params->value[TN] * 4;
    const int64_t terms =
        16 * (weights ? bk * (bm + bn + 8) + rows + columns : bk * (bm + bn) + 32);
    const int64_t results = 16 * rows * bn;
    return (terms > results ? terms : results) * (int64_t)sizeof(float);
  }
  return 2 * bk * (bm + 4 + bn + 4) * (int64_t)sizeof(float);
}

/* The same as the #error lines of the fused kernels; `items` per point. */
static bool fuses(const cvy_params *params, const cvy_problem *problem, int64_t items) {
  const int32_t *v = params->value;
  const int64_t group = 16 * items;
  if (v[TILE] != 2) return false;
  if (of_weights(problem))
    return group % v[BK] == 0 && (int64_t)v[BM] * v[BK] % group == 0 &&
           (int64_t)v[BN] * v[BK] % group == 0;
  return v[SLICES] == 1 && group % v[BN] == 0 && (int64_t)v[BK] * v[BN] % group == 0 &&
         INT64_C(4) * v[BK] * v[BM] % group == 0;
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  const int32_t *v = params->value;
  for (int i = TILE; i <= FUSED; i++)
    if (v[i] < 1) return false;
  if (v[TILE] != 2 && v[TILE] != 4) return false;
  if (v[TM] % 4 != 0 || v[TN] % 4 != 0 || v[BK] % 4 != 0) return false;
  if (v[BM] % v[TM] != 0 || v[BN] % v[TN] != 0) return false;
  const int32_t items = v[BM] / v[TM] * (v[BN] / v[TN]);
  if (v[FUSED] == 2 && !fuses(params, problem, items)) return false;
  if (items < 4 || v[TM] * v[TN] > 128) return false;
  if (local_bytes(params, of_weights(problem)) > facts->local_memory_bytes) return false;
  const cvy_winograd_plan plan = cvy_winograd_plan_for(problem, facts, params);
  if (plan.items > facts->max_work_group) return false;
  return fits(&plan, facts) && plan.work_groups <= INT32_MAX / plan.items;
}

/* Tiles of the products and about which share of a GPU's peak they reach, in percent. */
typedef struct tile_choice {
  int32_t bm, bn, tm, tn, share;
} tile_choice;

static const tile_choice gather_tiles[] = {
    {64, 64, 8, 4, 76},  {64, 128, 8, 8, 76}, {32, 64, 8, 4, 66}, {64, 32, 8, 4, 68},
    {80, 64, 8, 4, 74},  {80, 128, 8, 4, 72}, {80, 80, 8, 8, 66}, {64, 80, 8, 8, 66},
    {32, 128, 8, 8, 64}, {96, 64, 8, 8, 66},  {48, 64, 4, 8, 60}, {32, 32, 4, 4, 50},
    {16, 64, 4, 4, 40},
};
static const tile_choice weights_tiles[] = {
    {64, 64, 8, 8, 72},  {80, 80, 8, 8, 72},  {32, 32, 4, 4, 60}, {80, 64, 20, 4, 72},
    {64, 80, 16, 4, 64}, {64, 128, 8, 8, 66}, {32, 64, 8, 4, 60}, {64, 32, 8, 4, 60},
    {48, 48, 4, 8, 60},  {16, 16, 4, 4, 40},
};

/* Work-groups for few channels, and where there is no scratch memory. For AMD's cards only the first is:
 * nothing says yet how the others do there. */
static const cvy_params fused_gather[] = {{{2, 16, 64, 4, 8, 8, 1, 2}},
                                          {{2, 32, 32, 8, 8, 8, 1, 2}}};
static const cvy_params fused_weights[] = {{{2, 16, 16, 8, 8, 8, 8, 2}},
                                           {{2, 32, 32, 8, 8, 8, 2, 2}}};

/* AMD's cards: their compilers need tiles of a kind, and they compute much for each byte they move. */
static bool is_amd(const cvy_facts *facts) {
  return facts->preferred_multiple >= 64;
}

/* Terms of a step. */
#define STEP 8

/* Whether each item loads whole float4 of both tiles, and as many as the others: otherwise a load is in a
 * branch, and AMD's compilers let nothing overlap it (tools/isa). */
static bool loads_evenly(const tile_choice *tile, int32_t bk) {
  const int32_t items = tile->bm / tile->tm * (tile->bn / tile->tn);
  return tile->bm * bk / 4 % items == 0 && tile->bn * bk / 4 % items == 0;
}

/* The tile whose padded products take the least time. `deep`: steps of twice the terms where they load
 * evenly. */
static void choose_tile(const tile_choice *list, size_t count, const cvy_winograd_plan *sides,
                        const cvy_facts *facts, bool deep, cvy_params *out) {
  double least = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_amd(facts) && !loads_evenly(&list[i], STEP)) continue;
    const double time = (double)cvy_round_up(sides->rows, list[i].bm) *
                        (double)cvy_round_up(sides->columns, list[i].bn) / list[i].share;
    if (least > 0 && !(time < least)) continue;
    least = time;
    out->value[BM] = list[i].bm;
    out->value[BN] = list[i].bn;
    out->value[TM] = list[i].tm;
    out->value[TN] = list[i].tn;
    out->value[BK] = deep && loads_evenly(&list[i], 2 * STEP) ? 2 * STEP : STEP;
  }
}

/* The largest number of slices in the list that is at most `most`. */
static int32_t at_most(int64_t most) {
  int32_t value = 1;
  for (const int32_t *v = params_list[SLICES].values; *v; v++)
    if (*v <= most) value = *v;
  return value;
}

/* Work-groups of the products that run at once: what the 65536 registers of a compute unit hold. An
 * item needs some for its results, fragments and the next tile, and about 28 for the rest. */
static int64_t groups_at_once(const cvy_winograd_plan *plan, const cvy_facts *facts) {
  const cvy_gemm_tile *tile = &plan->product;
  const int64_t loads = tile->bk * (tile->bm + tile->bn) / plan->items;
  const int64_t registers = tile->tm * tile->tn + 2 * (tile->tm + tile->tn) + loads + 28;
  const int64_t items = cvy_round_up(plan->items, 32);
  return 65536 / (registers * items) * (int64_t)facts->info.compute_units;
}

/* Slices so that the products run all at once; none shorter than 64 terms. */
static void choose_slices(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  out->value[SLICES] = 1;
  const cvy_winograd_plan plan = cvy_winograd_plan_for(problem, facts, out);
  const int64_t slices = groups_at_once(&plan, facts) / plan.work_groups;
  const int64_t most = plan.depth_up / 64;
  out->value[SLICES] = at_most(slices < most ? slices : most);
}

/* What moving a byte takes, in operations at a GPU's peak, and a kernel more than ocl.implicit_gemm
 * starts, per compute unit. AMD's: an RX 5600 XT computes 31 where an H200 does 15 (docs/rdna1.md). */
#define BYTE_WORK 18.0
#define BYTE_WORK_AMD 38.0
#define LAUNCH_WORK 0.6e6
/* Shares of the peak that products reach by themselves, fused, and in ocl.implicit_gemm. */
#define SHARE 0.65
#define FUSED_SHARE 0.28
#define FUSED_SHARE_OF_32 0.38
#define DIRECT_SHARE 0.6

/* Arithmetic against memory traffic, both as operations: the transforms read a tile's values, with
 * neighbours, most of them from a cache, and write its points, or the reverse; the products read and
 * write the points. */
static double cost_of(const cvy_problem *problem, const cvy_facts *facts,
                      const cvy_params *params) {
  const cvy_winograd_plan plan = cvy_winograd_plan_for(problem, facts, params);
  const double sums = 2.0 * (double)plan.matrices * (double)plan.rows_up * (double)plan.columns_up *
                      (double)plan.depth_up;
  const double units = facts->info.compute_units;
  if (plan.fused) { /* with few work-groups some units have nothing to do */
    const int64_t rounds = cvy_ceil_div(plan.work_groups, facts->info.compute_units);
    const double share = plan.product.bm < 32 ? FUSED_SHARE : FUSED_SHARE_OF_32;
    return sums / share * (double)rounds * units / (double)plan.work_groups;
  }
  const double pieces = (double)cvy_ceil_div(problem->n, plan.images);
  const double values = (double)plan.images * (double)tiles_of(problem, plan.tile) *
                        (double)(problem->c + problem->k);
  const double points = (double)plan.matrices / (double)problem->groups;
  const double byte = is_amd(facts) ? BYTE_WORK_AMD : BYTE_WORK;
  const double moved = 4 * values * (points + (double)(plan.tile * plan.tile)) * byte;
  const double streamed = 4 * values * points * byte;
  const double product = sums / SHARE > streamed ? sums / SHARE : streamed;
  const double starts = LAUNCH_WORK * units;
  return pieces * (moved + product + starts);
}

static void try_fused(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  const cvy_params *list = of_weights(problem) ? fused_weights : fused_gather;
  const int count = !is_amd(facts) ? 2 : of_weights(problem) ? 0 : 1;
  for (int i = 0; i < count; i++) {
    if (!valid(&list[i], problem, facts)) continue;
    if (!valid(out, problem, facts) ||
        cost_of(problem, facts, &list[i]) < cost_of(problem, facts, out))
      *out = list[i];
  }
}

static void defaults_gpu(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  cvy_winograd_plan sides = {.tile = 4};
  measure_sides(problem, problem->n > 0 ? problem->n : 1, &sides);
  out->value[TILE] = 4;
  out->value[FUSED] = 1;
  if (of_weights(problem))
    choose_tile(weights_tiles, CVY_COUNT(weights_tiles), &sides, facts, true, out);
  else
    choose_tile(gather_tiles, CVY_COUNT(gather_tiles), &sides, facts, false, out);
  choose_slices(problem, facts, out);
  try_fused(problem, facts, out);
}

static const cvy_params for_processors = {{4, 16, 32, 8, 4, 8, 1, 1}};
/* What every device takes: 16 items, 2 KiB of local memory. */
static const cvy_params least = {{2, 16, 16, 4, 4, 4, 1, 1}};

static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  *out = for_processors;
  if (facts->info.type != CONVOY_DEVICE_CPU) defaults_gpu(problem, facts, out);
  if (!valid(out, problem, facts)) *out = least;
}

static bool is_three_by_three(const cvy_problem *problem) {
  if (problem->filter[0] != 1 || problem->stride[0] != 1 || problem->in[0] != problem->out[0])
    return false;
  for (int axis = 1; axis < 3; axis++)
    if (problem->filter[axis] != 3 || problem->stride[axis] != 1 || problem->dilation[axis] != 1)
      return false;
  return problem->pad[0] == 0;
}

/* How far rounding errors of a tile of 4 grow: the transforms multiply an error of one unit by at most
 * 205 = max over outputs o and taps r of (sum over points i of |A[i][o]| |G[i][r]| sum |B[i]|)^2, and no
 * value goes through more than 24 roundings beside those of its sum. With sums of `terms` products, at
 * least 6 outputs each for the gradient of weights and 9 taps for the others, that stays within 4 (len +
 * 2) ERROR_GROWTH from LEAST_TERMS on. */
#define ERROR_GROWTH 32
#define LEAST_TERMS 8
#define LEAST_PLANE 4

static bool is_large_enough(const cvy_problem *problem, cvy_text *reason) {
  const int64_t *out = problem->direction == CONVOY_BACKWARD_DATA ? problem->in : problem->out;
  cvy_winograd_plan sides = {.tile = 4};
  measure_sides(problem, problem->n > 0 ? problem->n : 1, &sides);
  if (sides.depth >= LEAST_TERMS && out[1] >= LEAST_PLANE && out[2] >= LEAST_PLANE) return true;
  cvy_text_add(reason,
               "sums of %lld terms over planes of %lld x %lld are too small for its error bound: "
               "needs %d, %d x %d",
               (long long)sides.depth, (long long)out[1], (long long)out[2], LEAST_TERMS,
               LEAST_PLANE, LEAST_PLANE);
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
  defaults(problem, facts, &params);
  if (valid(&params, problem, facts)) return true;
  const cvy_winograd_plan plan = cvy_winograd_plan_for(problem, facts, &params);
  const double bytes = (double)(plan.scratch + plan.weights) * sizeof(float);
  cvy_text_add(
      reason, "one image needs %.0f bytes of workspace and %lld of local memory; limits %lld, %lld",
      bytes, (long long)local_bytes(&params, of_weights(problem)),
      (long long)facts->workspace_limit, (long long)facts->local_memory_bytes);
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  return cvy_winograd_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
}

/* In one kernel on AMD's cards it is for the tuner to find out: no prediction covers it. */
static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  cvy_params params;
  defaults(problem, facts, &params);
  if (is_amd(facts) && params.value[FUSED] == 2) return false;
  return cost_of(problem, facts, &params) < cvy_problem_flops(problem) / DIRECT_SHARE;
}

const cvy_algorithm cvy_ocl_winograd = {
    .name = "ocl.winograd",
    .directions = 1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA | 1u << CONVOY_BACKWARD_WEIGHTS,
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .launch_params = 1u << SLICES,
    .space_params = 1u << FUSED,
    .defaults = defaults,
    .valid = valid,
    .pays = pays,
    .error_growth = ERROR_GROWTH,
    .error_reach = 3,
};
