/* backward_weights of cpu.winograd. At each point dw is a matrix product, dy x^T, summed over
 * tiles; the sums of all blocks are turned back once. Slices of the tiles are added up in order, so
 * bits do not depend on timing. */
#include <string.h>

#include "cpu/shared/range.h"
#include "cpu/winograd/winograd.h"

typedef struct weights {
  const cvy_cpu_call *call;
  cvy_cpu_winograd_weights_plan plan;
  float *sums;
} weights;

/* A block of tiles for one part of the outputs of a group, on its way. */
typedef struct block {
  const weights *run;
  int64_t group, first_tile, last_tile; /* of the outputs */
  int64_t first, end;                   /* tiles of the image */
  float *source, *dy;     /* [point][tile][channel] and [point][kernel tile][tile][row]; in slot */
  float *turned, *arrays; /* memory, as input as [row][column][channel] and dy by place in a tile */
} block;

/* ------------------------------------------------------------------------------- loading x */

/* Row i of the input under a piece, channels side by side. */
static void turn_row(const block *b, const cvy_cpu_winograd_piece *piece, int64_t i, float *to) {
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  const cvy_problem *p = &s->p;
  int64_t h = piece->row * s->m + i - p->pad[1], left = piece->first * s->m - p->pad[2];
  int64_t count = piece->count * s->m + s->n - s->m, volume = cvy_in_volume(p);
  cvy_range real = cvy_outputs_inside(p->in[2], count, 1, left);
  if (h < 0 || h >= p->in[1]) real = (cvy_range){count, count};
  memset(to, 0, (size_t)(real.begin * plan->pitch) * sizeof *to);
  memset(to + real.end * plan->pitch, 0, (size_t)((count - real.end) * plan->pitch) * sizeof *to);
  if (real.begin == real.end) return;
  const float *x = b->run->call->a + (piece->image * p->c + b->group * s->channels) * volume;
  b->run->call->simd->transpose(to + real.begin * plan->pitch, plan->pitch,
                                x + h * p->in[2] + left + real.begin, volume, s->channels,
                                cvy_range_length(real));
}

static void load_source(const block *b) {
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  cvy_cpu_winograd_piece piece;
  for (int64_t tile = b->first; tile < b->end; tile += piece.count) {
    int64_t end = cvy_min(tile + CVY_CPU_WINOGRAD_TRANSPOSED, b->end);
    piece = cvy_cpu_winograd_piece_at(s, b->first, end, tile);
    int64_t row = (piece.count * s->m + s->n - s->m) * plan->pitch;
    for (int64_t i = 0; i < s->n; i++) turn_row(b, &piece, i, b->turned + i * row);
    for (int64_t t = 0; t < piece.count; t++) {
      s->transform[CVY_WINOGRAD_INPUT](
          &(cvy_winograd_arrays){.from = b->turned + t * s->m * plan->pitch,
                                 .from_row = row,
                                 .from_column = plan->pitch,
                                 .to = b->source + (piece.at + t) * plan->pitch,
                                 .to_row = s->n * plan->source_pitch,
                                 .to_column = plan->source_pitch,
                                 .count = s->channels});
    }
  }
}

/* ------------------------------------------------------------------------------ loading dy */

/* One piece of dy: each place in a tile is an array of [tile][row]. */
static void transpose_dy(const block *b, const cvy_cpu_winograd_piece *piece, int64_t k,
                         int64_t outputs) {
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  const cvy_problem *p = &s->p;
  int64_t volume = cvy_out_volume(p), top = piece->row * s->m;
  const float *dy = b->run->call->b + (piece->image * p->k + b->group * s->outputs + k) * volume +
                    top * p->out[2];
  for (int64_t i = 0; i < cvy_min(s->m, p->out[1] - top); i++, dy += p->out[2]) {
    for (int64_t t = 0; t < piece->count; t++) {
      int64_t left = (piece->first + t) * s->m;
      b->run->call->simd->transpose(
          b->arrays + i * s->m * plan->array_pitch + (piece->at + t) * s->kernel->rows,
          plan->array_pitch, dy + left, volume, outputs, cvy_min(s->m, p->out[2] - left));
    }
  }
}

static void load_dy(const block *b, int64_t number) {
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t rows = s->kernel->rows, k = number * rows, outputs = cvy_min(rows, s->outputs - k);
  cvy_cpu_winograd_piece piece;
  memset(b->arrays, 0, (size_t)(s->m * s->m * plan->array_pitch) * sizeof *b->arrays);
  for (int64_t tile = b->first; tile < b->end; tile += piece.count) {
    piece = cvy_cpu_winograd_piece_at(s, b->first, b->end, tile);
    transpose_dy(b, &piece, k, outputs);
  }
  s->transform[CVY_WINOGRAD_DY](
      &(cvy_winograd_arrays){.from = b->arrays,
                             .from_row = s->m * plan->array_pitch,
                             .from_column = plan->array_pitch,
                             .to = b->dy + (number - b->first_tile) * plan->dy_tile,
                             .to_row = s->n * plan->dy_pitch,
                             .to_column = plan->dy_pitch,
                             .count = (b->end - b->first) * rows});
}

