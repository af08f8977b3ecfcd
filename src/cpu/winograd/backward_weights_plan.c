/* The cuts of cpu.winograd's backward_weights. */
#include "cpu/shared/range.h"
#include "cpu/winograd/winograd.h"

#define BLOCK_FLOATS 163840 /* transformed inputs and dy of a block: 640 KiB */
#define MOST_TILES 128      /* of a block */
#define SUM_FLOATS 1048576  /* up to here each thread has a sum of its own */

/* Small sums: one for each of some slices of the tiles. Large ones: the outputs are shared out, and
 * each part transforms the input again. */
static void share_out(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t missing = cvy_div_up(plan->slots, s->p.groups);
  bool small = cvy_saturating_mul(s->points * s->outputs, s->channels) <= SUM_FLOATS;
  plan->slices = small ? cvy_min(missing, s->tiles) : 1;
  plan->part = cvy_div_up(s->kernel_tiles, small ? 1 : cvy_min(missing, s->kernel_tiles));
  plan->parts = cvy_div_up(s->kernel_tiles, plan->part);
}

/* A block moves its transformed arrays and the sums: balanced at block = c k / (c + k) tiles. */
static void cut_blocks(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t outputs = plan->part * s->kernel->rows, both = plan->pitch + outputs;
  int64_t most = cvy_max(BLOCK_FLOATS / s->points / both, plan->pitch * outputs / both);
  int64_t slice = cvy_div_up(s->tiles, plan->slices);
  most = cvy_max(cvy_min(most, MOST_TILES), 1);
  plan->block = cvy_div_up(slice, cvy_div_up(slice, most));
}

static void size_memory(cvy_cpu_winograd_weights_plan *plan) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t rows = s->kernel->rows;
  plan->array_pitch = cvy_align_up(plan->block * rows, s->kernel->width) + CVY_LINE_FLOATS;
  plan->dy_tile = cvy_align_up(plan->block * rows, s->kernel->width);
  plan->source_pitch = cvy_odd_lines(plan->block * plan->pitch);
  plan->dy_pitch = cvy_odd_lines(plan->part * plan->dy_tile);
  plan->sum_pitch = cvy_odd_lines(s->kernel_tiles * rows * plan->pitch);
  plan->sum_floats = s->points * plan->sum_pitch;
  plan->turned_floats = s->n * (CVY_CPU_WINOGRAD_TRANSPOSED * s->m + 2) * plan->pitch;
  int64_t block = s->points * (plan->source_pitch + plan->dy_pitch) + plan->turned_floats +
                  s->m * s->m * plan->array_pitch;
  int64_t gradient = plan->pitch * 2 * 9;
  plan->slot_floats = cvy_align_up(cvy_max(block, gradient), CVY_LINE_FLOATS);
}

cvy_cpu_winograd_weights_plan cvy_cpu_winograd_weights_plan_for(const cvy_problem *problem,
                                                                const cvy_facts *facts,
                                                                const cvy_params *params) {
  cvy_cpu_winograd_weights_plan plan = {.shape =
                                            cvy_cpu_winograd_tiling_of(problem, params->value[0])};
  plan.slots = facts->info.compute_units;
  plan.pitch = cvy_align_up(plan.shape.channels, plan.shape.kernel->width);
  share_out(&plan);
  cut_blocks(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_winograd_weights_bytes(const cvy_cpu_winograd_weights_plan *plan) {
  int64_t sums = cvy_saturating_mul(plan->slices * plan->shape.p.groups, plan->sum_floats);
  int64_t floats = cvy_saturating_mul(plan->slots, plan->slot_floats) + sums;
  return cvy_saturating_mul(floats, (int64_t)sizeof(float));
}
