/* The cuts of cpu.inner_products. */
#include "cpu/inner_products/inner_products.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/pointwise.h"
#include "cpu/shared/sums.h"
#include "problem/conv/conv.h"

#define PLACES 1600       /* of a row: the rows of a tile share the L1 cache. They are */
#define PLACES_1X1 800    /* fewer where no two columns are the same channel's */
#define VECTORS 256       /* of a row that are summed at a time */
#define SOME_FLOATS 65536 /* of x, and of dy, in the L2 cache */
#define LOADED 1.0        /* cycles of an element */
#define PER_SUM 0.5       /* cycles to write a sum of a slice and to read it again */
#define PREFETCHED 2      /* shares of the cache for dy that memory may be asked for meanwhile */
#define LEAST_PART 16     /* outputs or channels */
#define LEAST_PLACES 512  /* of a slice */
#define FAR 512           /* floats: rows so far apart would meet in few sets of the cache */

/* -------------------------------------------------------------------------------- units */

cvy_planes_layout cvy_cpu_inner_products_layout(const cvy_cpu_inner_products_plan *plan,
                                                const cvy_problem *block) {
  cvy_planes_layout layout = cvy_planes_layout_of(block);
  layout.plane = plan->units.images.size * layout.plane;
  return layout;
}

/* Of one image. `block` gets the geometry, and stays in use. */
static cvy_planes_layout first_layout(const cvy_cpu_inner_products_plan *plan, cvy_problem *block) {
  *block = cvy_output_block_at(&plan->units, &plan->p, 0).p;
  return cvy_planes_layout_of(block);
}

static void cut_outputs(cvy_cpu_inner_products_plan *plan, int64_t parts) {
  int axis = plan->units.axis;
  plan->units.outputs =
      cvy_cut_into(plan->p.conv.out[axis], parts, axis == 2 ? CVY_LINE_FLOATS : 1);
}

/* Rows are as long as a tile's share of the cache: blocks of an image, or several images. */
static void cut_units(cvy_cpu_inner_products_plan *plan) {
  cvy_problem block;
  int64_t most = plan->taps == 1 ? PLACES_1X1 : PLACES, parts = 1;
  plan->units.axis = cvy_block_axis(&plan->p);
  cut_outputs(plan, parts);
  while (plan->units.outputs.size > 1 && first_layout(plan, &block).y_floats > most)
    cut_outputs(plan, ++parts);
  cvy_planes_layout layout = first_layout(plan, &block);
  plan->row.plane = layout.plane;
  plan->row.phases = layout.x_floats / layout.plane;
  int64_t images = plan->units.outputs.count == 1 ? cvy_max(most / layout.plane, 1) : 1;
  plan->units.images = cvy_cut_into(plan->p.conv.n, cvy_div_up(plan->p.conv.n, images), 1);
}

static bool is_dense(const cvy_problem *p) {
  for (int i = 0; i < 3; i++) {
    bool past_the_end = (p->conv.out[i] - 1) * p->conv.stride[i] >= p->conv.in[i];
    if (p->conv.filter[i] != 1 || p->conv.pad[i] != 0 || past_the_end) return false;
  }
  return true;
}

/* Rows may be read as they lie if they end with whole vectors, and do not meet in few sets of the
 * cache. */
static bool may_lie(const cvy_cpu_inner_products_plan *plan) {
  int64_t row = plan->p.conv.out[2];
  bool whole = plan->units.outputs.size % CVY_LINE_FLOATS == 0 && row % CVY_LINE_FLOATS == 0;
  return cvy_is_pointwise(&plan->p) && plan->units.images.size == 1 && whole && row % FAR != 0 &&
         plan->outputs % plan->kernel->rows == 0;
}

/* ---------------------------------------------------------------------------- sharing out */

static void share_out(cvy_cpu_inner_products_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t units = cvy_output_blocks_count(&plan->units);
  cvy_sum_cut cut = cvy_sum_cut_of(
      &(cvy_sum_work){
          .groups = p->conv.groups,
          .rows = plan->outputs,
          .columns = plan->channels * plan->taps,
          .terms = p->conv.n * cvy_out_volume(p),
          .least_rows = LEAST_PART,
          .least_columns = LEAST_PART * plan->taps,
          .least_terms = LEAST_PLACES,
          .row_term = LOADED,
          .column_term = LOADED / (double)plan->taps * (double)plan->row.phases,
          .product = 0.5 / (double)cvy_simd_best()->microkernel.width,
          .slice = PER_SUM,
      },
      plan->slots);
  plan->slices = cvy_max(cvy_min(cut.slices, units), 1);
  plan->output_parts = cvy_cut_into(plan->outputs, cut.rows, plan->kernel->rows);
  plan->channel_parts = cvy_cut_into(plan->channels, cut.columns, 1);
}

