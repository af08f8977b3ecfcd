/* The cuts of cpu.implicit_gemm's forward and backward_data. A panel of packed columns and the
 * filters it meets share the L2 cache; the filters of one tile, and on AVX2 a strip, stay in the L1
 * cache. */
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/mirror.h"
#include "cpu/shared/pointwise.h"
#include "problem/conv/conv.h"

#define DEPTH 256   /* channels times taps of a panel: sums are walked once for so many */
#define FEW_FLAT 32 /* outputs of pointwise filters, measured on AVX2 */
#define AVX2_WIDTH 8
#define COLUMNS 512
#define FILTER_FLOATS 32768    /* of the tiles taken together, for the channels of a panel */
#define RESIDENT_FLOATS 131072 /* of planes that stay */
#define SHIFTED_FLOATS 65536   /* of planes that are read without packing */
#define FEW_OUTPUTS 64         /* for which that can pay */
#define PACKED_OUTPUTS 8       /* packing a column costs as much as so many outputs of it */
#define PIECES_PER_THREAD 4    /* from here on the threads end at about the same time */
#define INDEX_FLOATS 2         /* an offset is as large as two floats */

/* ------------------------------------------------------------------------ what it is for */

bool cvy_cpu_implicit_gemm_takes_map(const cvy_problem *problem, cvy_text *reason) {
  cvy_problem p = cvy_merged(problem);
  bool data = p.operation == CONVOY_BACKWARD_DATA;
  cvy_problem map = data ? cvy_mirrored(&p) : p;
  for (int i = 0; i < 3; i++) {
    if (map.conv.pad[i] < 0) {
      cvy_text_add(reason, "backward_data with padding %lld beyond the filter's reach",
                   (long long)p.conv.pad[i]);
      return false;
    }
  }
  int64_t channels = p.conv.c / p.conv.groups, outputs = p.conv.k / p.conv.groups;
  if (channels == 1 && outputs == 1) {
    cvy_text_add(reason, "one channel in, one out per group make no matrix product");
    return false;
  }
  return true;
}

bool cvy_cpu_implicit_gemm_packs_in_vain(const cvy_problem *problem) {
  cvy_problem p = cvy_merged(problem);
  int64_t results = p.operation == CONVOY_BACKWARD_DATA ? p.conv.c : p.conv.k;
  bool wide = cvy_simd_best()->microkernel.width > AVX2_WIDTH;
  return !wide && cvy_is_pointwise(&p) && results / p.conv.groups <= FEW_FLAT;
}

/* ------------------------------------------------------------------------------------ cuts */

/* They are even parts of all. */
int64_t cvy_cpu_implicit_gemm_at_once(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t taps) {
  if (taps == 0) return plan->channels;
  return cvy_div_up(plan->channels, cvy_div_up(plan->channels * taps, DEPTH));
}

/* Even blocks of at most `most` places of the axis. Of a single row they are whole strips. */
static void cut_axis(cvy_cpu_implicit_gemm_maps_plan *plan, int64_t most) {
  int64_t extent = plan->p.conv.out[plan->blocks.axis];
  int64_t unit = plan->blocks.axis == 2 ? cvy_microkernel_columns(plan->kernel) : 1;
  plan->blocks.outputs = cvy_cut_into(extent, cvy_div_up(extent, cvy_max(most, 1)), unit);
}

/* How the first block, which is none of the smaller ones, lies in planes. `block` gets its
 * geometry, and stays in use. */
static cvy_planes_layout first_layout(const cvy_cpu_implicit_gemm_maps_plan *plan,
                                      cvy_problem *block) {
  *block = cvy_output_block_at(&plan->blocks, &plan->p, 0).p;
  return cvy_planes_layout_of(block);
}

/* Not packing is worth it where what it computes for nothing is less than what packing costs: for
 * few outputs. */
static bool shift_pays(cvy_cpu_implicit_gemm_maps_plan *plan) {
  cvy_problem block;
  cvy_planes_layout layout = first_layout(plan, &block);
  if (cvy_saturating_mul(plan->channels, layout.x_floats) > RESIDENT_FLOATS) return false;
  int64_t width = plan->kernel->width, rows = block.conv.out[0] * block.conv.out[1];
  int64_t through = cvy_align_up(layout.y_floats, width);
  int64_t by_rows = rows * cvy_align_up(block.conv.out[2], width);
  int64_t idle = cvy_min(through, by_rows) - rows * block.conv.out[2];
  plan->columns = by_rows <= through ? CVY_COLUMNS_IN_ROWS : CVY_COLUMNS_IN_PLANES;
  int64_t columns = by_rows <= through ? rows * layout.extent[2] : layout.y_floats;
  plan->strips = cvy_div_up(columns, cvy_microkernel_columns(plan->kernel)) + rows;
  return idle * plan->outputs <= rows * block.conv.out[2] * PACKED_OUTPUTS;
}

