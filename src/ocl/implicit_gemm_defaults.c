/* The cut that ocl.implicit_gemm begins with: of a list of tiles and numbers of slices the one that
 * a simple model of a GPU expects to be fastest. Times are in multiply-adds of one compute unit. */
#include "ocl/implicit_gemm.h"
#include "problem/conv/conv.h"

/* `share` is the speed of the tile's loop as a part of what the best tile reaches, with one tap and
 * with several. */
typedef struct tile_choice {
  int32_t bm, bn, bk, tm, tn;
  double share, share_of_taps;
} tile_choice;

static const tile_choice gather_tiles[] = {
    {64, 128, 8, 8, 8, 1, .35},    {64, 64, 16, 8, 8, 1, 1.05},    {64, 64, 16, 8, 4, .77, .86},
    {64, 64, 32, 8, 4, .9, .9},    {128, 128, 8, 8, 8, 1.05, .91}, {64, 64, 8, 8, 8, .79, .68},
    {32, 128, 8, 16, 4, .92, .9},  {32, 64, 16, 8, 4, .52, .6},    {32, 32, 16, 4, 4, .7, .39},
    {80, 128, 8, 20, 4, .65, .97}, {80, 64, 8, 20, 4, .3, .92},    {48, 128, 8, 12, 8, .48, .85},
    {16, 128, 8, 8, 8, .84, .6},   {4, 128, 8, 4, 4, .3, .3},
};
/* Tiles whose loads AMD's compilers keep ahead of the arithmetic. */
static const tile_choice gather_tiles_of_64[] = {
    {64, 128, 8, 8, 8, 1, 1},     {64, 64, 8, 8, 8, .97, .84},  {128, 64, 8, 8, 8, .97, .95},
    {32, 128, 8, 8, 8, .97, .85}, {96, 128, 8, 12, 8, .75, .8}, {80, 128, 8, 20, 4, .72, .9},
    {80, 64, 8, 20, 4, .82, .9},  {48, 128, 8, 12, 8, .72, .8}, {32, 64, 8, 8, 4, .6, .55},
    {16, 128, 8, 8, 8, .83, .7},  {16, 64, 8, 4, 4, .4, .38},   {4, 128, 8, 4, 4, .3, .3},
};
static const tile_choice nine_tap_tiles[] = {
    {64, 72, 16, 8, 9, .68, .68},  {128, 72, 16, 8, 9, 1.01, 1.01}, {64, 144, 16, 8, 9, .92, .92},
    {80, 144, 16, 5, 9, .72, .72}, {80, 72, 16, 5, 9, .78, .78},    {48, 72, 16, 4, 9, .6, .6},
    {32, 144, 16, 8, 9, .68, .68}, {32, 72, 16, 4, 9, .69, .69},    {32, 72, 32, 8, 9, .68, .68},
    {16, 144, 16, 4, 9, .68, .68}, {64, 72, 8, 8, 9, .646, .646}, /* for few registers */
};
/* The first is AMD's, the last everybody else's: its loads of 16 positions clang 15 moves to where
 * they are used, those of 32 it does not (tools/isa). */
static const tile_choice weights_tiles[] = {
    {80, 80, 32, 5, 10, .74, .78}, {64, 64, 16, 8, 8, .73, 1.06},   {128, 64, 16, 8, 8, 1.02, 1.1},
    {64, 128, 16, 8, 8, .92, 1},   {128, 128, 16, 8, 8, 1.03, .68}, {64, 96, 16, 8, 12, .68, .74},
    {64, 80, 16, 8, 10, .84, .99}, {64, 48, 32, 8, 6, .8, .78},     {48, 64, 32, 6, 8, .82, .78},
    {64, 32, 32, 8, 4, .82, .72},  {32, 64, 32, 4, 8, .74, .58},    {32, 48, 32, 4, 6, .68, .94},
    {32, 32, 32, 8, 4, .55, .94},  {32, 32, 32, 4, 4, .55, .88},    {16, 64, 16, 4, 4, .65, .4},
    {16, 32, 32, 4, 4, .65, .53},  {80, 80, 16, 5, 10, .74, .78},
};

/* A list of tiles, and the numbers of the model that fit their times. */
typedef struct tile_list {
  const tile_choice *tiles;
  size_t count;
  double group_terms; /* what a work-group does beside its loop, in terms of the sum */
  double launch;      /* time of one more launch */
  double byte;        /* time of a byte that the whole device moves */
  double together;    /* items of a compute unit whose sums registers hold */
  double filled[5];   /* how busy 0, 1/2, 1, 2 and 3 items per SIMD's width keep a unit */
} tile_list;

