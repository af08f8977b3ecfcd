/* The cuts of cpu.winograd's forward and backward_data. */
#include "cpu/shared/mirror.h"
#include "cpu/winograd/maps.h"

#define BLOCK_FLOATS 163840 /* transformed inputs and products of a block: 640 KiB */
#define MOST_TILES 48       /* of a block: two or three vectors do not get faster */
#define LEAST_CHUNK 16      /* channels */
#define OUTPUTS 32          /* of a block at a time */
#define GROUP 4             /* tiles are transposed in fours */
#define KEPT_FLOATS 262144  /* of transformed filters, that a second level of cache keeps */
#define FAR_FLOATS 4194304  /* that a last level keeps, too far away. Measured */

/* A block has as many tiles as fit the cache, in whole vectors, so that no thread gets many more
 * than the others. A vector more costs less than a block more. */
static int64_t block_size(const cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t width = t->kernel->width, outputs = plan->together * t->kernel->rows;
  int64_t most = cvy_min(BLOCK_FLOATS / t->points / (t->channels + outputs), MOST_TILES);
  int64_t least_cost = INT64_MAX, best = width;
  for (int64_t size = width; size == width || size <= most; size += width) {
    int64_t pieces = cvy_div_up(t->tiles, size) * t->p.conv.groups;
    int64_t cost = cvy_div_up(pieces, plan->slots) * (4 * size / width + 1);
    if (cost > least_cost) continue;
    least_cost = cost;
    best = size;
  }
  return best;
}

/* Filters of some channels stay in cache together with the input that they meet: so many channels
 * are a block of a sum, too, for the same bits with transient filters as without. A power of two,
 * so that it does not follow from how many tiles there are. */
static int64_t chunk_of(const cvy_cpu_winograd_tiling *t) {
  int64_t most = BLOCK_FLOATS / t->points / (MOST_TILES + t->kernel->rows), chunk = LEAST_CHUNK;
  while (2 * chunk <= most) chunk *= 2;
  return cvy_max(cvy_min(chunk, t->channels), 1);
}

static void cut_transient(cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t size = cvy_div_up(t->tiles, cvy_div_up(t->tiles, MOST_TILES));
  plan->blocks = cvy_cut_by(t->tiles, cvy_align_up(size, t->kernel->width));
  plan->together = t->kernel_tiles;
}

static void set_pitches(cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t rows = t->kernel->rows, channels = plan->transient ? plan->chunk : t->channels;
  int64_t kernel_tiles = plan->transient ? 1 : t->p.conv.groups * t->kernel_tiles;
  plan->pitch.filter_tile = cvy_align_up(channels * rows, t->kernel->width);
  plan->pitch.filter = cvy_odd_lines(kernel_tiles * plan->pitch.filter_tile);
  plan->pitch.source = cvy_odd_lines(t->channels * plan->blocks.size);
  plan->pitch.product = cvy_odd_lines(plan->together * rows * plan->blocks.size);
  plan->pitch.array = plan->blocks.size + CVY_LINE_FLOATS;
}

static void size_memory(cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t line = cvy_saturating_mul(plan->blocks.size + INT64_C(2) * GROUP, t->m);
  int64_t arrays = t->n * cvy_align_up(t->n, GROUP) * plan->pitch.array;
  int64_t maps = t->points * (plan->pitch.source + plan->pitch.product);
  int64_t filters = t->points * plan->pitch.filter;
  int64_t taps = t->kernel->rows * CVY_CPU_WINOGRAD_CHANNELS * 9;
  plan->floats.shared = plan->transient ? maps : filters;
  int64_t own = plan->transient ? filters + cvy_max(arrays, taps) : cvy_max(maps + arrays, taps);
  plan->floats.slot =
      cvy_align_up(own + cvy_align_up(line, CVY_LINE_FLOATS), CVY_LINE_FLOATS) + CVY_LINE_FLOATS;
}

/* Transforming filters for each block of tiles costs less than keeping them, if there is one block
 * only or they are more than fit any cache. And where there are fewer blocks than threads, these
 * can still share the outputs. */
static bool is_transient(const cvy_cpu_winograd_maps_plan *plan) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t floats = cvy_saturating_mul(t->points, t->channels * t->outputs);
  int64_t blocks = cvy_div_up(t->tiles, t->kernel->width);
  if (t->tiles == 0 || t->p.conv.groups > 1) return false;
  return floats > (t->tiles <= MOST_TILES ? KEPT_FLOATS : FAR_FLOATS) ||
         (blocks < plan->slots && blocks < t->kernel_tiles);
}

cvy_cpu_winograd_maps_plan cvy_cpu_winograd_maps_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts,
                                                          const cvy_params *params) {
  cvy_cpu_winograd_maps_plan plan = {.mirrored = problem->operation == CONVOY_BACKWARD_DATA};
  cvy_problem mirror;
  if (plan.mirrored) mirror = cvy_mirrored(problem);
  plan.tiling = cvy_cpu_winograd_tiling_of(plan.mirrored ? &mirror : problem, params->value[0]);
  plan.slots = facts->info.compute_units;
  plan.together = cvy_max(OUTPUTS / plan.tiling.kernel->rows, 1);
  plan.together = cvy_min(plan.together, plan.tiling.kernel_tiles);
  plan.transient = is_transient(&plan);
  plan.chunk = chunk_of(&plan.tiling);
  if (plan.transient)
    cut_transient(&plan);
  else
    plan.blocks = cvy_cut_by(plan.tiling.tiles, block_size(&plan));
  set_pitches(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_winograd_maps_bytes(const cvy_cpu_winograd_maps_plan *plan) {
  int64_t floats = cvy_saturating_mul(plan->slots, plan->floats.slot) + plan->floats.shared;
  return cvy_saturating_mul(floats, (int64_t)sizeof(float));
}
