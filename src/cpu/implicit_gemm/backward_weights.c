/* Running cpu.implicit_gemm's backward_weights. Each slice of the units has a sum of its own, made
 * in one order by whichever thread, and the sums are joined in order, so bits depend neither on
 * timing nor on how many threads there are. A single slice is put where it belongs while it is in
 * cache. */
#include "cpu/implicit_gemm/backward_weights.h"
#include "cpu/shared/sums.h"
#include "problem/conv/conv.h"

#include <string.h>

typedef struct weights_run {
  const cvy_cpu_call *call;
  cvy_cpu_implicit_gemm_weights_plan plan;
  float *sums;
} weights_run;

/* Some channels of a group, and some tiles of its outputs. */
typedef struct weights_part {
  int64_t group;
  cvy_range channels, tiles;
} weights_part;

/* A unit of a part, on its way. */
typedef struct weights_unit {
  const weights_run *run;
  weights_part part;
  cvy_output_block of;
  cvy_cpu_implicit_gemm_transposed transposed;
  int64_t *taps; /* offsets of the outputs of a row; in slot memory, as are: */
  float *x, *y, *row;
} weights_unit;

static weights_part part_at(const cvy_cpu_implicit_gemm_weights_plan *plan, int64_t number) {
  cvy_cut channels = plan->columns.parts, tiles = plan->tile_parts;
  int64_t rest = number / tiles.count;
  return (weights_part){.group = rest / channels.count,
                        .channels = cvy_cut_part(channels, plan->channels, rest % channels.count),
                        .tiles = cvy_cut_part(tiles, plan->tiles, number % tiles.count)};
}

/* -------------------------------------------------------------------------------- transposing */

/* The channels of bundle `number` of a part, counted from its first. */
static cvy_range bundle_of(const cvy_cpu_implicit_gemm_weights_plan *plan, const weights_part *part,
                           int64_t number) {
  return cvy_cut_part(plan->columns.bundles, cvy_range_length(part->channels), number);
}

/* Transposes one row of the input. */
static void transpose_row(const weights_unit *u, int64_t channels, const float *from, float *to) {
  const cvy_simd *simd = u->run->call->simd;
  int64_t volume = cvy_in_volume(&u->run->plan.p), size = u->run->plan.columns.bundles.size;
  int64_t step = u->transposed.step[2], pad = u->of.p.conv.pad[2];
  cvy_range real = cvy_outputs_inside(u->of.p.conv.in[2], u->transposed.extent[2], step, -pad);
  int64_t count = cvy_range_length(real);
  if (count == 0) return;
  from += real.begin * step - pad;
  to += real.begin * size;
  if (step == 1) {
    simd->transpose(to, size, from, volume, channels, count);
    return;
  }
  for (int64_t c = 0; c < channels; c++)
    simd->gather(u->row + c * count, from + c * volume, step, count);
  simd->transpose(to, size, u->row, count, channels, count);
}

static void transpose_x(const weights_unit *u, int64_t image, cvy_range some, float *to) {
  const cvy_problem *p = &u->of.p, *whole = &u->run->plan.p;
  const int64_t *extent = u->transposed.extent, *step = u->transposed.step;
  int64_t channel = u->part.group * u->run->plan.channels + u->part.channels.begin + some.begin;
  const float *x = u->run->call->in[0] + cvy_conv_place(whole, CVY_X, image, channel) + u->of.in_at;
  int64_t floats = extent[2] * u->run->plan.columns.bundles.size;
  for (int64_t z = 0; z < extent[0]; z++) {
    for (int64_t h = 0; h < extent[1]; h++, to += floats) {
      int64_t iz = z * step[0] - p->conv.pad[0], ih = h * step[1] - p->conv.pad[1];
      bool inside = iz >= 0 && iz < p->conv.in[0] && ih >= 0 && ih < p->conv.in[1];
      if (!inside || p->conv.pad[2] > 0 || extent[2] * step[2] > p->conv.in[2])
        memset(to, 0, (size_t)floats * sizeof *to);
      const float *row = x + (iz * whole->conv.in[1] + ih) * whole->conv.in[2];
      if (inside) transpose_row(u, cvy_range_length(some), row, to);
    }
  }
}

