/* Forward and backward_data of cpu.implicit_gemm: for each block of columns, channels are packed
 * some at a time; a strip of the panel stays close while the filters of many outputs pass by. */
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/block.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/range.h"

/* Some tiles of outputs: [first, last). */
typedef struct tiles {
  int64_t first, last;
} tiles;

/* Tiles of which all rows are outputs may write a strip where it belongs. */
static bool writes(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                   int64_t tile) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  return s->direct && (tile + 1) * plan->kernel->rows <= plan->outputs;
}

/* Where the results of a tile wait that are not written where they belong. */
static float *waiting(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                      int64_t tile, tiles all) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t rows = plan->kernel->rows, width = cvy_microkernel_columns(plan->kernel);
  int64_t before = (s - b->strips) * (all.last - all.first) + tile - all.first;
  return b->results + before * rows * width;
}

/* What a strip reads of channels [first, first + count). */
static cvy_microkernel_tile columns_of(const cvy_cpu_implicit_gemm_block *b,
                                       const cvy_cpu_implicit_gemm_strip *s, int64_t first,
                                       int64_t count, int64_t taps) {
  static const int64_t nowhere = 0;
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  if (plan->shifted) {
    return (cvy_microkernel_tile){.x = b->x + first * plan->x_pitch + s->begin,
                                  .tap = b->taps + b->run->begin[b->phase],
                                  .taps = taps,
                                  .channels = count,
                                  .x_pitch = plan->x_pitch};
  }
  return (cvy_microkernel_tile){.x = b->panel + (s - b->strips) * plan->strip_floats,
                                .tap = &nowhere,
                                .taps = 1,
                                .channels = count * taps,
                                .x_pitch = cvy_microkernel_columns(plan->kernel)};
}

/* Results leave the registers all at once: memory is asked for their lines while they are
 * summed. */
static void expect(const cvy_microkernel_tile *tile, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t i = 0; i < columns; i += CVY_LINE_FLOATS)
      __builtin_prefetch(tile->y + r * tile->y_pitch + i, 1, 3);
  }
}

/* Packed filters of a tile for channels from `first` on; `some` are those packed together. */
static const float *filters_of(const cvy_cpu_implicit_gemm_block *b, int64_t first, int64_t tile,
                               tiles some) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  const int64_t *begin = b->run->begin + b->phase;
  int64_t rows = plan->kernel->rows, taps = begin[1] - begin[0], all = plan->channels * taps;
  if (plan->once) return b->filters + (tile - some.first) * plan->tile_floats;
  int64_t before = begin[0] * plan->p.groups * plan->tiles * plan->channels;
  before += (b->group * plan->tiles + tile) * all + first * taps;
  return b->run->filters + before * rows;
}

/* Channels [first, first + count) of a strip, for all of some tiles; `all` are those of the
 * piece. */
static void multiply(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                     int64_t first, int64_t count, tiles some, tiles all) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t rows = plan->kernel->rows, width = cvy_microkernel_columns(plan->kernel);
  int64_t taps = b->run->begin[b->phase + 1] - b->run->begin[b->phase];
  int64_t vectors = (s->end - s->begin + plan->kernel->width - 1) / plan->kernel->width;
  cvy_microkernel_tile tile = columns_of(b, s, first, count, taps);
  for (int64_t i = some.first; i < some.last; i++) {
    bool direct = writes(b, s, i);
    tile.w = filters_of(b, first, i, some);
    tile.y = direct ? s->direct + i * rows * b->volume : waiting(b, s, i, all);
    tile.y_pitch = direct ? b->volume : width;
    tile.add = first > 0 || (direct && plan->p.accumulate);
    if (direct && first == 0) expect(&tile, rows, vectors * plan->kernel->width);
    plan->kernel->run[vectors - 1](&tile);
  }
}

/* Channels [first, first + count) of a panel, for all tiles of the piece. */
static void multiply_panel(const cvy_cpu_implicit_gemm_block *b, int64_t first, int64_t count,
                           tiles all) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  for (int64_t i = all.first; i < all.last; i += plan->together) {
    tiles some = {i, cvy_min(i + plan->together, all.last)};
    if (plan->once) {
      cvy_cpu_implicit_gemm_pack_some(b->run,
                                      &(cvy_cpu_implicit_gemm_filters){.phase = b->phase,
                                                                       .group = b->group,
                                                                       .tile = i,
                                                                       .tiles = some.last - i,
                                                                       .first = first,
                                                                       .count = count,
                                                                       .pitch = plan->tile_floats},
                                      b->filters);
    }
    for (int64_t j = 0; j < b->strip_count; j++, cvy_heartbeat_tick())
      multiply(b, &b->strips[j], first, count, some, all);
  }
}

