/* Forward and stride 1 backward_data of cpu.winograd. */
#include <string.h>

#include "cpu/shared/epilogue.h"
#include "cpu/shared/range.h"
#include "cpu/winograd/winograd.h"

static int64_t turned(int64_t tiles) {
  return (tiles + 3) / 4 * 4;
}

/* ------------------------------------------------------------------------------- loading */

/* A row of a piece: array j gets place j of each tile. Tiles overlap, so the rows of the transpose
 * do, too. */
static void load_row(const cvy_cpu_winograd_block *b, const cvy_cpu_winograd_piece *piece,
                     int64_t i, const float *channel) {
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t width = turned(s->n), pitch = plan->array_pitch;
  float *to = b->arrays + i * width * pitch + piece->at;
  if (cvy_cpu_winograd_input_row(s, piece, i, channel, b->line)) {
    b->call->simd->transpose(to, pitch, b->line, s->m, turned(piece->count), width);
    return;
  }
  for (int64_t j = 0; j < s->n; j++, to += pitch) memset(to, 0, (size_t)piece->count * sizeof *to);
}

void cvy_cpu_winograd_load(const cvy_cpu_winograd_block *b, int64_t c) {
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  cvy_cpu_winograd_piece piece;
  for (int64_t tile = b->first; tile < b->end; tile += piece.count) {
    piece = cvy_cpu_winograd_piece_at(s, b->first, b->end, tile);
    int64_t channel = piece.image * s->p.c + b->group * s->channels + c;
    for (int64_t i = 0; i < s->n; i++)
      load_row(b, &piece, i, b->call->a + channel * cvy_in_volume(&s->p));
  }
  s->transform[CVY_WINOGRAD_INPUT](
      &(cvy_winograd_arrays){.from = b->arrays,
                             .from_row = turned(s->n) * plan->array_pitch,
                             .from_column = plan->array_pitch,
                             .to = b->source + c * plan->pitch,
                             .to_row = s->n * plan->source_pitch,
                             .to_column = plan->source_pitch,
                             .count = b->end - b->first});
}

/* ---------------------------------------------------------------------------- multiplying */

void cvy_cpu_winograd_multiply(const cvy_cpu_winograd_block *b,
                               const cvy_cpu_winograd_product *product) {
  static const int64_t no_shift[1];
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t width = s->kernel->width, columns = cvy_microkernel_columns(s->kernel),
          count = b->end - b->first;
  cvy_microkernel_tile tile = {
      .tap = no_shift, .taps = 1, .channels = product->channels, .add = product->add};
  tile.x_pitch = tile.y_pitch = plan->pitch;
  for (int64_t point = 0; point < s->points; point++) {
    for (int64_t at = 0; at < count; at += columns) {
      for (int64_t i = 0; i < product->kernel_tiles; i++) {
        tile.x = product->source + point * plan->source_pitch + at;
        tile.w = product->filters + point * plan->filter_pitch + i * plan->filter_tile;
        tile.y = product->to + point * plan->product_pitch + i * s->kernel->rows * plan->pitch + at;
        s->kernel->run[(cvy_min(columns, count - at) - 1) / width](&tile);
      }
    }
  }
}

/* -------------------------------------------------------------------------------- storing */

/* The outputs of output channel k in a piece, from the arrays by place in a tile. */
static void put_piece(const cvy_cpu_winograd_block *b, const cvy_cpu_winograd_piece *piece,
                      int64_t k) {
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  const cvy_cpu_call *call = b->call;
  const int64_t *out = s->p.out;
  int64_t count = cvy_min(piece->count * s->m, out[2] - piece->first * s->m);
  int64_t rows = cvy_min(s->m, out[1] - piece->row * s->m);
  float *y = call->out + ((piece->image * s->p.k + k) * out[1] + piece->row * s->m) * out[2] +
             piece->first * s->m;
  for (int64_t i = 0; i < rows; i++, y += out[2]) {
    call->simd->transpose(b->line, s->m, b->arrays + i * s->m * plan->array_pitch + piece->at,
                          plan->array_pitch, s->m, turned(piece->count));
    if (s->p.accumulate)
      call->simd->axpy(y, 1, b->line, 1, 1.0f, count);
    else
      memcpy(y, b->line, (size_t)count * sizeof *y);
    cvy_cpu_epilogue(call, y, k, count);
  }
}

