/* The cut that ocl.winograd begins with: the tile whose padded products take the least time, with
 * as many slices as run at once, or one fused kernel where that is likely to be faster. */
#include "ocl/winograd.h"

/* A tile of the products, and about which share of a GPU's peak they reach with it, in percent. */
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

/* Work-groups for few channels, and where there is no scratch memory. For AMD's cards only the
 * first one is: nothing says yet how the others do there. */
static const cvy_params fused_gather[] = {{{2, 16, 64, 4, 8, 8, 1, 2}},
                                          {{2, 32, 32, 8, 8, 8, 1, 2}}};
static const cvy_params fused_weights[] = {{{2, 16, 16, 8, 8, 8, 8, 2}},
                                           {{2, 32, 32, 8, 8, 8, 2, 2}}};

/* AMD's cards are told apart: their compilers need tiles of a kind, and they compute much for each
 * byte that they move. */
static bool is_amd(const cvy_facts *facts) {
  return facts->preferred_multiple >= 64;
}

/* Terms of a step. */
#define STEP 8

/* Whether each item loads whole float4 of both tiles, and as many as the others. Otherwise a load
 * is in a branch, and AMD's compilers let nothing overlap it (tools/isa). */
static bool loads_evenly(const tile_choice *tile, int32_t bk) {
  int32_t items = tile->bm / tile->tm * (tile->bn / tile->tn);
  return tile->bm * bk / 4 % items == 0 && tile->bn * bk / 4 % items == 0;
}

/* Chooses the tile whose padded products take the least time. With `deep` steps have twice the
 * terms where they load evenly. */
static void choose_tile(const tile_choice *list, size_t count, const cvy_ocl_product *product,
                        const cvy_facts *facts, bool deep, cvy_params *out) {
  double least = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_amd(facts) && !loads_evenly(&list[i], STEP)) continue;
    double time = (double)cvy_ocl_round_up(product->rows, list[i].bm) *
                  (double)cvy_ocl_round_up(product->columns, list[i].bn) / list[i].share;
    if (least > 0 && !(time < least)) continue;
    least = time;
    out->value[WINOGRAD_BM] = list[i].bm;
    out->value[WINOGRAD_BN] = list[i].bn;
    out->value[WINOGRAD_TM] = list[i].tm;
    out->value[WINOGRAD_TN] = list[i].tn;
    out->value[WINOGRAD_BK] = deep && loads_evenly(&list[i], 2 * STEP) ? 2 * STEP : STEP;
  }
}

/* Work-groups of the products that run at once: what the 65536 registers of a compute unit hold. An
 * item needs some for its results, its fragments and the next tile, and about 28 for the rest. */
static int64_t groups_at_once(const cvy_ocl_winograd_plan *plan, const cvy_facts *facts) {
  const cvy_ocl_tile *tile = &plan->product_tile;
  int64_t loads = tile->bk * (tile->bm + tile->bn) / plan->items;
  int64_t registers = tile->tm * tile->tn + 2 * (tile->tm + tile->tn) + loads + 28;
  int64_t items = cvy_ocl_round_up(plan->items, 32);
  return 65536 / (registers * items) * (int64_t)facts->info.compute_units;
}

/* As many slices as keep all work-groups of the products running at once, none shorter than 64
 * terms. */
static void choose_slices(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  out->value[WINOGRAD_SLICES] = 1;
  cvy_ocl_winograd_plan plan = cvy_ocl_winograd_plan_for(problem, facts, out);
  int64_t slices = groups_at_once(&plan, facts) / plan.work_groups;
  int64_t most = plan.product.depth_up / 64;
  out->value[WINOGRAD_SLICES] =
      cvy_ocl_listed(&cvy_ocl_winograd.params[WINOGRAD_SLICES], slices < most ? slices : most);
}

/* What moving a byte takes, in operations at a GPU's peak, and what a kernel more than
 * ocl.implicit_gemm starts takes, per compute unit. An RX 5600 XT computes 31 operations where an
 * H200 does 15 (docs/rdna1.md). */
#define BYTE_WORK 18.0
#define BYTE_WORK_AMD 38.0
#define LAUNCH_WORK 0.6e6
/* Shares of the peak that products reach by themselves, fused, and in ocl.implicit_gemm. */
#define SHARE 0.65
#define FUSED_SHARE 0.28
#define FUSED_SHARE_OF_32 0.38
#define DIRECT_SHARE 0.6