static void size_rows(cvy_cpu_inner_products_plan *plan, int64_t places) {
  int64_t x = cvy_saturating_mul(places, plan->row.phases);
  plan->row.x_pitch = cvy_odd_lines(x + CVY_CPU_INNER_PRODUCTS_BEHIND);
  plan->row.y_pitch = cvy_odd_lines(places);
  if (plan->rows == CVY_ROWS_AS_THEY_LIE)
    plan->row.x_pitch = plan->row.y_pitch = cvy_in_volume(&plan->p);
}

/* Even parts of what threads share out, as many as fit the cache. */
static void cut_parts(cvy_cpu_inner_products_plan *plan, int64_t places) {
  int64_t most_outputs = cvy_max(SOME_FLOATS / places, 1), outputs = plan->output_parts.size;
  int64_t x = cvy_saturating_mul(places, plan->row.phases);
  int64_t most_channels = cvy_max(SOME_FLOATS / x, 1), channels = plan->channel_parts.size;
  plan->outputs_at_once = cvy_div_up(outputs, cvy_div_up(outputs, most_outputs));
  plan->outputs_at_once = cvy_align_up(plan->outputs_at_once, plan->kernel->rows);
  plan->channels_at_once = cvy_div_up(channels, cvy_div_up(channels, most_channels));
}

static void size_memory(cvy_cpu_inner_products_plan *plan) {
  bool lies = plan->rows == CVY_ROWS_AS_THEY_LIE;
  int64_t sum = plan->p.conv.k * plan->channels * plan->taps;
  plan->floats.sum = plan->slices > 1 ? cvy_align_up(sum, CVY_LINE_FLOATS) : 0;
  plan->floats.x = lies ? 0 : cvy_saturating_mul(plan->channels_at_once, plan->row.x_pitch);
  plan->floats.y = lies ? 0 : cvy_saturating_mul(plan->outputs_at_once, plan->row.y_pitch);
  int64_t columns =
      cvy_align_up(plan->channels_at_once * plan->taps + plan->kernel->columns, CVY_LINE_FLOATS);
  int64_t lists = 2 * columns; /* an offset is as large as two floats */
  plan->floats.slot = cvy_saturating_mul(1, plan->floats.x + plan->floats.y + lists);
}

cvy_cpu_inner_products_plan cvy_cpu_inner_products_plan_for(const cvy_problem *problem,
                                                            const cvy_facts *facts) {
  cvy_cpu_inner_products_plan plan = {.p = cvy_merged(problem), .slots = facts->info.compute_units};
  plan.kernel = &cvy_simd_best()->inner_products;
  plan.block = VECTORS * cvy_simd_best()->microkernel.width;
  plan.channels = plan.p.conv.c / plan.p.conv.groups;
  plan.outputs = plan.p.conv.k / plan.p.conv.groups;
  plan.taps = cvy_filter_volume(&plan.p);
  cut_units(&plan);
  plan.rows = is_dense(&plan.p) ? CVY_ROWS_DENSE : CVY_ROWS_WITH_GAPS;
  if (may_lie(&plan)) plan.rows = CVY_ROWS_AS_THEY_LIE;
  share_out(&plan);
  int64_t places = cvy_saturating_mul(plan.units.images.size, plan.row.plane);
  size_rows(&plan, places);
  cut_parts(&plan, places);
  plan.prefetches = plan.rows != CVY_ROWS_AS_THEY_LIE && plan.units.images.size == 1 &&
                    plan.channels_at_once == plan.channel_parts.size &&
                    plan.output_parts.size <= PREFETCHED * plan.outputs_at_once;
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_inner_products_bytes(const cvy_cpu_inner_products_plan *plan) {
  int64_t floats = cvy_saturating_mul(plan->slots, plan->floats.slot);
  floats = cvy_saturating_mul(1, floats + cvy_saturating_mul(plan->slices, plan->floats.sum));
  return cvy_saturating_mul(floats, (int64_t)sizeof(float));
}
