/* Running backward_weights of cpu.winograd. Slices of the tiles are joined in order, so bits depend
 * neither on timing nor on how many threads there are. */
#include "cpu/winograd/backward_weights.h"
#include "cpu/shared/sums.h"
#include "problem/conv/conv.h"

#include <string.h>

typedef struct gradient_run {
  const cvy_cpu_call *call;
  cvy_cpu_winograd_weights_plan plan;
  float *sums;
} gradient_run;

/* A block of tiles for one part of the outputs of a group, on its way. */
typedef struct gradient_block {
  const gradient_run *run;
  int64_t group;
  cvy_range kernel_tiles, tiles;
  /* In the memory of a slot: */
  float *source;     /* [point][tile][channel] */
  float *dy;         /* [point][kernel tile][tile][row] */
  float *transposed; /* input as [row][column][channel] */
  float *arrays;     /* dy by place in a tile */
} gradient_block;

/* ------------------------------------------------------------------------------- loading x */

/* Transposes row i of the input under a piece, so that channels are side by side. */
static void transpose_row(const gradient_block *b, const cvy_cpu_winograd_piece *piece, int64_t i,
                          float *to) {
  const cvy_cpu_winograd_tiling *t = &b->run->plan.tiling;
  const cvy_problem *p = &t->p;
  int64_t pitch = b->run->plan.row;
  int64_t h = piece->row * t->m + i - p->conv.pad[1], left = piece->first * t->m - p->conv.pad[2];
  int64_t count = piece->count * t->m + t->n - t->m, volume = cvy_in_volume(p);
  cvy_range real = cvy_outputs_inside(p->conv.in[2], count, 1, left);
  if (h < 0 || h >= p->conv.in[1]) real = (cvy_range){count, count};
  memset(to, 0, (size_t)(real.begin * pitch) * sizeof *to);
  memset(to + real.end * pitch, 0, (size_t)((count - real.end) * pitch) * sizeof *to);
  if (real.begin == real.end) return;
  const float *x =
      b->run->call->in[0] + cvy_conv_place(p, CVY_X, piece->image, b->group * t->channels);
  b->run->call->simd->transpose(to + real.begin * pitch, pitch,
                                x + h * p->conv.in[2] + left + real.begin, volume, t->channels,
                                cvy_range_length(real));
}

static void load_source(const gradient_block *b) {
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  cvy_cpu_winograd_piece piece;
  for (int64_t tile = b->tiles.begin; tile < b->tiles.end; tile += piece.count) {
    int64_t end = cvy_min(tile + CVY_CPU_WINOGRAD_TRANSPOSED, b->tiles.end);
    piece = cvy_cpu_winograd_piece_at(t, (cvy_range){b->tiles.begin, end}, tile);
    int64_t row = (piece.count * t->m + t->n - t->m) * plan->row;
    for (int64_t i = 0; i < t->n; i++) transpose_row(b, &piece, i, b->transposed + i * row);
    for (int64_t i = 0; i < piece.count; i++) {
      t->transform[CVY_WINOGRAD_INPUT](
          &(cvy_winograd_arrays){.from = b->transposed + i * t->m * plan->row,
                                 .from_row = row,
                                 .from_column = plan->row,
                                 .to = b->source + (piece.at + i) * plan->row,
                                 .to_row = t->n * plan->pitch.source,
                                 .to_column = plan->pitch.source,
                                 .count = t->channels});
    }
  }
}

/* ------------------------------------------------------------------------------ loading dy */

/* Transposes one piece of dy, so that each place in a tile is an array of [tile][row]. */
static void transpose_dy(const gradient_block *b, const cvy_cpu_winograd_piece *piece, int64_t k,
                         int64_t outputs) {
  const cvy_cpu_winograd_tiling *t = &b->run->plan.tiling;
  const cvy_problem *p = &t->p;
  int64_t volume = cvy_out_volume(p), top = piece->row * t->m, pitch = b->run->plan.pitch.array;
  const float *dy = b->run->call->in[1] +
                    cvy_conv_place(p, CVY_Y, piece->image, b->group * t->outputs + k) +
                    top * p->conv.out[2];
  for (int64_t i = 0; i < cvy_min(t->m, p->conv.out[1] - top); i++, dy += p->conv.out[2]) {
    for (int64_t j = 0; j < piece->count; j++) {
      int64_t left = (piece->first + j) * t->m;
      float *to = b->arrays + i * t->m * pitch + (piece->at + j) * t->kernel->rows;
      b->run->call->simd->transpose(to, pitch, dy + left, volume, outputs,
                                    cvy_min(t->m, p->conv.out[2] - left));
    }
  }
}

static void load_dy(const gradient_block *b, int64_t number) {
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t rows = t->kernel->rows, k = number * rows, outputs = cvy_min(rows, t->outputs - k);
  cvy_cpu_winograd_piece piece;
  memset(b->arrays, 0, (size_t)(t->m * t->m * plan->pitch.array) * sizeof *b->arrays);
  for (int64_t tile = b->tiles.begin; tile < b->tiles.end; tile += piece.count) {
    piece = cvy_cpu_winograd_piece_at(t, b->tiles, tile);
    transpose_dy(b, &piece, k, outputs);
  }
  t->transform[CVY_WINOGRAD_DY](
      &(cvy_winograd_arrays){.from = b->arrays,
                             .from_row = t->m * plan->pitch.array,
                             .from_column = plan->pitch.array,
                             .to = b->dy + (number - b->kernel_tiles.begin) * plan->pitch.dy_tile,
                             .to_row = t->n * plan->pitch.dy,
                             .to_column = plan->pitch.dy,
                             .count = cvy_range_length(b->tiles) * rows});
}