/* The elements that a tap reads of a channel, those in the padding 0. */
static void gather_tap(const weights_unit *u, int64_t tap, const float *x, float *to) {
  const cvy_conv_problem *c = &u->of.p.conv;
  int64_t from[3];
  cvy_range inside[3];
  for (int i = 2; i >= 0; tap /= c->filter[i], i--) {
    from[i] = tap % c->filter[i] * c->dilation[i] - c->pad[i];
    inside[i] = cvy_outputs_inside(c->in[i], c->out[i], c->stride[i], from[i]);
  }
  memset(to, 0, (size_t)cvy_out_volume(&u->of.p) * sizeof *to);
  for (int64_t z = inside[0].begin; z < inside[0].end; z++) {
    for (int64_t h = inside[1].begin; h < inside[1].end; h++) {
      int64_t w = inside[2].begin, row = (z * c->stride[0] + from[0]) * c->in[1];
      row = (row + h * c->stride[1] + from[1]) * c->in[2];
      u->run->call->simd->gather(to + (z * c->out[1] + h) * c->out[2] + w,
                                 x + row + w * c->stride[2] + from[2], c->stride[2],
                                 cvy_range_length(inside[2]));
    }
  }
}

/* [output][channel][tap] of an image. */
static void unfold_x(const weights_unit *u, int64_t image, float *to) {
  const cvy_problem *p = &u->run->plan.p;
  int64_t taps = cvy_filter_volume(p), count = cvy_out_volume(&u->of.p);
  for (int64_t c = u->part.channels.begin; c < u->part.channels.end; c++, to += taps) {
    int64_t channel = u->part.group * u->run->plan.channels + c;
    const float *x = u->run->call->in[0] + cvy_conv_place(p, CVY_X, image, channel);
    for (int64_t tap = 0; tap < taps; tap++) gather_tap(u, tap, x, u->row + tap * count);
    u->run->call->simd->transpose(to, u->run->plan.columns.pitch, u->row, count, taps, count);
  }
}

/* A block of whole rows lies in one piece, one of columns row by row. */
static void transpose_y(const weights_unit *u, int64_t image, int64_t tile, float *to) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t rows = plan->kernel->rows, volume = cvy_out_volume(&plan->p);
  int64_t count = cvy_out_volume(&u->of.p);
  int64_t real = cvy_min(rows, plan->outputs - tile * rows);
  int64_t channel = u->part.group * plan->outputs + tile * rows;
  int64_t whole = plan->p.conv.out[2], across = u->of.p.conv.out[2];
  int64_t piece = across == whole ? count : across;
  const float *from =
      u->run->call->in[1] + cvy_conv_place(&plan->p, CVY_Y, image, channel) + u->of.out_at;
  if (real < rows) memset(to, 0, (size_t)(count * rows) * sizeof *to);
  for (int64_t i = 0; i < count; i += piece, from += whole)
    u->run->call->simd->transpose(to + i * rows, rows, from, volume, real, piece);
}

static void load(const weights_unit *u) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t first = u->of.images.begin, images = plan->units.images_at_once;
  for (int64_t i = first; i < u->of.images.end; i++, cvy_heartbeat_tick()) {
    if (plan->columns.unfolded) unfold_x(u, i, u->x + (i - first) * plan->floats.x);
    for (int64_t b = 0; b < plan->columns.bundles.count && !plan->columns.unfolded; b++)
      transpose_x(u, i, bundle_of(plan, &u->part, b),
                  u->x + (b * images + i - first) * plan->floats.x);
    for (int64_t t = u->part.tiles.begin; t < u->part.tiles.end; t++) {
      int64_t before = (t - u->part.tiles.begin) * images + i - first;
      transpose_y(u, i, t, u->y + before * plan->floats.y);
    }
  }
  int64_t step = u->transposed.stride[2] * plan->columns.bundles.size;
  for (int64_t i = 0; i < u->of.p.conv.out[2]; i++) u->taps[i] = i * step;
}

/* ------------------------------------------------------------------------------ multiplying */

/* Where the columns of tap number `tap` begin in the transposed x. */
static int64_t tap_place(const weights_unit *u, int64_t tap) {
  const cvy_problem *p = &u->of.p;
  const int64_t *extent = u->transposed.extent, *d = p->conv.dilation;
  int64_t s = 0;
  if (u->run->plan.columns.unfolded) return 0;
  if (!u->run->plan.columns.folded) s = tap % p->conv.filter[2] * d[2], tap /= p->conv.filter[2];
  int64_t r = tap % p->conv.filter[1] * d[1], t = tap / p->conv.filter[1] * d[0];
  return ((t * extent[1] + r) * extent[2] + s) * u->run->plan.columns.bundles.size;
}

/* What a tile sums over at a time: one long row, the short rows of a plane, or an image. */
typedef struct weights_steps {
  cvy_microkernel_tile tile;
  int64_t count, x, y; /* of a plane, and from one to the next in the transposed x and dy */
  int64_t planes, plane_x, plane_y;
} weights_steps;

