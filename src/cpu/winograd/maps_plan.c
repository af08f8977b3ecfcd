/* The cuts of cpu.winograd's forward and backward_data. */
#include "cpu/shared/range.h"
#include "cpu/winograd/winograd.h"

#define BLOCK_FLOATS 163840 /* transformed inputs and products of a block: 640 KiB */
#define MOST_TILES 48       /* of a block: two or three vectors do not get faster */
#define OUTPUTS 32          /* of a block at a time */
#define GROUP 4             /* tiles are turned in fours */
#define KEPT_FLOATS 262144  /* of transformed filters: a second level of cache keeps them, */
#define FAR_FLOATS 4194304  /* a last level, too far away. Measured */

/* dx is the convolution of dy with the filters turned round. */
static cvy_problem mirror(const cvy_problem *p) {
  cvy_problem m = *p;
  m.direction = CONVOY_FORWARD;
  m.c = p->k;
  m.k = p->c;
  for (int i = 0; i < 3; i++) {
    m.in[i] = p->out[i];
    m.out[i] = p->in[i];
    m.pad[i] = p->filter[i] - 1 - p->pad[i];
  }
  return m;
}

cvy_cpu_winograd_tiling cvy_cpu_winograd_tiling_of(const cvy_problem *p, int64_t m) {
  const cvy_simd *simd = cvy_simd_best();
  cvy_cpu_winograd_tiling s = {
      .p = *p, .kernel = &simd->microkernel, .m = m, .n = m + 2, .points = (m + 2) * (m + 2)};
  s.transform = m == 4 ? simd->winograd.four : simd->winograd.two;
  s.channels = p->c / p->groups;
  s.outputs = p->k / p->groups;
  s.down = cvy_div_up(p->out[1], m);
  s.across = cvy_div_up(p->out[2], m);
  s.tiles = p->n * s.down * s.across;
  s.kernel_tiles = cvy_div_up(s.outputs, s.kernel->rows);
  return s;
}

/* Tiles at a time: as many as fit the cache, in whole vectors, of which no thread gets many more
 * than the others. A vector more costs less than a block more. */
static void cut_blocks(cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t width = s->kernel->width, outputs = plan->together * s->kernel->rows;
  int64_t most = cvy_min(BLOCK_FLOATS / s->points / (s->channels + outputs), MOST_TILES);
  int64_t best = INT64_MAX;
  for (int64_t block = width; block == width || block <= most; block += width) {
    int64_t pieces = cvy_div_up(s->tiles, block) * s->p.groups;
    int64_t cost = cvy_div_up(pieces, plan->slots) * (4 * block / width + 1);
    if (cost > best) continue;
    best = cost;
    plan->block = block;
  }
  plan->blocks = cvy_div_up(s->tiles, plan->block);
  plan->pitch = plan->block;
}

/* Filters of some channels, even parts of all, stay in cache together with the input that they
 * meet. */
static void cut_transient(cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  plan->block = cvy_div_up(s->tiles, cvy_div_up(s->tiles, MOST_TILES));
  plan->block = plan->pitch = cvy_align_up(plan->block, s->kernel->width);
  plan->blocks = cvy_div_up(s->tiles, plan->block);
  plan->together = s->kernel_tiles;
  int64_t most = BLOCK_FLOATS / s->points / (plan->pitch + s->kernel->rows);
  plan->chunk = cvy_div_up(s->channels, cvy_div_up(s->channels, most));
}

static void size_memory(cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t rows = s->kernel->rows, channels = plan->transient ? plan->chunk : s->channels;
  int64_t kernel_tiles = plan->transient ? 1 : s->p.groups * s->kernel_tiles;
  plan->filter_tile = cvy_align_up(channels * rows, s->kernel->width);
  plan->filter_pitch = cvy_odd_lines(kernel_tiles * plan->filter_tile);
  plan->source_pitch = cvy_odd_lines(s->channels * plan->pitch);
  plan->product_pitch = cvy_odd_lines(plan->together * rows * plan->pitch);
  plan->array_pitch = plan->pitch + CVY_LINE_FLOATS;
  plan->line_floats =
      cvy_align_up(cvy_saturating_mul(plan->block + INT64_C(2) * GROUP, s->m), CVY_LINE_FLOATS);
  int64_t arrays = s->n * cvy_align_up(s->n, GROUP) * plan->array_pitch;
  int64_t maps = s->points * (plan->source_pitch + plan->product_pitch);
  int64_t filters = s->points * plan->filter_pitch, taps = rows * CVY_CPU_WINOGRAD_CHANNELS * 9;
  plan->shared_floats = plan->transient ? maps : filters;
  int64_t own = plan->transient ? filters + cvy_max(arrays, taps) : cvy_max(maps + arrays, taps);
  plan->slot_floats = cvy_align_up(own + plan->line_floats, CVY_LINE_FLOATS) + CVY_LINE_FLOATS;
}

/* Transforming filters for each block of tiles costs less than keeping them, if there is one block
 * only or they are more than fit any cache. */
static bool is_transient(const cvy_cpu_winograd_tiling *s) {
  int64_t floats = cvy_saturating_mul(s->points, s->channels * s->outputs);
  return s->tiles > 0 && s->p.groups == 1 &&
         floats > (s->tiles <= MOST_TILES ? KEPT_FLOATS : FAR_FLOATS);
}

cvy_cpu_winograd_maps_plan cvy_cpu_winograd_maps_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts,
                                                          const cvy_params *params) {
  cvy_cpu_winograd_maps_plan plan = {.mirrored = problem->direction == CONVOY_BACKWARD_DATA};
  cvy_problem p = plan.mirrored ? mirror(problem) : *problem;
  plan.shape = cvy_cpu_winograd_tiling_of(&p, params->value[0]);
  plan.slots = facts->info.compute_units;
  plan.together = cvy_max(OUTPUTS / plan.shape.kernel->rows, 1);
  plan.together = cvy_min(plan.together, plan.shape.kernel_tiles);
  plan.transient = is_transient(&plan.shape);
  if (plan.transient)
    cut_transient(&plan);
  else
    cut_blocks(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_winograd_maps_bytes(const cvy_cpu_winograd_maps_plan *plan) {
  int64_t floats = cvy_saturating_mul(plan->slots, plan->slot_floats) + plan->shared_floats;
  return cvy_saturating_mul(floats, (int64_t)sizeof(float));
}