/* With few work-groups some units have nothing to do. */
static double cost_of_fused(const cvy_ocl_winograd_plan *plan, double sums, double units) {
  int64_t rounds = cvy_ocl_ceil_div(plan->work_groups, (int64_t)units);
  double share = plan->product_tile.bm < 32 ? FUSED_SHARE : FUSED_SHARE_OF_32;
  return sums / share * (double)rounds * units / (double)plan->work_groups;
}

/* Arithmetic against memory traffic, both as operations. The transforms read a tile's values, with
 * their neighbours, most of them from a cache, and write its points, or the reverse; the products
 * read and write the points. */
static double cost_of(const cvy_problem *problem, const cvy_facts *facts,
                      const cvy_params *params) {
  cvy_ocl_winograd_plan plan = cvy_ocl_winograd_plan_for(problem, facts, params);
  const cvy_ocl_product *product = &plan.product;
  double sums = 2.0 * (double)plan.matrices * (double)product->rows_up *
                (double)product->columns_up * (double)product->depth_up;
  double units = facts->info.compute_units;
  if (plan.fused) return cost_of_fused(&plan, sums, units);
  double pieces = (double)cvy_ocl_ceil_div(problem->conv.n, plan.images);
  double values = (double)plan.images * (double)cvy_ocl_winograd_tiles(problem, plan.tile) *
                  (double)(problem->conv.c + problem->conv.k);
  double points = (double)plan.matrices / (double)problem->conv.groups;
  double byte = is_amd(facts) ? BYTE_WORK_AMD : BYTE_WORK;
  double moved = 4 * values * (points + (double)(plan.tile * plan.tile)) * byte;
  double streamed = 4 * values * points * byte;
  double multiplied = sums / SHARE > streamed ? sums / SHARE : streamed;
  double starts = LAUNCH_WORK * units;
  return pieces * (moved + multiplied + starts);
}

static void try_fused(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  bool weights = cvy_ocl_is_weights(problem);
  const cvy_params *list = weights ? fused_weights : fused_gather;
  int count = !is_amd(facts) ? 2 : weights ? 0 : 1;
  for (int i = 0; i < count; i++) {
    if (!cvy_ocl_winograd_valid(&list[i], problem, facts)) continue;
    if (!cvy_ocl_winograd_valid(out, problem, facts) ||
        cost_of(problem, facts, &list[i]) < cost_of(problem, facts, out))
      *out = list[i];
  }
}

static void defaults_gpu(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  int64_t images = problem->conv.n > 0 ? problem->conv.n : 1;
  cvy_ocl_product product = cvy_ocl_winograd_extents(problem, 4, images).product;
  out->value[WINOGRAD_TILE] = 4;
  out->value[WINOGRAD_FUSED] = 1;
  if (cvy_ocl_is_weights(problem))
    choose_tile(weights_tiles, CVY_COUNT(weights_tiles), &product, facts, true, out);
  else
    choose_tile(gather_tiles, CVY_COUNT(gather_tiles), &product, facts, false, out);
  choose_slices(problem, facts, out);
  try_fused(problem, facts, out);
}

static const cvy_params for_processors = {{4, 16, 32, 8, 4, 8, 1, 1}};
/* Every device can run this: it takes 16 items and 2 KiB of local memory. */
static const cvy_params least = {{2, 16, 16, 4, 4, 4, 1, 1}};

void cvy_ocl_winograd_defaults(const cvy_problem *problem, const cvy_facts *facts,
                               cvy_params *out) {
  *out = for_processors;
  if (facts->info.type != CONVOY_DEVICE_CPU) defaults_gpu(problem, facts, out);
  if (!cvy_ocl_winograd_valid(out, problem, facts)) *out = least;
}

/* Whether one kernel is faster on AMD's cards is for the tuner to find out: no prediction covers
 * it. */
bool cvy_ocl_winograd_pays(const cvy_problem *problem, const cvy_facts *facts) {
  cvy_params params;
  cvy_ocl_winograd_defaults(problem, facts, &params);
  if (is_amd(facts) && params.value[WINOGRAD_FUSED] == 2) return false;
  return cost_of(problem, facts, &params) < cvy_problem_flops(problem) / DIRECT_SHARE;
}