/* They are fitted to the times of 16 000 candidates on an H200. */
static const tile_list gather = {gather_tiles, CVY_COUNT(gather_tiles), 7, 1.8e6, 7,
                                 256,          {0, .29, .35, .9, 1}};
static const tile_list gather_of_64 = {
    gather_tiles_of_64, CVY_COUNT(gather_tiles_of_64), 32, 1.5e6, 10, 384, {0, .4, .72, .95, 1}};
static const tile_list nine_taps = {
    nine_tap_tiles, CVY_COUNT(nine_tap_tiles), 0, 5.2e5, 3.8, 256, {0, .42, .78, .89, 1}};
static const tile_list other_taps = {
    weights_tiles + 1, CVY_COUNT(weights_tiles) - 1, 0, 5.2e5, 3.8, 256, {0, .42, .78, .89, 1}};
static const tile_list other_taps_of_64 = {
    weights_tiles, CVY_COUNT(weights_tiles) - 1, 0, 5.2e5, 3.8, 256, {0, .42, .78, .89, 1}};

static const tile_list *tiles_for(const cvy_problem *problem, const cvy_facts *facts) {
  const bool amd = facts->preferred_multiple >= 64;
  if (!cvy_ocl_is_weights(problem)) return amd ? &gather_of_64 : &gather;
  bool narrow = cvy_ocl_implicit_gemm_extents_of(problem).columns <= 32;
  if (cvy_filter_volume(problem) % 9 == 0 && !narrow) return &nine_taps;
  return amd ? &other_taps_of_64 : &other_taps;
}

/* How busy so many items keep a compute unit of four SIMDs: with few of them nothing hides their
 * waits. */
static double filled(const tile_list *list, double items, const cvy_facts *facts) {
  static const double at[] = {0, .5, 1, 2, 3};
  double simds = items / (4.0 * (double)facts->preferred_multiple);
  for (size_t i = 1; i < CVY_COUNT(at); i++) {
    if (simds < at[i]) {
      return list->filled[i - 1] +
             (list->filled[i] - list->filled[i - 1]) * (simds - at[i - 1]) / (at[i] - at[i - 1]);
    }
  }
  return 1;
}

typedef struct expectation {
  const cvy_problem *problem;
  const cvy_facts *facts;
  const tile_list *list;
  cvy_ocl_implicit_gemm_extents extents;
  double out;    /* elements of the result */
  bool scatters; /* even a single slice takes a launch more */
} expectation;

static int64_t tiles_of(const expectation *of, const tile_choice *tile) {
  return cvy_ocl_ceil_div(of->extents.rows, tile->bm) *
         cvy_ocl_ceil_div(of->extents.columns, tile->bn) * of->problem->conv.groups *
         of->extents.busy;
}

/* AMD's compilers spill what does not go into 256 registers: an item's sums, and what it loads for
 * the next step. Up to this limit clang 15 to 22 spill nothing (tools/isa). */
#define REGISTERS_OF_ITEM 96
static bool fits_registers(const tile_choice *tile, const cvy_facts *facts) {
  int64_t items = (int64_t)(tile->bm / tile->tm) * (tile->bn / tile->tn);
  int64_t loaded = cvy_ocl_ceil_div((int64_t)(tile->bm + tile->bn) * tile->bk, items);
  return facts->preferred_multiple < 64 ||
         (int64_t)tile->tm * tile->tn + loaded <= REGISTERS_OF_ITEM;
}

static double expected(const expectation *of, const tile_choice *tile, int64_t slices) {
  double units = of->facts->info.compute_units, items = tile->bm / tile->tm * (tile->bn / tile->tn);
  double each = (double)cvy_ocl_ceil_div(tiles_of(of, tile) * slices, (int64_t)units);
  double group = (double)tile->bm * tile->bn *
                 ((double)cvy_ocl_ceil_div(of->extents.terms, slices) + of->list->group_terms);
  double together = of->list->together;
  double resident = each * items < together ? each * items : together;
  double share = cvy_filter_volume(of->problem) > 1 ? tile->share_of_taps : tile->share;
  double loop = each * group / (share * filled(of->list, resident, of->facts));
  if (slices == 1 && !of->scatters) return loop;
  return loop + of->list->launch +
         2.0 * (double)slices * of->out * sizeof(float) * of->list->byte / units;
}