static weights_steps steps_of(const weights_unit *u) {
  const cvy_cpu_implicit_gemm_transposed *t = &u->transposed;
  const int64_t *out = u->of.p.conv.out;
  int64_t size = u->run->plan.columns.bundles.size;
  int64_t row = t->extent[2] * t->stride[1] * size, rows_of_y = u->run->plan.kernel->rows;
  if (u->run->plan.columns.unfolded)
    return (weights_steps){.tile = {.tap = u->taps,
                                    .taps = 1,
                                    .channels = out[0] * out[1] * out[2],
                                    .block = CVY_SUM_TERMS,
                                    .x_pitch = u->run->plan.columns.pitch},
                           .count = 1,
                           .planes = 1};
  weights_steps rows = {.tile = {.tap = u->taps,
                                 .taps = out[2],
                                 .channels = out[1],
                                 .block = cvy_sum_block(out[2]),
                                 .x_pitch = row},
                        .count = 1};
  weights_steps row_by_row = {.tile = {.tap = u->taps,
                                       .taps = 1,
                                       .channels = out[2],
                                       .block = CVY_SUM_TERMS,
                                       .x_pitch = t->stride[2] * size},
                              .count = out[1],
                              .x = row,
                              .y = out[2] * rows_of_y};
  weights_steps steps = cvy_cpu_implicit_gemm_by_rows(&u->run->plan.p) ? row_by_row : rows;
  steps.planes = out[0];
  steps.plane_x = t->extent[1] * t->extent[2] * size * t->stride[0];
  steps.plane_y = out[1] * out[2] * rows_of_y;
  return steps;
}

/* Adds all outputs of the unit to one tile of the sum. */
static void add_tile(const weights_unit *u, weights_steps steps, const float *x, const float *y,
                     int64_t vectors) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  cvy_microkernel_tile *tile = &steps.tile;
  for (int64_t i = 0; i < cvy_range_length(u->of.images); i++) {
    for (int64_t z = 0; z < steps.planes; z++) {
      for (int64_t h = 0; h < steps.count; h++, tile->add = true) {
        tile->x = x + i * plan->floats.x + z * steps.plane_x + h * steps.x;
        tile->w = y + i * plan->floats.y + z * steps.plane_y + h * steps.y;
        plan->kernel->run[vectors - 1](tile);
      }
    }
  }
}

/* Adds all tiles of one bundle. */
static void add_bundle(const weights_unit *u, int64_t number, bool add, float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t width = plan->kernel->width, rows = plan->kernel->rows, pitch = plan->columns.pitch;
  int64_t all = pitch / width, strips = cvy_div_up(all, CVY_MICROKERNEL_VECTORS);
  int64_t tiles = cvy_range_length(u->part.tiles), images = plan->units.images_at_once;
  weights_steps steps = steps_of(u);
  steps.tile.add = add;
  steps.tile.y_pitch = pitch;
  const float *x = u->x + number * images * plan->floats.x;
  for (int64_t tap = 0; tap < plan->columns.taps; tap++) {
    for (int64_t s = 0; s < strips; s++, cvy_heartbeat_tick()) {
      cvy_range vectors = cvy_share(all, strips, s);
      for (int64_t t = 0; t < tiles; t++) {
        steps.tile.y =
            sum + (tap * plan->tile_parts.size + t) * rows * pitch + vectors.begin * width;
        add_tile(u, steps, x + tap_place(u, tap) + vectors.begin * width,
                 u->y + t * images * plan->floats.y, cvy_range_length(vectors));
      }
    }
  }
}

/* ---------------------------------------------------------------------------------- putting */

/* Puts what the sums of an output have for some channels and one row of taps, or one tap, to its
 * filters, which begin at `dw` for the first of the channels. */
static void put_taps(const weights_run *run, const float *sum, int64_t channels, int64_t tap,
                     float *dw) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t across = plan->columns.folded ? plan->p.conv.filter[2] : 1;
  if (plan->columns.unfolded || cvy_filter_volume(&plan->p) == 1)
    memcpy(dw, sum, (size_t)(channels * cvy_filter_volume(&plan->p)) * sizeof *dw);
  else
    run->call->simd->transpose(dw + tap * across, cvy_filter_volume(&plan->p), sum,
                               plan->columns.bundles.size, across, channels);
}

