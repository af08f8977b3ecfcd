/* The cuts of cpu.inner_products. */
#include "cpu/inner_products/inner_products.h"
#include "cpu/shared/block.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/range.h"

#define PLACES 1600       /* of a row: those of a tile share the L1 cache, */
#define PLACES_1X1 800    /* where no two columns are the same channel's, fewer */
#define SOME_FLOATS 65536 /* of x, and of dy, in the L2 cache */
#define SUM_FLOATS 65536  /* up to here a sum per slice costs less than loading x again */
#define SLICES_PER_THREAD 2
#define PREFETCHED 2  /* shares of the cache for dy that may be asked for ahead */
#define LEAST_PART 16 /* outputs or channels */
#define FAR 512       /* floats: so far apart rows would meet in few sets of the cache */

/* -------------------------------------------------------------------------------- units */

cvy_planes_layout cvy_cpu_inner_products_layout(const cvy_cpu_inner_products_plan *plan,
                                                const cvy_problem *block) {
  cvy_planes_layout layout = cvy_planes_layout_of(block);
  layout.plane = plan->images * layout.plane;
  return layout;
}

static cvy_planes_layout layout_of_block(const cvy_cpu_inner_products_plan *plan,
                                         cvy_problem *block) {
  int64_t skip;
  *block = cvy_block_of(&plan->p, plan->axis, 0, plan->block, &skip);
  return cvy_planes_layout_of(block);
}

static void cut_block(cvy_cpu_inner_products_plan *plan, int64_t blocks) {
  int64_t extent = plan->p.out[plan->axis];
  plan->block = cvy_div_up(extent, blocks);
  if (plan->axis == 2 && blocks > 1)
    plan->block = cvy_min(cvy_align_up(plan->block, CVY_LINE_FLOATS), extent);
  plan->blocks = cvy_div_up(extent, plan->block);
}

/* Rows as long as a tile's share of the cache: blocks of an image, or several images. */
static void cut_units(cvy_cpu_inner_products_plan *plan) {
  cvy_problem block;
  int64_t most = plan->taps == 1 ? PLACES_1X1 : PLACES;
  plan->axis = cvy_block_axis(&plan->p);
  cut_block(plan, 1);
  for (int64_t blocks = 2; plan->block > 1 && layout_of_block(plan, &block).y_floats > most;
       blocks++)
    cut_block(plan, blocks);
  cvy_planes_layout layout = layout_of_block(plan, &block);
  plan->plane = layout.plane;
  plan->phases = layout.x_floats / layout.plane;
  int64_t images = plan->blocks == 1 ? cvy_max(most / plan->plane, 1) : 1;
  plan->images = cvy_div_up(plan->p.n, cvy_div_up(plan->p.n, images));
  plan->bands = cvy_div_up(plan->p.n, plan->images);
  plan->units = plan->bands * plan->blocks;
}

static bool has_gaps(const cvy_problem *p) {
  for (int i = 0; i < 3; i++) {
    if (p->filter[i] != 1 || p->pad[i] != 0 || (p->out[i] - 1) * p->stride[i] >= p->in[i])
      return true;
  }
  return false;
}

/* Rows that end with whole vectors, and do not meet in few sets of the cache. */
static bool is_flat(const cvy_cpu_inner_products_plan *plan) {
  const cvy_problem *p = &plan->p;
  for (int i = 0; i < 3; i++) {
    if (p->filter[i] != 1 || p->pad[i] != 0 || p->stride[i] != 1 || p->in[i] != p->out[i])
      return false;
  }
  return plan->images == 1 && plan->block % CVY_LINE_FLOATS == 0 &&
         p->out[2] % CVY_LINE_FLOATS == 0 && p->out[2] % FAR != 0 &&
         plan->outputs % plan->tile->rows == 0;
}

/* ---------------------------------------------------------------------------- sharing out */

/* As many even parts as are missing, not too thin. */
static int64_t part_for(int64_t whole, int64_t missing, int64_t unit) {
  int64_t parts = cvy_max(cvy_min(missing, whole / LEAST_PART), 1);
  return cvy_min(cvy_align_up(cvy_div_up(whole, parts), unit), whole);
}

