/* Forward and backward_data of cpu.winograd with transient filters. Transformed filters are four
 * times as large, and where they are many would go through memory more often than they are worth:
 * here a thread transforms those of a kernel tile for some channels and multiplies with them while
 * they are in cache, for each block of tiles anew. Threads share a block's transformed input and
 * have outputs of their own. */
#include "cpu/shared/range.h"
#include "cpu/winograd/winograd.h"

typedef struct transient {
  const cvy_cpu_call *call;
  const cvy_cpu_winograd_maps_plan *plan;
  float *source, *product; /* of all channels, of all outputs */
  int64_t block;
} transient;

/* Filters of a kernel tile; behind them what a block needs, or taps to be transformed. */
static float *memory_of(const transient *t, int32_t slot) {
  return (float *)t->call->workspace + t->plan->shared_floats + slot * t->plan->slot_floats;
}

static cvy_cpu_winograd_block block_of(const transient *t, int32_t slot) {
  float *memory = memory_of(t, slot) + t->plan->shape.points * t->plan->filter_pitch;
  return cvy_cpu_winograd_block_at(t->call, t->plan, t->block, t->source, memory);
}

static void load(void *arg, int64_t begin, int64_t end, int32_t slot) {
  cvy_cpu_winograd_block b = block_of(arg, slot);
  for (int64_t c = begin; c < end; c++, cvy_heartbeat_tick()) cvy_cpu_winograd_load(&b, c);
}

/* Adds what channels from `first` on give to the products of a kernel tile. */
static void multiply(const transient *t, const cvy_cpu_winograd_block *b, float *filters,
                     int64_t tile, int64_t first) {
  const cvy_cpu_winograd_maps_plan *plan = t->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t count = cvy_min(plan->chunk, s->channels - first);
  cvy_cpu_winograd_transform_filter(plan, t->call, tile, first, count, b->arrays, filters);
  cvy_cpu_winograd_multiply(
      b, &(cvy_cpu_winograd_product){.source = t->source + first * plan->pitch,
                                     .filters = filters,
                                     .to = t->product + tile * s->kernel->rows * plan->pitch,
                                     .channels = count,
                                     .kernel_tiles = 1,
                                     .add = first > 0});
}

static void make(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const transient *t = arg;
  const cvy_cpu_winograd_tiling *s = &t->plan->shape;
  cvy_cpu_winograd_block b = block_of(t, slot);
  for (int64_t c = 0; c < s->channels; c += t->plan->chunk) {
    for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
      multiply(t, &b, memory_of(t, slot), i, c);
  }
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
    cvy_cpu_winograd_put(&b, t->product + i * s->kernel->rows * t->plan->pitch, i, i + 1);
}

void cvy_cpu_winograd_transient(const cvy_cpu_call *call, const cvy_cpu_winograd_maps_plan *plan) {
  float *source = call->workspace;
  transient t = {call, plan, source, source + plan->shape.points * plan->source_pitch, 0};
  for (; t.block < plan->blocks; t.block++) {
    cvy_parallel_items(call->threads, plan->shape.channels, load, &t);
    cvy_parallel_for(call->threads, plan->shape.kernel_tiles, make, &t);
  }
}