void cvy_cpu_winograd_put(const cvy_cpu_winograd_block *b, const float *product, int64_t first,
                          int64_t last) {
  const cvy_cpu_winograd_maps_plan *plan = b->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t begin = first * s->kernel->rows, end = cvy_min(last * s->kernel->rows, s->outputs);
  for (int64_t k = begin; k < end; k++) {
    s->transform[CVY_WINOGRAD_OUTPUT](
        &(cvy_winograd_arrays){.from = product + (k - begin) * plan->pitch,
                               .from_row = s->n * plan->product_pitch,
                               .from_column = plan->product_pitch,
                               .to = b->arrays,
                               .to_row = s->m * plan->array_pitch,
                               .to_column = plan->array_pitch,
                               .count = b->end - b->first});
    cvy_cpu_winograd_piece piece;
    for (int64_t tile = b->first; tile < b->end; tile += piece.count) {
      piece = cvy_cpu_winograd_piece_at(s, b->first, b->end, tile);
      put_piece(b, &piece, b->group * s->outputs + k);
    }
  }
}

/* ------------------------------------------------------------------------------------- all */

cvy_cpu_winograd_block cvy_cpu_winograd_block_at(const cvy_cpu_call *call,
                                                 const cvy_cpu_winograd_maps_plan *plan,
                                                 int64_t number, float *source, float *memory) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t first = number % plan->blocks * plan->block;
  return (cvy_cpu_winograd_block){.call = call,
                                  .plan = plan,
                                  .group = number / plan->blocks,
                                  .first = first,
                                  .end = cvy_min(first + plan->block, s->tiles),
                                  .source = source,
                                  .arrays = memory,
                                  .line = memory + s->n * turned(s->n) * plan->array_pitch};
}

typedef struct maps {
  const cvy_cpu_call *call;
  cvy_cpu_winograd_maps_plan plan;
} maps;

static void make_block(const maps *run, int64_t number, float *memory) {
  const cvy_cpu_winograd_maps_plan *plan = &run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  float *products = memory + s->points * plan->source_pitch;
  cvy_cpu_winograd_block b = cvy_cpu_winograd_block_at(run->call, plan, number, memory,
                                                       products + s->points * plan->product_pitch);
  const float *filters = run->call->workspace;
  filters += b.group * s->kernel_tiles * plan->filter_tile;
  for (int64_t c = 0; c < s->channels; c++) cvy_cpu_winograd_load(&b, c);
  for (int64_t i = 0; i < s->kernel_tiles; i += plan->together, cvy_heartbeat_tick()) {
    int64_t last = cvy_min(i + plan->together, s->kernel_tiles);
    cvy_cpu_winograd_multiply(
        &b, &(cvy_cpu_winograd_product){.source = b.source,
                                        .filters = filters + i * plan->filter_tile,
                                        .to = products,
                                        .channels = s->channels,
                                        .kernel_tiles = last - i});
    cvy_cpu_winograd_put(&b, products, i, last);
  }
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const maps *run = arg;
  float *memory = (float *)run->call->workspace + run->plan.shared_floats;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
    make_block(run, i, memory + slot * run->plan.slot_floats);
}

void cvy_cpu_winograd_maps(const cvy_cpu_call *call) {
  maps self = {call, cvy_cpu_winograd_maps_plan_for(call->problem, call->facts, call->params)};
  if (self.plan.transient) {
    cvy_cpu_winograd_transient(call, &self.plan);
    return;
  }
  cvy_cpu_winograd_transform_filters(&self.plan, call, call->workspace);
  cvy_parallel_items(call->threads, self.plan.shape.p.groups * self.plan.blocks, make_blocks,
                     &self);
}
