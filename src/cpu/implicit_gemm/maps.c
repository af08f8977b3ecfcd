/* Running forward and backward_data of cpu.implicit_gemm. For each block of columns, channels are
 * packed some at a time, and a strip of the panel stays close while the filters of many outputs
 * pass by. */
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/epilogue.h"

/* Tiles of which all rows are outputs may write a strip where it belongs, unless it is added to
 * what is there: whole sums are, for the same bits wherever a strip's results lie. */
static bool writes(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                   int64_t tile) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  return s->direct && !plan->p.accumulate && (tile + 1) * plan->kernel->rows <= plan->outputs;
}

/* Where the results of a tile wait that are not written where they belong. `all` are the tiles of
 * the piece. */
static float *waiting(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                      int64_t tile, cvy_range all) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t rows = plan->kernel->rows, width = cvy_microkernel_columns(plan->kernel);
  int64_t before = (s - b->strips) * (cvy_range_length(all)) + tile - all.begin;
  return b->sums + before * rows * width;
}

/* What a strip reads of some channels. */
static cvy_microkernel_tile columns_of(const cvy_cpu_implicit_gemm_block *b,
                                       const cvy_cpu_implicit_gemm_strip *s, cvy_range channels,
                                       int64_t taps) {
  static const int64_t nowhere = 0;
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t count = cvy_range_length(channels), block = cvy_sum_block(taps);
  if (cvy_cpu_implicit_gemm_packs(plan)) {
    return (cvy_microkernel_tile){.x = b->panel + (s - b->strips) * plan->floats.strip,
                                  .tap = &nowhere,
                                  .taps = 1,
                                  .channels = count * taps,
                                  .block = block * cvy_max(taps, 1),
                                  .x_pitch = cvy_microkernel_columns(plan->kernel)};
  }
  return (cvy_microkernel_tile){.x = b->x + channels.begin * plan->pitch.channel + s->columns.begin,
                                .tap = b->taps + b->run->begin[b->phase],
                                .taps = taps,
                                .channels = count,
                                .block = block,
                                .x_pitch = plan->pitch.channel};
}

/* Results leave the registers all at once, so memory is asked for their lines while they are
 * summed. */
static void prefetch_results(const cvy_microkernel_tile *tile, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t i = 0; i < columns; i += CVY_LINE_FLOATS)
      __builtin_prefetch(tile->y + r * tile->y_pitch + i, 1, 3);
  }
}

/* The packed filters of a tile for channels from `first` on. `some` are the tiles packed
 * together. */
static const float *filters_of(const cvy_cpu_implicit_gemm_block *b, int64_t first, int64_t tile,
                               cvy_range some) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  const int64_t *begin = b->run->begin + b->phase;
  int64_t rows = plan->kernel->rows, taps = begin[1] - begin[0], all = plan->channels * taps;
  if (plan->tiles.pack_at_use) return b->filters + (tile - some.begin) * plan->floats.tile;
  int64_t before = begin[0] * plan->p.conv.groups * plan->tiles.count * plan->channels;
  before += (b->group * plan->tiles.count + tile) * all + first * taps;
  return b->run->filters + before * rows;
}

/* Multiplies some channels of a strip with the filters of some tiles; `all` are those of the
 * piece. */
static void multiply(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                     cvy_range channels, cvy_range some, cvy_range all) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t rows = plan->kernel->rows, width = cvy_microkernel_columns(plan->kernel);
  int64_t taps = b->run->begin[b->phase + 1] - b->run->begin[b->phase];
  int64_t vectors = cvy_div_up(cvy_range_length(s->columns), plan->kernel->width);
  int64_t volume = b->results.volume;
  cvy_microkernel_tile tile = columns_of(b, s, channels, taps);
  for (int64_t i = some.begin; i < some.end; i++) {
    bool direct = writes(b, s, i);
    tile.w = filters_of(b, channels.begin, i, some);
    tile.y = direct ? s->direct + i * rows * volume : waiting(b, s, i, all);
    tile.y_pitch = direct ? volume : width;
    tile.add = channels.begin > 0;
    if (direct && channels.begin == 0) prefetch_results(&tile, rows, vectors * plan->kernel->width);
    plan->kernel->run[vectors - 1](&tile);
  }
}

/* Multiplies the channels of a panel with all tiles of the piece. */
static void multiply_panel(const cvy_cpu_implicit_gemm_block *b, cvy_range channels,
                           cvy_range all) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  for (int64_t i = all.begin; i < all.end; i += plan->tiles.together) {
    cvy_range some = {i, cvy_min(i + plan->tiles.together, all.end)};
    if (plan->tiles.pack_at_use) {
      cvy_cpu_implicit_gemm_pack_some(b->run,
                                      &(cvy_cpu_implicit_gemm_filters){.phase = b->phase,
                                                                       .group = b->group,
                                                                       .tiles = some,
                                                                       .channels = channels,
                                                                       .pitch = plan->floats.tile},
                                      b->filters);
    }
    for (int64_t j = 0; j < b->strip_count; j++, cvy_heartbeat_tick())
      multiply(b, &b->strips[j], channels, some, all);
  }
}

