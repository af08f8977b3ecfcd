/* Running cpu.implicit_gemm's backward_weights. Each slice of the units has a sum of its own, made
 * in one order by whichever thread, and the sums are added up in order, so bits do not depend on
 * timing. */
#include "cpu/implicit_gemm/backward_weights.h"
#include "problem/conv/conv.h"

#include <string.h>

typedef struct weights_run {
  const cvy_cpu_call *call;
  cvy_cpu_implicit_gemm_weights_plan plan;
  float *sums;
} weights_run;

/* A unit of one part of the channels of a group, on its way. */
typedef struct weights_unit {
  const weights_run *run;
  cvy_output_block of;
  cvy_cpu_implicit_gemm_transposed transposed;
  int64_t group;
  cvy_range channels;
  int64_t *taps; /* offsets of the outputs of a row; in slot memory, as are: */
  float *x, *y, *row;
} weights_unit;

/* -------------------------------------------------------------------------------- transposing */

/* The channels of bundle `number` of a unit's part. */
static cvy_range bundle_of(const weights_unit *u, int64_t number) {
  int64_t count = cvy_range_length(u->channels);
  return cvy_cut_part(u->run->plan.columns.bundles, count, number);
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
  int64_t channel = u->group * u->run->plan.channels + u->channels.begin + some.begin;
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

/* A block of whole rows lies in one piece, one of columns row by row. */
static void transpose_y(const weights_unit *u, int64_t image, int64_t tile, float *to) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t rows = plan->kernel->rows, volume = cvy_out_volume(&plan->p);
  int64_t count = cvy_out_volume(&u->of.p);
  int64_t real = cvy_min(rows, plan->outputs - tile * rows);
  int64_t channel = u->group * plan->outputs + tile * rows;
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
  int64_t first = u->of.images.begin, images = plan->units.images.size;
  for (int64_t i = first; i < u->of.images.end; i++, cvy_heartbeat_tick()) {
    for (int64_t b = 0; b < plan->columns.bundles.count; b++)
      transpose_x(u, i, bundle_of(u, b), u->x + (b * images + i - first) * plan->floats.x);

    for (int64_t t = 0; t < plan->tiles; t++)
      transpose_y(u, i, t, u->y + (t * images + i - first) * plan->floats.y);
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
  if (!u->run->plan.columns.folded) s = tap % p->conv.filter[2] * d[2], tap /= p->conv.filter[2];
  int64_t r = tap % p->conv.filter[1] * d[1], t = tap / p->conv.filter[1] * d[0];
  return ((t * extent[1] + r) * extent[2] + s) * u->run->plan.columns.bundles.size;
}

/* Adds all outputs of the unit to one tile of the sum. */
static void add_tile(const weights_unit *u, cvy_microkernel_tile tile, const float *x,
                     int64_t number, int64_t vectors) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  const int64_t *extent = u->transposed.extent, *out = u->of.p.conv.out;
  int64_t size = plan->columns.bundles.size;
  int64_t plane = extent[1] * extent[2] * size * u->transposed.stride[0];
  const float *y = u->y + number * plan->units.images.size * plan->floats.y;
  for (int64_t i = 0; i < cvy_range_length(u->of.images); i++) {
    for (int64_t z = 0; z < out[0]; z++, tile.add = true) {
      tile.x = x + i * plan->floats.x + z * plane;
      tile.w = y + i * plan->floats.y + z * out[1] * out[2] * plan->kernel->rows;
      plan->kernel->run[vectors - 1](&tile);
    }
  }
}

/* What a tile sums over: rows of outputs or, where rows of x follow each other without gaps as for
 * 1x1, one row of all. */
static cvy_microkernel_tile outputs_of(const weights_unit *u) {
  const cvy_cpu_implicit_gemm_transposed *t = &u->transposed;
  const int64_t *out = u->of.p.conv.out;
  int64_t step = t->stride[2] * u->run->plan.columns.bundles.size;
  int64_t row = t->extent[2] * t->stride[1] * u->run->plan.columns.bundles.size;
  if (row == out[2] * step) {
    return (cvy_microkernel_tile){
        .tap = u->taps, .taps = 1, .channels = out[1] * out[2], .x_pitch = step};
  }
  return (cvy_microkernel_tile){.tap = u->taps, .taps = out[2], .channels = out[1], .x_pitch = row};
}

/* Adds all tiles of one bundle. */
static void add_bundle(const weights_unit *u, int64_t number, bool add, float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t width = plan->kernel->width, rows = plan->kernel->rows, pitch = plan->columns.pitch;
  int64_t all = pitch / width, strips = cvy_div_up(all, CVY_MICROKERNEL_VECTORS);
  cvy_microkernel_tile tile = outputs_of(u);
  tile.add = add;
  tile.y_pitch = pitch;
  const float *x = u->x + number * plan->units.images.size * plan->floats.x;
  for (int64_t tap = 0; tap < plan->columns.taps; tap++) {
    for (int64_t s = 0; s < strips; s++, cvy_heartbeat_tick()) {
      cvy_range vectors = cvy_share(all, strips, s);
      for (int64_t t = 0; t < plan->tiles; t++) {
        tile.y = sum + (tap * plan->tiles + t) * rows * pitch + vectors.begin * width;
        add_tile(u, tile, x + tap_place(u, tap) + vectors.begin * width, t,
                 cvy_range_length(vectors));
      }
    }
  }
}