/* ----------------------------------------------------------------------------- multiplying */

static void add_block(const gradient_block *b, bool add, float *sum) {
  static const int64_t no_shift[1];
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_microkernel *kernel = plan->tiling.kernel;
  int64_t columns = cvy_microkernel_columns(kernel), first = b->kernel_tiles.begin;
  cvy_microkernel_tile tile = {
      .tap = no_shift, .taps = 1, .channels = cvy_range_length(b->tiles), .add = add};
  tile.block = cvy_sum_block(1);
  tile.x_pitch = tile.y_pitch = plan->row;
  for (int64_t point = 0; point < plan->tiling.points; point++, cvy_heartbeat_tick()) {
    for (int64_t at = 0; at < plan->row; at += columns) {
      for (int64_t i = first; i < b->kernel_tiles.end; i++) {
        tile.x = b->source + point * plan->pitch.source + at;
        tile.w = b->dy + point * plan->pitch.dy + (i - first) * plan->pitch.dy_tile;
        tile.y = sum + point * plan->pitch.sum + i * kernel->rows * plan->row + at;
        kernel->run[(cvy_min(columns, plan->row - at) - 1) / kernel->width](&tile);
      }
    }
  }
}

/* Makes piece `number`: one slice of the tiles, for one part of the outputs of a group. */
static void sum_piece(const gradient_run *run, int64_t number, float *memory) {
  const cvy_cpu_winograd_weights_plan *plan = &run->plan;
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t slice = number % plan->slices, part = number / plan->slices;
  gradient_block b = {.run = run, .group = part / plan->parts.count, .source = memory};
  b.kernel_tiles = cvy_cut_part(plan->parts, t->kernel_tiles, part % plan->parts.count);
  b.dy = b.source + t->points * plan->pitch.source;
  b.transposed = b.dy + t->points * plan->pitch.dy;
  b.arrays = b.transposed + plan->floats.transposed;
  float *sum = run->sums + (b.group * plan->slices + slice) * plan->floats.sum;
  cvy_range tiles = cvy_share(t->tiles, plan->slices, slice);
  for (int64_t first = tiles.begin; first < tiles.end; first += plan->block) {
    b.tiles = (cvy_range){first, cvy_min(first + plan->block, tiles.end)};
    load_source(&b);
    for (int64_t i = b.kernel_tiles.begin; i < b.kernel_tiles.end; i++, cvy_heartbeat_tick())
      load_dy(&b, i);
    add_block(&b, first > tiles.begin, sum);
  }
}

static float *slot_of(const gradient_run *run, int32_t slot) {
  const cvy_cpu_winograd_weights_plan *plan = &run->plan;
  int64_t sums = plan->tiling.p.conv.groups * plan->slices * plan->floats.sum;
  return run->sums + sums + slot * plan->floats.slot;
}

static void sum_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const gradient_run *run = arg;
  for (int64_t i = begin; i < end; i++) sum_piece(run, i, slot_of(run, slot));
}

/* --------------------------------------------------------------------------- transforming back */

/* Puts the filters of one output, all channels of its group. */
static void put_output(const gradient_run *run, int64_t number, float *memory) {
  const cvy_cpu_winograd_weights_plan *plan = &run->plan;
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  const cvy_simd *simd = run->call->simd;
  int64_t group = number / t->outputs, k = number % t->outputs;
  float *sum = run->sums + group * plan->slices * plan->floats.sum + k * plan->row;
  for (int64_t point = 0; point < t->points; point++)
    cvy_sum_join(simd, sum + point * plan->pitch.sum, plan->floats.sum, plan->slices, t->channels);
  t->transform[CVY_WINOGRAD_DW](&(cvy_winograd_arrays){.from = sum,
                                                       .from_row = t->n * plan->pitch.sum,
                                                       .from_column = plan->pitch.sum,
                                                       .to = memory,
                                                       .to_row = 3 * plan->row,
                                                       .to_column = plan->row,
                                                       .count = t->channels});
  float *dw = run->call->out[0] + number * t->channels * 9, *filters = memory + 9 * plan->row;
  if (!t->p.accumulate) {
    simd->transpose(dw, 9, memory, plan->row, 9, t->channels);
    return;
  }
  simd->transpose(filters, 9, memory, plan->row, 9, t->channels);
  simd->axpy(dw, 1, filters, 1, 1.0f, 9 * t->channels);
}

static void put_outputs(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const gradient_run *run = arg;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
    put_output(run, i, slot_of(run, slot));
}

void cvy_cpu_winograd_weights(const cvy_cpu_call *call) {
  gradient_run self = {call,
                       cvy_cpu_winograd_weights_plan_for(call->problem, call->facts, call->params),
                       call->workspace};
  const cvy_cpu_winograd_weights_plan *plan = &self.plan;
  int64_t pieces = plan->tiling.p.conv.groups * plan->parts.count * plan->slices;
  cvy_parallel_items(call->threads, pieces, sum_pieces, &self);
  cvy_parallel_items(call->threads, plan->tiling.p.conv.k, put_outputs, &self);
}