/* ----------------------------------------------------------------------------- multiplying */

static void add_block(const block *b, bool add, float *sum) {
  static const int64_t no_shift[1];
  const cvy_cpu_winograd_weights_plan *plan = &b->run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t width = s->kernel->width, columns = cvy_microkernel_columns(s->kernel),
          rows = s->kernel->rows;
  cvy_microkernel_tile tile = {
      .tap = no_shift, .taps = 1, .channels = b->end - b->first, .add = add};
  tile.x_pitch = tile.y_pitch = plan->pitch;
  for (int64_t point = 0; point < s->points; point++, cvy_heartbeat_tick()) {
    for (int64_t at = 0; at < plan->pitch; at += columns) {
      for (int64_t i = b->first_tile; i < b->last_tile; i++) {
        tile.x = b->source + point * plan->source_pitch + at;
        tile.w = b->dy + point * plan->dy_pitch + (i - b->first_tile) * plan->dy_tile;
        tile.y = sum + point * plan->sum_pitch + i * rows * plan->pitch + at;
        s->kernel->run[(cvy_min(columns, plan->pitch - at) - 1) / width](&tile);
      }
    }
  }
}

/* Piece `number`: one slice of the tiles, for one part of the outputs of a group. */
static void sum_piece(const weights *run, int64_t number, float *memory) {
  const cvy_cpu_winograd_weights_plan *plan = &run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t slice = number % plan->slices, part = number / plan->slices % plan->parts;
  block b = {.run = run, .group = number / plan->slices / plan->parts, .source = memory};
  b.first_tile = part * plan->part;
  b.last_tile = cvy_min(b.first_tile + plan->part, s->kernel_tiles);
  b.dy = b.source + s->points * plan->source_pitch;
  b.turned = b.dy + s->points * plan->dy_pitch;
  b.arrays = b.turned + plan->turned_floats;
  float *sum = run->sums + (b.group * plan->slices + slice) * plan->sum_floats;
  int64_t begin = slice * s->tiles / plan->slices, end = (slice + 1) * s->tiles / plan->slices;
  for (int64_t first = begin; first < end; first += plan->block) {
    b.first = first;
    b.end = cvy_min(first + plan->block, end);
    load_source(&b);
    for (int64_t i = b.first_tile; i < b.last_tile; i++, cvy_heartbeat_tick()) load_dy(&b, i);
    add_block(&b, first > begin, sum);
  }
}

static void sum_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const weights *run = arg;
  const cvy_cpu_winograd_weights_plan *plan = &run->plan;
  float *slots = run->sums + plan->shape.p.groups * plan->slices * plan->sum_floats;
  for (int64_t i = begin; i < end; i++) sum_piece(run, i, slots + slot * plan->slot_floats);
}

/* -------------------------------------------------------------------------------- turning back */

/* The filters of one output, all channels of its group. */
static void put_output(const weights *run, int64_t number, float *memory) {
  const cvy_cpu_winograd_weights_plan *plan = &run->plan;
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  const cvy_simd *simd = run->call->simd;
  int64_t group = number / s->outputs, k = number % s->outputs;
  float *sum = run->sums + group * plan->slices * plan->sum_floats + k * plan->pitch;
  for (int64_t slice = 1; slice < plan->slices; slice++) {
    for (int64_t point = 0; point < s->points; point++) {
      simd->axpy(sum + point * plan->sum_pitch, 1,
                 sum + slice * plan->sum_floats + point * plan->sum_pitch, 1, 1.0f, s->channels);
    }
  }
  s->transform[CVY_WINOGRAD_DW](&(cvy_winograd_arrays){.from = sum,
                                                       .from_row = s->n * plan->sum_pitch,
                                                       .from_column = plan->sum_pitch,
                                                       .to = memory,
                                                       .to_row = 3 * plan->pitch,
                                                       .to_column = plan->pitch,
                                                       .count = s->channels});
  float *dw = run->call->out + number * s->channels * 9, *filters = memory + 9 * plan->pitch;
  if (!s->p.accumulate) {
    simd->transpose(dw, 9, memory, plan->pitch, 9, s->channels);
    return;
  }
  simd->transpose(filters, 9, memory, plan->pitch, 9, s->channels);
  simd->axpy(dw, 1, filters, 1, 1.0f, 9 * s->channels);
}

static void put_outputs(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const weights *run = arg;
  const cvy_cpu_winograd_weights_plan *plan = &run->plan;
  float *slots = run->sums + plan->shape.p.groups * plan->slices * plan->sum_floats;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick())
    put_output(run, i, slots + slot * plan->slot_floats);
}

void cvy_cpu_winograd_weights(const cvy_cpu_call *call) {
  weights self = {call, cvy_cpu_winograd_weights_plan_for(call->problem, call->facts, call->params),
                  call->workspace};
  const cvy_cpu_winograd_weights_plan *plan = &self.plan;
  cvy_parallel_items(call->threads, plan->shape.p.groups * plan->parts * plan->slices, sum_pieces,
                     &self);
  cvy_parallel_items(call->threads, plan->shape.p.k, put_outputs, &self);
}