static void finish(const cvy_cpu_implicit_gemm_block *b, const cvy_cpu_implicit_gemm_strip *s,
                   tiles all) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t rows = plan->kernel->rows, group = b->group * plan->outputs;
  for (int64_t i = all.first; i < all.last; i++) {
    int64_t first = i * rows, last = cvy_min(first + rows, plan->outputs);
    if (!writes(b, s, i))
      cvy_cpu_implicit_gemm_put(b, first, last, s, waiting(b, s, i, all));
    else {
      for (int64_t k = first; k < last; k++)
        cvy_cpu_epilogue(b->run->call, s->direct + k * b->volume, group + k, s->end - s->begin);
    }
  }
}

static void make_phase(cvy_cpu_implicit_gemm_block *b, int64_t phase, tiles all) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t remainder[3];
  b->phase = phase;
  cvy_cpu_implicit_gemm_phase(plan, phase, remainder);
  for (int i = 0; i < 3; i++) b->offset[i] = b->origin[i] + remainder[i];
  cvy_cpu_implicit_gemm_columns(b);
  cvy_cpu_implicit_gemm_strips(b);
  if (!plan->shifted) cvy_cpu_implicit_gemm_runs(b);
  int64_t at_once =
      cvy_cpu_implicit_gemm_at_once(plan, b->run->begin[phase + 1] - b->run->begin[phase]);
  for (int64_t c = 0; c < plan->channels; c += at_once) {
    int64_t count = cvy_min(at_once, plan->channels - c);
    cvy_cpu_implicit_gemm_panel(b, c, count);
    multiply_panel(b, c, count, all);
  }
  for (int64_t j = 0; j < b->strip_count; j++) finish(b, &b->strips[j], all);
}

static void carve(cvy_cpu_implicit_gemm_block *b, float *memory) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  b->x = memory;
  b->panel = b->x + plan->plane_floats;
  b->results = b->panel + plan->panel_floats;
  b->filters = b->results + plan->result_floats;
  b->runs = (cvy_copy_run *)(b->filters + (plan->once ? plan->together * plan->tile_floats : 0));
  b->strips = (cvy_cpu_implicit_gemm_strip *)(b->runs + plan->runs);
  b->taps = (int64_t *)(b->strips + plan->strips);
}

/* The block that piece number `piece` of the work is about. */
static void set_block(cvy_cpu_implicit_gemm_block *b, int64_t piece) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t band_group = piece / plan->blocks;
  b->first = piece % plan->blocks * plan->block;
  b->p = cvy_block_of(&plan->p, plan->axis, b->first, plan->block, &b->skip);
  b->layout = cvy_planes_layout_of(&b->p);
  b->group = band_group % plan->p.groups;
  b->image = band_group / plan->p.groups * plan->images;
  b->images = cvy_min(plan->images, plan->p.n - b->image);
  for (int i = 0; i < 3; i++) {
    b->step[i] = plan->data ? plan->whole.stride[i] : 1;
    b->limit[i] = plan->data ? plan->whole.in[i] : plan->whole.out[i];
  }
  b->volume = b->limit[0] * b->limit[1] * b->limit[2];
  for (int i = 0; i < 3; i++) {
    int64_t start = plan->whole.pad[i] / plan->whole.stride[i] * plan->whole.stride[i];
    b->origin[i] = plan->data ? start - plan->whole.pad[i] : 0;
    if (i == plan->axis) b->origin[i] += b->first * b->step[i];
  }
  cvy_cpu_implicit_gemm_source(b);
}

static void make_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_implicit_gemm_run *run = arg;
  const cvy_cpu_implicit_gemm_plan *plan = &run->plan;
  float *memory = (float *)run->call->workspace + plan->filter_floats + plan->order_floats;
  cvy_cpu_implicit_gemm_block b = {.run = run};
  carve(&b, memory + slot * plan->slot_floats);
  for (int64_t i = begin; i < end; i++) {
    int64_t part = i % plan->parts;
    tiles all = {part * plan->tiles / plan->parts, (part + 1) * plan->tiles / plan->parts};
    set_block(&b, i / plan->parts);
    for (int64_t phase = 0; phase < plan->phases; phase++) make_phase(&b, phase, all);
  }
}

void cvy_cpu_implicit_gemm_maps(const cvy_cpu_call *call) {
  cvy_cpu_implicit_gemm_run self = {
      .call = call, .plan = cvy_cpu_implicit_gemm_plan_for(call->problem, call->facts)};
  const cvy_cpu_implicit_gemm_plan *plan = &self.plan;
  float *filters = call->workspace;
  int64_t *begin = (int64_t *)(filters + plan->filter_floats), *order = begin + plan->phases + 1;
  cvy_cpu_implicit_gemm_order(plan, begin, order);
  self.filters = filters, self.begin = begin, self.order = order;
  if (!plan->once) cvy_cpu_implicit_gemm_pack_filters(plan, call, begin, order, filters);
  cvy_parallel_items(call->threads, plan->bands * plan->p.groups * plan->blocks * plan->parts,
                     make_pieces, &self);
}