/* Puts one tile of outputs of a part, from the sums of one bundle. */
static void put_tile(const weights_run *run, const weights_part *part, int64_t tile, int64_t number,
                     const float *sum, float *beside) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  const cvy_simd *simd = run->call->simd;
  int64_t rows = plan->kernel->rows, volume = cvy_filter_volume(&plan->p);
  int64_t pitch = plan->columns.pitch, real = cvy_min(rows, plan->outputs - tile * rows);
  cvy_range some = bundle_of(plan, part, number);
  int64_t channels = cvy_range_length(some), first = part->channels.begin + some.begin;
  sum += number * (plan->floats.sum / plan->columns.bundles.count);
  sum += (tile - part->tiles.begin) * rows * pitch;
  for (int64_t r = 0; r < real && channels > 0; r++, sum += pitch) {
    int64_t k = part->group * plan->outputs + tile * rows + r;
    float *dw = run->call->out[0] + (k * plan->channels + first) * volume;
    float *to = plan->p.accumulate ? beside : dw;
    for (int64_t tap = 0; tap < plan->columns.taps; tap++)
      put_taps(run, sum + tap * plan->tile_parts.size * rows * pitch, channels, tap, to);
    if (plan->p.accumulate) simd->axpy(dw, 1, beside, 1, 1.0f, channels * volume);
  }
}

static float *slot_of(const weights_run *run, int32_t slot) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t sums = plan->slices > 1 ? plan->pieces * plan->floats.sum : 0;
  return run->sums + sums + slot * plan->floats.slot;
}

/* Joins the sums of a tile's slices and puts them. Items are the tiles of all parts. */
static void join_tiles(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const weights_run *run = arg;
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t bundles = plan->columns.bundles.count, size = plan->tile_parts.size;
  int64_t rows = plan->kernel->rows * plan->columns.pitch, bundle = plan->floats.sum / bundles;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    weights_part part = part_at(plan, i / size);
    int64_t tile = part.tiles.begin + i % size;
    float *sum = run->sums + i / size * plan->slices * plan->floats.sum;
    if (tile >= part.tiles.end) continue;
    for (int64_t b = 0; b < bundles; b++) {
      for (int64_t tap = 0; tap < plan->columns.taps; tap++) {
        float *first = sum + b * bundle + (tap * size + i % size) * rows;
        cvy_sum_join(run->call->simd, first, plan->floats.sum, plan->slices, rows);
      }
      put_tile(run, &part, tile, b, sum, slot_of(run, slot));
    }
  }
}

/* ------------------------------------------------------------------------------------ pieces */

static void add_unit(const weights_unit *u, bool add, float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t bundles = plan->columns.bundles.count;
  for (int64_t b = 0; b < bundles; b++)
    add_bundle(u, b, add, sum + b * (plan->floats.sum / bundles));
}

static void sum_piece(const weights_run *run, int64_t number, float *memory) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t images = plan->units.images_at_once, bundles = plan->columns.bundles.count;
  int64_t grains = plan->p.conv.n * plan->units.grains.count;
  cvy_range slice = cvy_share(grains, plan->slices, number % plan->slices);
  weights_unit u = {.run = run, .part = part_at(plan, number / plan->slices)};
  float *sum = plan->slices > 1 ? run->sums + number * plan->floats.sum : memory + plan->floats.dw;
  u.taps = (int64_t *)(memory + plan->floats.dw + (plan->slices > 1 ? 0 : plan->floats.sum));
  u.y = (float *)u.taps + 2 * plan->p.conv.out[2];
  u.x = u.y + images * plan->tile_parts.size * plan->floats.y;
  u.row = u.x + bundles * images * plan->floats.x + plan->columns.pitch;
  for (int64_t n = slice.begin, next; n < slice.end; n = next) {
    next = slice.end;
    u.of = cvy_cpu_implicit_gemm_unit_at(plan, n, &next);
    u.transposed = cvy_cpu_implicit_gemm_transposed_of(&u.of.p);
    load(&u);
    add_unit(&u, n > slice.begin, sum);
  }
  if (plan->slices > 1) return;
  for (int64_t t = u.part.tiles.begin; t < u.part.tiles.end; t++) {
    for (int64_t b = 0; b < bundles; b++) put_tile(run, &u.part, t, b, sum, memory);
  }
}

static void sum_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  for (int64_t i = begin; i < end; i++) sum_piece(arg, i, slot_of(arg, slot));
}

void cvy_cpu_implicit_gemm_weights(const cvy_cpu_call *call) {
  weights_run self = {call, cvy_cpu_implicit_gemm_weights_plan_for(call->problem, call->facts),
                      call->workspace};
  const cvy_cpu_implicit_gemm_weights_plan *plan = &self.plan;
  cvy_parallel_items(call->threads, plan->pieces, sum_pieces, &self);
  if (plan->slices > 1) {
    int64_t parts = plan->pieces / plan->slices;
    cvy_parallel_items(call->threads, parts * plan->tile_parts.size, join_tiles, &self);
  }
}