static void finish(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                   cvy_range all) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t rows = plan->kernel->rows, group = b->group * plan->outputs;
  for (int64_t i = all.begin; i < all.end; i++) {
    cvy_range outputs = {i * rows, cvy_min((i + 1) * rows, plan->outputs)};
    if (!writes(b, s, i)) {
      cvy_cpu_implicit_gemm_put(b, outputs, s, waiting(b, s, i, all));
      continue;
    }
    for (int64_t k = outputs.begin; k < outputs.end; k++) {
      cvy_cpu_epilogue(b->run->call, s->direct + k * b->results.volume, group + k,
                       cvy_range_length(s->columns));
    }
  }
}

static void make_phase(cvy_cpu_implicit_gemm_block *b, int64_t phase, cvy_range all) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t remainder[3];
  b->phase = phase;
  cvy_cpu_implicit_gemm_phase(plan, phase, remainder);
  for (int i = 0; i < 3; i++) b->results.offset[i] = b->results.origin[i] + remainder[i];
  cvy_cpu_implicit_gemm_set_columns(b);
  cvy_cpu_implicit_gemm_set_strips(b);
  if (cvy_cpu_implicit_gemm_packs(plan)) cvy_cpu_implicit_gemm_runs(b);
  int64_t taps = b->run->begin[phase + 1] - b->run->begin[phase];
  cvy_cut cut = cvy_cut_by(plan->channels, cvy_cpu_implicit_gemm_at_once(plan, taps));
  for (int64_t i = 0; i < cut.count; i++) {
    cvy_range channels = cvy_cut_part(cut, plan->channels, i);
    cvy_cpu_implicit_gemm_panel(b, channels);
    multiply_panel(b, channels, all);
  }
  for (int64_t j = 0; j < b->strip_count; j++) finish(b, &b->strips[j], all);
}

/* ------------------------------------------------------------------------------------ blocks */

static void set_memory(cvy_cpu_implicit_gemm_block *b, float *memory) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t own = plan->tiles.pack_at_use ? plan->tiles.together * plan->floats.tile : 0;
  b->x = memory;
  b->panel = b->x + plan->floats.planes;
  b->sums = b->panel + plan->floats.panel;
  b->filters = b->sums + plan->floats.results;
  b->runs = (cvy_copy_run *)(b->filters + own);
  b->strips = (cvy_cpu_implicit_gemm_strip *)(b->runs + plan->runs);
  b->taps = (int64_t *)(b->strips + plan->strips);
}

static void set_results(cvy_cpu_implicit_gemm_block *b) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  const cvy_problem *whole = &plan->whole;
  for (int i = 0; i < 3; i++) {
    int64_t start = whole->conv.pad[i] / whole->conv.stride[i] * whole->conv.stride[i];
    b->results.step[i] = plan->data ? whole->conv.stride[i] : 1;
    b->results.limit[i] = plan->data ? whole->conv.in[i] : whole->conv.out[i];
    b->results.origin[i] = plan->data ? start - whole->conv.pad[i] : 0;
    if (i == plan->blocks.axis) b->results.origin[i] += b->of.first * b->results.step[i];
  }
  b->results.volume = b->results.limit[0] * b->results.limit[1] * b->results.limit[2];
}

/* Begins the block that piece number `piece` of the work is about: the blocks of a group of the
 * same images follow each other, then come the other groups. */
static void set_block(cvy_cpu_implicit_gemm_block *b, int64_t piece) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t blocks = plan->blocks.outputs.count, groups = plan->p.conv.groups;
  int64_t images_group = piece / blocks;
  b->group = images_group % groups;
  b->of =
      cvy_output_block_at(&plan->blocks, &plan->p, images_group / groups * blocks + piece % blocks);
  b->layout = cvy_planes_layout_of(&b->of.p);
  set_results(b);
  cvy_cpu_implicit_gemm_source(b);
}

static void make_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_implicit_gemm_run *run = arg;
  const cvy_cpu_implicit_gemm_maps_plan *plan = &run->plan;
  float *memory = (float *)run->call->workspace + plan->floats.filters + plan->floats.order;
  cvy_cpu_implicit_gemm_block b = {.run = run};
  set_memory(&b, memory + slot * plan->floats.slot);
  for (int64_t i = begin; i < end; i++) {
    cvy_range all = cvy_share(plan->tiles.count, plan->tiles.shares, i % plan->tiles.shares);
    set_block(&b, i / plan->tiles.shares);
    for (int64_t phase = 0; phase < plan->phases; phase++) make_phase(&b, phase, all);
  }
}

void cvy_cpu_implicit_gemm_maps(const cvy_cpu_call *call) {
  cvy_cpu_implicit_gemm_run self = {
      .call = call, .plan = cvy_cpu_implicit_gemm_maps_plan_for(call->problem, call->facts)};
  const cvy_cpu_implicit_gemm_maps_plan *plan = &self.plan;
  float *filters = call->workspace;
  int64_t *begin = (int64_t *)(filters + plan->floats.filters), *order = begin + plan->phases + 1;
  cvy_cpu_implicit_gemm_order(plan, begin, order);
  self.filters = filters;
  self.begin = begin;
  self.order = order;
  if (!plan->tiles.pack_at_use) cvy_cpu_implicit_gemm_pack_filters(&self, filters);
  int64_t blocks = cvy_output_blocks_count(&plan->blocks) * plan->p.conv.groups;
  cvy_parallel_items(call->threads, blocks * plan->tiles.shares, make_pieces, &self);
}