static void set(const tile_choice *tile, int64_t slices, cvy_params *out) {
  out->value[GEMM_BM] = tile->bm;
  out->value[GEMM_BN] = tile->bn;
  out->value[GEMM_BK] = tile->bk;
  out->value[GEMM_TM] = tile->tm;
  out->value[GEMM_TN] = tile->tn;
  out->value[GEMM_SLICES] = (int32_t)slices;
  out->value[GEMM_SPACE] = 2;
}

/* Slices that make `each` work-groups per compute unit, or as many as are worth starting. */
static int64_t slices_for(const expectation *of, const tile_choice *tile, int64_t each) {
  int64_t wanted = each * (int64_t)of->facts->info.compute_units / tiles_of(of, tile);
  int64_t most = cvy_ocl_ceil_div(of->extents.terms, 64);
  int64_t slices = wanted < most ? wanted : most;
  return slices < 1 ? 1 : slices;
}

/* The best number of slices for a tile as the value of its parameter, and the time it takes. */
static double best_slices(const expectation *of, const tile_choice *tile, int32_t *best) {
  bool weights = cvy_ocl_is_weights(of->problem);
  static const int32_t per_unit[] = {1, 2, 3, 4, 8, 12};
  double least = expected(of, tile, 1);
  *best = 1;
  if (weights && slices_for(of, tile, 1) > 1) least = 1e300;
  for (size_t i = 0; i < CVY_COUNT(per_unit); i++) {
    int64_t slices = slices_for(of, tile, per_unit[i]);
    if (!weights) slices = cvy_ocl_listed(&cvy_ocl_implicit_gemm.params[GEMM_SLICES], slices);
    double time = expected(of, tile, slices);
    if (!(time < least)) continue;
    least = time;
    *best = weights ? per_unit[i] : (int32_t)slices;
  }
  return least;
}

/* Channels per block: as many as the tile has, or fewer where that would waste much on channels
 * that are not there. */
static int32_t block_channels(int64_t depth, int32_t most) {
  int32_t block = most;
  while (block > 4 && cvy_ocl_round_up(depth, block) * 8 > depth * 9) block /= 2;
  return block;
}

static void defaults_gpu(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  cvy_problem product = cvy_ocl_implicit_gemm_product(problem);
  const tile_list *list = tiles_for(problem, facts);
  expectation of = {&product,
                    facts,
                    list,
                    cvy_ocl_implicit_gemm_extents_of(&product),
                    (double)cvy_conv_count(&product, cvy_conv_out(problem)),
                    cvy_ocl_implicit_gemm_scatters(problem)};
  double least = 1e300;
  for (size_t i = 0; i < list->count; i++) {
    cvy_params tried;
    int32_t slices;
    double time = best_slices(&of, &list->tiles[i], &slices);
    if (!(time < least) || !fits_registers(&list->tiles[i], facts)) continue;
    set(&list->tiles[i], slices, &tried);
    if (!cvy_ocl_is_weights(problem))
      tried.value[GEMM_BK] = block_channels(of.extents.depth, tried.value[GEMM_BK]);
    if (!cvy_ocl_implicit_gemm_valid(&tried, problem, facts)) continue;
    least = time;
    *out = tried;
  }
}

/* A processor runs the items of a group one after the other, so there are few of them, each with
 * much to do, and all of it in its first cache. Nothing is compiled in, because its compiler takes
 * seconds for each program. */
static void defaults_cpu(const cvy_problem *problem, cvy_params *out) {
  cvy_ocl_implicit_gemm_extents extents = cvy_ocl_implicit_gemm_extents_of(problem);
  bool weights = cvy_ocl_is_weights(problem);
  tile_choice tile = {.bm = extents.rows > 16             ? 32
                            : extents.rows > 4 || weights ? 16
                                                          : 4,
                      .bn = 32,
                      .bk = weights || extents.depth > 4 ? 8 : 4,
                      .tm = 4,
                      .tn = 8};
  set(&tile, weights ? 4 : 1, out);
  out->value[GEMM_SPACE] = 1;
}

/* Every device can run this: it takes 16 items and 2 KiB of local memory. */
static const cvy_params least = {{16, 16, 8, 4, 4, 1, 1}};

void cvy_ocl_implicit_gemm_defaults(const cvy_problem *problem, const cvy_facts *facts,
                                    cvy_params *out) {
  *out = least;
  if (facts->info.type != CONVOY_DEVICE_CPU) {
    defaults_gpu(problem, facts, out);
    return;
  }
  defaults_cpu(problem, out);
  if (!cvy_ocl_implicit_gemm_valid(out, problem, facts)) *out = least;
}