/* Small sums: one for each of a few slices of the units. Large ones: outputs are shared out, then
 * channels, and each part loads the other operand again. */
static void share_out(cvy_cpu_inner_products_plan *plan) {
  int64_t missing = cvy_div_up(plan->slots, plan->p.groups);
  bool small = plan->p.k * plan->channels * plan->taps <= SUM_FLOATS;
  plan->slices = 1;
  if (small && missing > 1) plan->slices = cvy_min(SLICES_PER_THREAD * missing, plan->units);
  missing = cvy_div_up(missing, plan->slices);
  plan->output_part = part_for(plan->outputs, missing, plan->tile->rows);
  plan->output_parts = cvy_div_up(plan->outputs, plan->output_part);
  missing = cvy_div_up(missing, plan->output_parts);
  plan->channel_part = part_for(plan->channels, missing, 1);
  plan->channel_parts = cvy_div_up(plan->channels, plan->channel_part);
  missing = cvy_div_up(missing, plan->channel_parts);
  if (missing > 1) plan->slices = cvy_min(plan->slices * missing, plan->units);
}

static void size_memory(cvy_cpu_inner_products_plan *plan) {
  int64_t places = cvy_saturating_mul(plan->images, plan->plane);
  plan->x_pitch =
      cvy_odd_lines(cvy_saturating_mul(places, plan->phases) + CVY_CPU_INNER_PRODUCTS_BEHIND);
  plan->y_pitch = cvy_odd_lines(places);
  if (plan->flat) plan->x_pitch = plan->y_pitch = cvy_in_volume(&plan->p);
  int64_t rows = cvy_max(SOME_FLOATS / places, 1), outputs = plan->output_part;
  plan->y_some = cvy_div_up(outputs, cvy_div_up(outputs, rows));
  plan->y_some = cvy_align_up(plan->y_some, plan->tile->rows);
  int64_t most = cvy_max(SOME_FLOATS / cvy_saturating_mul(places, plan->phases), 1),
          channels = plan->channel_part;
  plan->x_some = cvy_div_up(channels, cvy_div_up(channels, most));
  plan->prefetches = !plan->flat && plan->images == 1 && plan->x_some == plan->channel_part &&
                     plan->output_part <= PREFETCHED * plan->y_some;
  plan->sum_floats =
      plan->slices > 1 ? cvy_align_up(plan->p.k * plan->channels * plan->taps, CVY_LINE_FLOATS) : 0;
  int64_t columns = cvy_align_up(plan->x_some * plan->taps + plan->tile->columns, CVY_LINE_FLOATS);
  plan->x_floats = plan->flat ? 0 : cvy_saturating_mul(plan->x_some, plan->x_pitch);
  plan->y_floats = plan->flat ? 0 : cvy_saturating_mul(plan->y_some, plan->y_pitch);
  plan->slot_floats = cvy_saturating_mul(
      1, plan->x_floats + plan->y_floats + 2 * columns); /* an offset is as large as two floats */
}

cvy_cpu_inner_products_plan cvy_cpu_inner_products_plan_for(const cvy_problem *problem,
                                                            const cvy_facts *facts) {
  cvy_cpu_inner_products_plan plan = {.p = cvy_merged(problem), .slots = facts->info.compute_units};
  plan.tile = &cvy_simd_best()->inner_products;
  plan.channels = plan.p.c / plan.p.groups;
  plan.outputs = plan.p.k / plan.p.groups;
  plan.taps = cvy_filter_volume(&plan.p);
  plan.gaps = has_gaps(&plan.p);
  cut_units(&plan);
  plan.flat = is_flat(&plan);
  share_out(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_inner_products_bytes(const cvy_cpu_inner_products_plan *plan) {
  int64_t floats = cvy_saturating_mul(plan->slots, plan->slot_floats);
  floats = cvy_saturating_mul(1, floats + cvy_saturating_mul(plan->slices, plan->sum_floats));
  return cvy_saturating_mul(floats, (int64_t)sizeof(float));
}