static void add_unit(const weights_unit *u, bool add, float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t bundles = plan->columns.bundles.count;
  for (int64_t b = 0; b < bundles; b++)
    add_bundle(u, b, add, sum + b * (plan->floats.sum / bundles));
}

static weights_unit unit_of(const weights_run *run, int64_t part_of_group, int64_t number,
                            float *memory) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  cvy_cut parts = plan->columns.parts;
  int64_t images = plan->units.images.size, bundles = plan->columns.bundles.count;
  weights_unit u = {.run = run, .group = part_of_group / parts.count};
  u.channels = cvy_cut_part(parts, plan->channels, part_of_group % parts.count);
  u.of = cvy_output_block_at(&plan->units, &plan->p, number);
  u.transposed = cvy_cpu_implicit_gemm_transposed_of(&u.of.p);
  u.taps = (int64_t *)memory;
  u.y = memory + 2 * plan->p.conv.out[2];
  u.x = u.y + images * plan->tiles * plan->floats.y;
  u.row = u.x + bundles * images * plan->floats.x + plan->columns.pitch;
  return u;
}

/* Pieces are the slices of all parts of all groups. */
static void sum_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const weights_run *run = arg;
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t slices = plan->p.conv.groups * plan->columns.parts.count * plan->slices;
  int64_t units = cvy_output_blocks_count(&plan->units);
  float *memory = run->sums + slices * plan->floats.sum + slot * plan->floats.slot;
  for (int64_t i = begin; i < end; i++) {
    cvy_range slice = cvy_share(units, plan->slices, i % plan->slices);
    for (int64_t n = slice.begin; n < slice.end; n++) {
      weights_unit u = unit_of(run, i / plan->slices, n, memory);
      load(&u);
      add_unit(&u, n > slice.begin, run->sums + i * plan->floats.sum);
    }
  }
}

/* ------------------------------------------------------------------------------- adding up */

/* Puts one row of taps, or one tap, of an output's filters, from the sums of some channels to
 * dw. */
static void add_up(const weights_run *run, const float *sum, int64_t channels, int64_t tap,
                   float *dw) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t volume = cvy_filter_volume(&plan->p);
  int64_t across = plan->columns.folded ? plan->p.conv.filter[2] : 1;
  for (int64_t s = 0; s < across; s++) {
    for (int64_t c = 0; c < channels; c++) {
      float *to = dw + c * volume + tap * across + s;
      float value = plan->p.accumulate ? *to : 0.0f;
      for (int64_t i = 0; i < plan->slices; i++)
        value += sum[i * plan->floats.sum + s * plan->columns.bundles.size + c];
      *to = value;
    }
  }
}

/* Puts one tile of outputs of a group, from the sums of one bundle: tap by tap, as the sums lie. */
static void add_up_bundle(const weights_run *run, int64_t group, int64_t tile, cvy_range channels,
                          const float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t rows = plan->kernel->rows, volume = cvy_filter_volume(&plan->p);
  int64_t real = cvy_min(rows, plan->outputs - tile * rows);
  for (int64_t tap = 0; tap < plan->columns.taps; tap++) {
    for (int64_t r = 0; r < real; r++) {
      int64_t k = group * plan->outputs + tile * rows + r;
      const float *from = sum + ((tap * plan->tiles + tile) * rows + r) * plan->columns.pitch;
      add_up(run, from, cvy_range_length(channels), tap,
             run->call->out[0] + (k * plan->channels + channels.begin) * volume);
    }
  }
}

static void add_tiles(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const weights_run *run = arg;
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  cvy_cut parts = plan->columns.parts, bundles = plan->columns.bundles;
  (void)slot;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    int64_t group = i / plan->tiles, tile = i % plan->tiles;
    for (int64_t p = 0; p < parts.count; p++) {
      const float *sums = run->sums + (group * parts.count + p) * plan->slices * plan->floats.sum;
      cvy_range part = cvy_cut_part(parts, plan->channels, p);
      for (int64_t b = 0; b * bundles.size < cvy_range_length(part); b++) {
        cvy_range some = cvy_cut_part(bundles, cvy_range_length(part), b);
        cvy_range channels = {part.begin + some.begin, part.begin + some.end};
        add_up_bundle(run, group, tile, channels, sums + b * (plan->floats.sum / bundles.count));
      }
    }
  }
}

void cvy_cpu_implicit_gemm_weights(const cvy_cpu_call *call) {
  weights_run self = {call, cvy_cpu_implicit_gemm_weights_plan_for(call->problem, call->facts),
                      call->workspace};
  const cvy_cpu_implicit_gemm_weights_plan *plan = &self.plan;
  int64_t slices = plan->p.conv.groups * plan->columns.parts.count * plan->slices;
  cvy_parallel_items(call->threads, slices, sum_pieces, &self);
  cvy_parallel_items(call->threads, plan->p.conv.groups * plan->tiles, add_tiles, &self);
}
