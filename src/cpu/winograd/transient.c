/* Forward and backward_data of cpu.winograd with transient filters. Transformed filters are four
 * times as large, and where they are many would go through memory more often than they are worth:
 * here a thread transforms those of a kernel tile for some channels and multiplies with them while
 * they are in cache, for each block of tiles anew. Threads share a block's transformed input and
 * have outputs of their own. */
#include "cpu/winograd/maps.h"

typedef struct transient_run {
  const cvy_cpu_call *call;
  const cvy_cpu_winograd_maps_plan *plan;
  float *source, *product; /* of all channels, and of all outputs */
  int64_t block;
} transient_run;

/* Filters of a kernel tile, and behind them what a block needs, or taps to be transformed. */
static float *memory_of(const transient_run *t, int32_t slot) {
  return (float *)t->call->workspace + t->plan->floats.shared + slot * t->plan->floats.slot;
}

static cvy_cpu_winograd_block block_of(const transient_run *t, int32_t slot) {
  float *memory = memory_of(t, slot) + t->plan->tiling.points * t->plan->pitch.filter;
  return cvy_cpu_winograd_block_at(t->call, t->plan, t->block, t->source, memory);
}

static void load(void *arg, int64_t begin, int64_t end, int32_t slot) {
  cvy_cpu_winograd_block b = block_of(arg, slot);
  for (int64_t c = begin; c < end; c++, cvy_heartbeat_tick()) cvy_cpu_winograd_load(&b, c);
}

/* Where the products of a kernel tile are. */
static float *product_of(const transient_run *t, int64_t tile) {
  return t->product + tile * t->plan->tiling.kernel->rows * t->plan->blocks.size;
}

/* Adds what channels from `first` on give to the products of a kernel tile. */
static void multiply(const transient_run *t, const cvy_cpu_winograd_block *b, float *filters,
                     int64_t tile, int64_t first) {
  const cvy_cpu_winograd_maps_plan *plan = t->plan;
  cvy_range channels = {first, cvy_min(first + plan->chunk, plan->tiling.channels)};
  cvy_cpu_winograd_transform_filter(plan, t->call, tile, channels, b->arrays, filters);
  cvy_cpu_winograd_multiply(
      b, &(cvy_cpu_winograd_product){.source = t->source + first * plan->blocks.size,
                                     .filters = filters,
                                     .to = product_of(t, tile),
                                     .channels = cvy_range_length(channels),
                                     .kernel_tiles = 1,
                                     .add = first > 0});
}

static void make(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const transient_run *t = arg;
  cvy_cpu_winograd_block b = block_of(t, slot);
  for (int64_t c = 0; c < t->plan->tiling.channels; c += t->plan->chunk) {
    for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
      multiply(t, &b, memory_of(t, slot), i, c);
  }
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
    cvy_cpu_winograd_put(&b, product_of(t, i), (cvy_range){i, i + 1});
}

void cvy_cpu_winograd_transient(const cvy_cpu_call *call, const cvy_cpu_winograd_maps_plan *plan) {
  float *source = call->workspace;
  transient_run t = {call, plan, source, source + plan->tiling.points * plan->pitch.source, 0};
  for (; t.block < plan->blocks.count; t.block++) {
    cvy_parallel_items(call->threads, plan->tiling.channels, load, &t);
    cvy_parallel_for(call->threads, plan->tiling.kernel_tiles, make, &t);
  }
}
