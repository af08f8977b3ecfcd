/* Running forward and backward_data of cpu.winograd. */
#include "cpu/winograd/maps.h"

#include <string.h>

#include "cpu/shared/epilogue.h"
#include "problem/conv/conv.h"

/* Transposing goes by fours. */
static int64_t in_fours(int64_t count) {
  return cvy_align_up(count, 4);
}

/* ------------------------------------------------------------------------------- loading */

/* Loads a row of a piece: array j gets place j of each tile. Tiles overlap, so the rows of the
 * transpose do, too. */
static void load_row(const cvy_cpu_winograd_block *b, const cvy_cpu_winograd_piece *piece,
                     int64_t i, const float *channel) {
  const cvy_cpu_winograd_tiling *t = &b->plan->tiling;
  int64_t width = in_fours(t->n), pitch = b->plan->pitch.array;
  float *to = b->arrays + i * width * pitch + piece->at;
  if (cvy_cpu_winograd_input_row(t, piece, i, channel, b->line)) {
    b->call->simd->transpose(to, pitch, b->line, t->m, in_fours(piece->count), width);
    return;
  }
  for (int64_t j = 0; j < t->n; j++, to += pitch) memset(to, 0, (size_t)piece->count * sizeof *to);
}

void cvy_cpu_winograd_load(const cvy_cpu_winograd_block *b, int64_t c) {
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  cvy_cpu_winograd_piece piece;
  for (int64_t tile = b->tiles.begin; tile < b->tiles.end; tile += piece.count) {
    piece = cvy_cpu_winograd_piece_at(t, b->tiles, tile);
    int64_t channel = cvy_conv_place(&t->p, CVY_X, piece.image, b->group * t->channels + c);
    for (int64_t i = 0; i < t->n; i++) load_row(b, &piece, i, b->call->in[0] + channel);
  }
  t->transform[CVY_WINOGRAD_INPUT](
      &(cvy_winograd_arrays){.from = b->arrays,
                             .from_row = in_fours(t->n) * plan->pitch.array,
                             .from_column = plan->pitch.array,
                             .to = b->source + c * plan->blocks.size,
                             .to_row = t->n * plan->pitch.source,
                             .to_column = plan->pitch.source,
                             .count = cvy_range_length(b->tiles)});
}

/* ---------------------------------------------------------------------------- multiplying */

void cvy_cpu_winograd_multiply(const cvy_cpu_winograd_block *b,
                               const cvy_cpu_winograd_product *product) {
  static const int64_t no_shift[1];
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_microkernel *kernel = plan->tiling.kernel;
  int64_t columns = cvy_microkernel_columns(kernel), count = cvy_range_length(b->tiles);
  int64_t row = plan->blocks.size;
  cvy_microkernel_tile tile = {
      .tap = no_shift, .taps = 1, .channels = product->channels, .add = product->add};
  tile.block = plan->chunk;
  tile.x_pitch = tile.y_pitch = row;
  for (int64_t point = 0; point < plan->tiling.points; point++) {
    for (int64_t at = 0; at < count; at += columns) {
      for (int64_t i = 0; i < product->kernel_tiles; i++) {
        tile.x = product->source + point * plan->pitch.source + at;
        tile.w = product->filters + point * plan->pitch.filter + i * plan->pitch.filter_tile;
        tile.y = product->to + point * plan->pitch.product + i * kernel->rows * row + at;
        kernel->run[(cvy_min(columns, count - at) - 1) / kernel->width](&tile);
      }
    }
  }
}

/* -------------------------------------------------------------------------------- storing */

/* Puts the outputs of output channel k in a piece, from the arrays by place in a tile. */
static void put_piece(const cvy_cpu_winograd_block *b, const cvy_cpu_winograd_piece *piece,
                      int64_t k) {
  const cvy_cpu_winograd_tiling *t = &b->plan->tiling;
  const cvy_cpu_call *call = b->call;
  const int64_t *out = t->p.conv.out;
  int64_t pitch = b->plan->pitch.array;
  int64_t count = cvy_min(piece->count * t->m, out[2] - piece->first * t->m);
  int64_t rows = cvy_min(t->m, out[1] - piece->row * t->m);
  float *y = call->out[0] + cvy_conv_place(&t->p, CVY_Y, piece->image, k);
  y += piece->row * t->m * out[2] + piece->first * t->m;
  for (int64_t i = 0; i < rows; i++, y += out[2]) {
    call->simd->transpose(b->line, t->m, b->arrays + i * t->m * pitch + piece->at, pitch, t->m,
                          in_fours(piece->count));
    if (t->p.accumulate)
      call->simd->axpy(y, 1, b->line, 1, 1.0f, count);
    else
      memcpy(y, b->line, (size_t)count * sizeof *y);
    cvy_cpu_epilogue(call, y, k, count);
  }
}