/* Whether the planes of a block are too large to be read without packing, or the blocks too few. */
static bool wants_smaller_blocks(const cvy_cpu_implicit_gemm_maps_plan *plan) {
  cvy_problem block;
  int64_t floats = cvy_saturating_mul(plan->channels, first_layout(plan, &block).x_floats);
  int64_t pieces = cvy_output_blocks_count(&plan->blocks) * plan->p.conv.groups;
  return floats > SHIFTED_FLOATS || pieces < PIECES_PER_THREAD * plan->slots;
}

/* Tries to do without packing, in blocks of one image whose planes are in cache. */
static bool cut_shifted(cvy_cpu_implicit_gemm_maps_plan *plan) {
  if (plan->columns == CVY_COLUMNS_FROM_SOURCE || plan->outputs > FEW_OUTPUTS) return false;
  plan->blocks.images = cvy_cut_by(plan->p.conv.n, 1);
  cut_axis(plan, plan->p.conv.out[plan->blocks.axis]);
  while (plan->blocks.outputs.size > 1 && wants_smaller_blocks(plan)) {
    int64_t before = plan->blocks.outputs.size;
    cut_axis(plan, before / 2);
    if (plan->blocks.outputs.size == before) break;
  }
  return shift_pays(plan);
}

/* Blocks are whole rows, or planes, or pieces of a single row, and of several images where these
 * are small. */
static void cut_packed(cvy_cpu_implicit_gemm_maps_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t extent = p->conv.out[plan->blocks.axis], row = cvy_out_volume(p) / extent;
  cut_axis(plan, COLUMNS / row);
  int64_t images = plan->blocks.outputs.count == 1 ? cvy_max(COLUMNS / (row * extent), 1) : 1;
  plan->blocks.images = cvy_cut_into(p->conv.n, cvy_div_up(p->conv.n, images), 1);
  int64_t columns = plan->blocks.images.size * plan->blocks.outputs.size * row;
  plan->strips = cvy_div_up(columns, cvy_microkernel_columns(plan->kernel));
}

static void choose_columns(cvy_cpu_implicit_gemm_maps_plan *plan) {
  bool flat = cvy_is_pointwise(&plan->p) && plan->phases == 1;
  cvy_cpu_implicit_gemm_columns packed =
      flat ? CVY_COLUMNS_FROM_SOURCE : CVY_COLUMNS_FROM_SOME_PLANES;
  plan->columns = packed;
  if (cut_shifted(plan)) return;
  plan->columns = packed;
  cut_packed(plan);
}

static void cut_tiles(cvy_cpu_implicit_gemm_maps_plan *plan) {
  int64_t pieces = cvy_output_blocks_count(&plan->blocks) * plan->p.conv.groups, shares = 1;
  while (shares < plan->tiles.count && pieces * shares % plan->slots != 0 &&
         pieces * shares < PIECES_PER_THREAD * plan->slots)
    shares++;
  plan->tiles.shares = shares;
  plan->tiles.together = cvy_max(FILTER_FLOATS / (plan->depth * plan->kernel->rows), 1);
  plan->tiles.pack_at_use = cvy_output_blocks_count(&plan->blocks) == 1;
}

/* -------------------------------------------------------------------------------- together */

static int64_t phases_of(const cvy_cpu_implicit_gemm_maps_plan *plan) {
  const int64_t *s = plan->whole.conv.stride;
  return plan->data ? cvy_saturating_mul(cvy_saturating_mul(s[0], s[1]), s[2]) : 1;
}

