/* The cuts of cpu.winograd's backward_weights. */
#include "cpu/winograd/backward_weights.h"

#include "cpu/shared/sums.h"

#define BLOCK_FLOATS 163840 /* transformed inputs and dy of a block: 640 KiB */
#define MOST_TILES 128      /* of a block */
#define LEAST_TILES 2       /* of outputs, of a part */
#define LEAST_SLICE 64      /* tiles of a slice */
#define TRANSFORMED 1.0     /* cycles of an element of a transformed tile */
#define PER_SUM 0.3         /* cycles to write a sum of a slice and to read it again */

static void share_out(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t columns = t->points * t->channels;
  cvy_sum_cut cut = cvy_sum_cut_of(
      &(cvy_sum_work){
          .groups = t->p.conv.groups,
          .rows = t->outputs,
          .columns = columns,
          .terms = t->tiles,
          .least_rows = LEAST_TILES * t->kernel->rows,
          .least_columns = columns,
          .least_terms = LEAST_SLICE,
          .row_term = TRANSFORMED * (double)t->points,
          .column_term = TRANSFORMED,
          .product = 0.5 / (double)t->kernel->width,
          .slice = PER_SUM,
      },
      plan->slots);
  plan->slices = cut.slices;
  plan->parts = cvy_cut_into(t->kernel_tiles, cut.rows, 1);
}

/* A block moves its transformed arrays and the sums: balanced at block = c k / (c + k) tiles. It is
 * the same however many parts there are, and with it the blocks of sums. */
static void cut_blocks(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t outputs = t->kernel_tiles * t->kernel->rows, both = plan->row + outputs;
  int64_t most = cvy_max(BLOCK_FLOATS / t->points / both, plan->row * outputs / both);
  int64_t slice = cvy_div_up(t->tiles, plan->slices);
  most = cvy_max(cvy_min(most, MOST_TILES), 1);
  plan->block = cvy_div_up(slice, cvy_div_up(slice, most));
}

static void size_memory(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t rows = t->kernel->rows;
  plan->pitch.dy_tile = cvy_align_up(plan->block * rows, t->kernel->width);
  plan->pitch.array = plan->pitch.dy_tile + CVY_LINE_FLOATS;
  plan->pitch.source = cvy_odd_lines(plan->block * plan->row);
  plan->pitch.dy = cvy_odd_lines(plan->parts.size * plan->pitch.dy_tile);
  plan->pitch.sum = cvy_odd_lines(t->kernel_tiles * rows * plan->row);
  plan->floats.sum = t->points * plan->pitch.sum;
  plan->floats.transposed = t->n * (CVY_CPU_WINOGRAD_TRANSPOSED * t->m + 2) * plan->row;
  int64_t block = t->points * (plan->pitch.source + plan->pitch.dy) + plan->floats.transposed +
                  t->m * t->m * plan->pitch.array;
  int64_t gradient = plan->row * 2 * 9;
  plan->floats.slot = cvy_align_up(cvy_max(block, gradient), CVY_LINE_FLOATS);
}

cvy_cpu_winograd_weights_plan cvy_cpu_winograd_weights_plan_for(const cvy_problem *problem,
                                                                const cvy_facts *facts,
                                                                const cvy_params *params) {
  cvy_cpu_winograd_weights_plan plan = {.tiling =
                                            cvy_cpu_winograd_tiling_of(problem, params->value[0])};
  plan.slots = facts->info.compute_units;
  plan.row = cvy_align_up(plan.tiling.channels, plan.tiling.kernel->width);
  share_out(&plan);
  cut_blocks(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_winograd_weights_bytes(const cvy_cpu_winograd_weights_plan *plan) {
  int64_t sums = cvy_saturating_mul(plan->slices * plan->tiling.p.conv.groups, plan->floats.sum);
  int64_t floats = cvy_saturating_mul(plan->slots, plan->floats.slot) + sums;
  return cvy_saturating_mul(floats, (int64_t)sizeof(float));
}