void cvy_cpu_winograd_put(const cvy_cpu_winograd_block *b, const float *product,
                          cvy_range kernel_tiles) {
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t begin = kernel_tiles.begin * t->kernel->rows;
  int64_t end = cvy_min(kernel_tiles.end * t->kernel->rows, t->outputs);
  for (int64_t k = begin; k < end; k++) {
    t->transform[CVY_WINOGRAD_OUTPUT](
        &(cvy_winograd_arrays){.from = product + (k - begin) * plan->blocks.size,
                               .from_row = t->n * plan->pitch.product,
                               .from_column = plan->pitch.product,
                               .to = b->arrays,
                               .to_row = t->m * plan->pitch.array,
                               .to_column = plan->pitch.array,
                               .count = cvy_range_length(b->tiles)});
    cvy_cpu_winograd_piece piece;
    for (int64_t tile = b->tiles.begin; tile < b->tiles.end; tile += piece.count) {
      piece = cvy_cpu_winograd_piece_at(t, b->tiles, tile);
      put_piece(b, &piece, b->group * t->outputs + k);
    }
  }
}

/* ------------------------------------------------------------------------------------- all */

cvy_cpu_winograd_block cvy_cpu_winograd_block_at(const cvy_cpu_call *call,
                                                 const cvy_cpu_winograd_maps_plan *plan,
                                                 int64_t number, float *source, float *memory) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  return (cvy_cpu_winograd_block){
      .call = call,
      .plan = plan,
      .group = number / plan->blocks.count,
      .tiles = cvy_cut_part(plan->blocks, t->tiles, number % plan->blocks.count),
      .source = source,
      .arrays = memory,
      .line = memory + t->n * in_fours(t->n) * plan->pitch.array};
}

typedef struct maps_run {
  const cvy_cpu_call *call;
  cvy_cpu_winograd_maps_plan plan;
} maps_run;

static void make_block(const maps_run *run, int64_t number, float *memory) {
  const cvy_cpu_winograd_maps_plan *plan = &run->plan;
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  float *products = memory + t->points * plan->pitch.source;
  cvy_cpu_winograd_block b = cvy_cpu_winograd_block_at(run->call, plan, number, memory,
                                                       products + t->points * plan->pitch.product);
  const float *filters = run->call->workspace;
  filters += b.group * t->kernel_tiles * plan->pitch.filter_tile;
  for (int64_t c = 0; c < t->channels; c++) cvy_cpu_winograd_load(&b, c);
  for (int64_t i = 0; i < t->kernel_tiles; i += plan->together, cvy_heartbeat_tick()) {
    cvy_range some = {i, cvy_min(i + plan->together, t->kernel_tiles)};
    cvy_cpu_winograd_multiply(
        &b, &(cvy_cpu_winograd_product){.source = b.source,
                                        .filters = filters + i * plan->pitch.filter_tile,
                                        .to = products,
                                        .channels = t->channels,
                                        .kernel_tiles = cvy_range_length(some)});
    cvy_cpu_winograd_put(&b, products, some);
  }
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const maps_run *run = arg;
  float *memory = (float *)run->call->workspace + run->plan.floats.shared;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
    make_block(run, i, memory + slot * run->plan.floats.slot);
}

void cvy_cpu_winograd_maps(const cvy_cpu_call *call) {
  maps_run self = {call, cvy_cpu_winograd_maps_plan_for(call->problem, call->facts, call->params)};
  const cvy_cpu_winograd_maps_plan *plan = &self.plan;
  if (plan->transient) {
    cvy_cpu_winograd_transient(call, plan);
    return;
  }
  cvy_cpu_winograd_transform_filters(plan, call, call->workspace);
  cvy_parallel_items(call->threads, plan->tiling.p.conv.groups * plan->blocks.count, make_blocks,
                     &self);
}