static void size_planes(cvy_cpu_implicit_gemm_maps_plan *plan) {
  cvy_problem block;
  plan->pitch.image = first_layout(plan, &block).x_floats;
  plan->pitch.channel = cvy_saturating_mul(plan->blocks.images.size, plan->pitch.image);
  if (plan->columns == CVY_COLUMNS_FROM_SOME_PLANES &&
      cvy_saturating_mul(plan->channels, plan->pitch.channel) <= RESIDENT_FLOATS)
    plan->columns = CVY_COLUMNS_FROM_ALL_PLANES;

  /* An odd number of lines, so that the channels of a strip do not meet in one set of the cache. */
  plan->pitch.channel = ((plan->pitch.channel / CVY_LINE_FLOATS | 1) + 2) * CVY_LINE_FLOATS;
  int64_t at_once = cvy_cpu_implicit_gemm_at_once(plan, plan->phases > 1 ? 1 : plan->taps);
  if (cvy_cpu_implicit_gemm_loads_all(plan)) at_once = plan->channels;
  int64_t beyond = cvy_microkernel_columns(plan->kernel);
  plan->floats.planes =
      cvy_align_up(cvy_saturating_mul(at_once, plan->pitch.channel) + beyond, CVY_LINE_FLOATS);
  if (plan->columns == CVY_COLUMNS_FROM_SOURCE) {
    plan->pitch.channel = cvy_in_volume(&plan->p);
    plan->pitch.image = cvy_conv_pitch(&plan->p, CVY_X);
    plan->floats.planes = 0;
  }
  if (cvy_cpu_implicit_gemm_packs(plan))
    plan->runs = plan->blocks.images.size * block.conv.out[0] * block.conv.out[1] + plan->strips;
}

static void size_memory(cvy_cpu_implicit_gemm_maps_plan *plan) {
  int64_t rows = plan->kernel->rows, width = cvy_microkernel_columns(plan->kernel);
  int64_t all = plan->p.conv.groups * plan->tiles.count * plan->channels * plan->taps * rows;
  bool at_use = plan->tiles.pack_at_use;
  plan->floats.filters = at_use ? 0 : cvy_align_up(all, CVY_LINE_FLOATS);
  plan->floats.tile = cvy_align_up(plan->depth * rows, CVY_LINE_FLOATS);
  int64_t own = at_use ? plan->tiles.together * plan->floats.tile : 0;
  plan->floats.order = cvy_align_up(cvy_saturating_mul(INDEX_FLOATS, plan->taps + plan->phases + 1),
                                    CVY_LINE_FLOATS);
  /* Packing writes whole vectors, past the last column. */
  plan->floats.strip =
      cvy_align_up(cvy_saturating_mul(plan->depth, width) + plan->kernel->width, CVY_LINE_FLOATS);
  if (cvy_cpu_implicit_gemm_packs(plan))
    plan->floats.panel = cvy_saturating_mul(plan->strips, plan->floats.strip);
  int64_t tiles = cvy_div_up(plan->tiles.count, plan->tiles.shares);
  plan->floats.results = cvy_saturating_mul(plan->strips, tiles * rows * width);
  int64_t lists = plan->runs * (int64_t)(sizeof(cvy_copy_run) / sizeof(float));
  lists += plan->strips * (int64_t)(sizeof(cvy_cpu_implicit_gemm_strip) / sizeof(float));
  lists += INDEX_FLOATS * plan->taps;
  int64_t floats = cvy_saturating_mul(1, plan->floats.planes + plan->floats.panel);
  floats = cvy_saturating_mul(1, floats + plan->floats.results + own + lists);
  plan->floats.slot = cvy_align_up(floats, CVY_LINE_FLOATS);
}

cvy_cpu_implicit_gemm_maps_plan cvy_cpu_implicit_gemm_maps_plan_for(const cvy_problem *problem,
                                                                    const cvy_facts *facts) {
  cvy_cpu_implicit_gemm_maps_plan plan = {.whole = cvy_merged(problem),
                                          .slots = facts->info.compute_units};
  plan.data = plan.whole.operation == CONVOY_BACKWARD_DATA;
  plan.p = plan.data ? cvy_mirrored(&plan.whole) : plan.whole;
  plan.channels = plan.p.conv.c / plan.p.conv.groups;
  plan.outputs = plan.p.conv.k / plan.p.conv.groups;
  plan.taps = cvy_filter_volume(&plan.whole);
  plan.phases = phases_of(&plan);
  plan.kernel = cvy_microkernel_for(cvy_simd_best(), plan.outputs);
  plan.tiles.count = cvy_div_up(plan.outputs, plan.kernel->rows);
  plan.depth = cvy_min(DEPTH + plan.taps, plan.channels * plan.taps);
  plan.blocks.axis = cvy_block_axis(&plan.p);
  choose_columns(&plan);
  cut_tiles(&plan);
  size_planes(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_implicit_gemm_maps_bytes(const cvy_cpu_implicit_gemm_maps_plan *plan) {
  int64_t floats = cvy_saturating_mul(plan->slots, plan->floats.slot) + plan->floats.filters;
  return cvy_saturating_mul(floats + plan->floats.order, (int64_t)sizeof(float));
}
