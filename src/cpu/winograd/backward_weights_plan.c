/* The cuts of cpu.winograd's backward_weights. */
#include "cpu/winograd/backward_weights.h"

#define BLOCK_FLOATS 163840 /* transformed inputs and dy of a block: 640 KiB */
#define MOST_TILES 128      /* of a block */
#define SUM_FLOATS 1048576  /* up to here each thread has a sum of its own */

/* If the sums are small, each of some slices of the tiles has one. If they are large, the outputs
 * are shared out, and each part transforms the input again. */
static void share_out(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t missing = cvy_div_up(plan->slots, t->p.conv.groups);
  bool small = cvy_saturating_mul(t->points * t->outputs, t->channels) <= SUM_FLOATS;
  plan->slices = small ? cvy_min(missing, t->tiles) : 1;
  plan->parts = cvy_cut_into(t->kernel_tiles, small ? 1 : cvy_min(missing, t->kernel_tiles), 1);
}

/* A block moves its transformed arrays and the sums: balanced at block = c k / (c + k) tiles. */
static void cut_blocks(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t outputs = plan->parts.size * t->kernel->rows, both = plan->row + outputs;
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
