/* Running cpu.implicit_gemm's backward_weights. Each slice of the outputs has a sum of its own,
 * made in one order by whichever thread; the sums are added up in order, so bits do not depend on
 * timing. */
#include "cpu/implicit_gemm/backward_weights.h"

#include <string.h>

#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/block.h"
#include "cpu/shared/range.h"

typedef struct weights {
  const cvy_cpu_call *call;
  cvy_cpu_implicit_gemm_weights_plan plan;
  float *sums;
} weights;

/* A unit of one part of the channels of a group, on its way. */
typedef struct unit {
  const weights *run;
  cvy_problem p; /* one block */
  cvy_turned turned;
  int64_t group, first_channel, channels;
  int64_t image, images;
  int64_t skip, place; /* where the block begins in a channel of x and of dy */
  int64_t *taps;       /* offsets of the outputs of a row; in slot memory, as are: */
  float *x, *y, *row;
} unit;

/* ------------------------------------------------------------------------------- turning */

/* Some channels of a unit, in one bundle. */
typedef struct bundle {
  int64_t first, count;
} bundle;

static bundle bundle_of(const unit *u, int64_t number) {
  int64_t size = u->run->plan.bundle, first = number * size;
  return (bundle){first, cvy_max(cvy_min(size, u->channels - first), 0)};
}

/* One row of the input. */
static void turn_row(const unit *u, int64_t channels, const float *from, float *to) {
  const cvy_simd *simd = u->run->call->simd;
  int64_t volume = cvy_in_volume(&u->run->plan.p), size = u->run->plan.bundle;
  int64_t step = u->turned.step[2];
  cvy_range real = cvy_outputs_inside(u->p.in[2], u->turned.extent[2], step, -u->p.pad[2]);
  int64_t count = real.end - real.begin;
  if (count == 0) return;
  from += real.begin * step - u->p.pad[2];
  to += real.begin * size;
  if (step == 1) {
    simd->transpose(to, size, from, volume, channels, count);
    return;
  }
  for (int64_t c = 0; c < channels; c++)
    simd->gather(u->row + c * count, from + c * volume, step, count);
  simd->transpose(to, size, u->row, count, channels, count);
}

static void turn_x(const unit *u, int64_t image, bundle some, float *to) {
  const cvy_problem *p = &u->p, *whole = &u->run->plan.p;
  const int64_t *extent = u->turned.extent, *step = u->turned.step;
  int64_t channel = ((u->image + image) * whole->groups + u->group) * u->run->plan.channels;
  channel += u->first_channel + some.first;
  const float *x = u->run->call->a + channel * cvy_in_volume(whole) + u->skip;
  int64_t floats = extent[2] * u->run->plan.bundle;
  for (int64_t z = 0; z < extent[0]; z++) {
    for (int64_t h = 0; h < extent[1]; h++, to += floats) {
      int64_t iz = z * step[0] - p->pad[0], ih = h * step[1] - p->pad[1];
      bool inside = iz >= 0 && iz < p->in[0] && ih >= 0 && ih < p->in[1];
      if (!inside || p->pad[2] > 0 || extent[2] * step[2] > p->in[2])
        memset(to, 0, (size_t)floats * sizeof *to);
      if (inside) turn_row(u, some.count, x + (iz * whole->in[1] + ih) * whole->in[2], to);
    }
  }
}

/* A block of whole rows lies in one piece, one of columns row by row. */
static void turn_y(const unit *u, int64_t image, int64_t tile, float *to) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t rows = plan->kernel->rows, volume = cvy_out_volume(&plan->p),
          count = cvy_out_volume(&u->p);
  int64_t real = cvy_min(rows, plan->outputs - tile * rows);
  int64_t channel = ((u->image + image) * plan->p.groups + u->group) * plan->outputs + tile * rows;
  int64_t whole = plan->p.out[2], piece = u->p.out[2] == whole ? count : u->p.out[2];
  const float *from = u->run->call->b + channel * volume + u->place;
  if (real < rows) memset(to, 0, (size_t)(count * rows) * sizeof *to);
  for (int64_t i = 0; i < count; i += piece, from += whole)
    u->run->call->simd->transpose(to + i * rows, rows, from, volume, real, piece);
}

static void load(const unit *u) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  for (int64_t i = 0; i < u->images; i++, cvy_heartbeat_tick()) {
    for (int64_t b = 0; b < plan->bundles; b++)
      turn_x(u, i, bundle_of(u, b), u->x + (b * plan->images + i) * plan->x_floats);
    for (int64_t t = 0; t < plan->tiles; t++)
      turn_y(u, i, t, u->y + (t * plan->images + i) * plan->y_floats);
  }
  for (int64_t i = 0; i < u->p.out[2]; i++) u->taps[i] = i * u->turned.stride[2] * plan->bundle;
}

/* ------------------------------------------------------------------------------ multiplying */

/* Where the columns of tap number `tap` begin in the turned x. */
static int64_t tap_place(const unit *u, int64_t tap) {
  const cvy_problem *p = &u->p;
  const int64_t *extent = u->turned.extent, *d = p->dilation;
  int64_t s = 0;
  if (!u->run->plan.folded) s = tap % p->filter[2] * d[2], tap /= p->filter[2];
  int64_t r = tap % p->filter[1] * d[1], t = tap / p->filter[1] * d[0];
  return ((t * extent[1] + r) * extent[2] + s) * u->run->plan.bundle;
}

/* One tile of the sum, over all outputs of the unit. */
static void add_tile(const unit *u, cvy_microkernel_tile tile, const float *x, int64_t number,
                     int64_t vectors) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  const int64_t *extent = u->turned.extent, *out = u->p.out;
  int64_t plane = extent[1] * extent[2] * plan->bundle * u->turned.stride[0];
  for (int64_t i = 0; i < u->images; i++) {
    for (int64_t z = 0; z < out[0]; z++, tile.add = true) {
      tile.x = x + i * plan->x_floats + z * plane;
      tile.w = u->y + (number * plan->images + i) * plan->y_floats +
               z * out[1] * out[2] * plan->kernel->rows;
      plan->kernel->run[vectors - 1](&tile);
    }
  }
}

/* What a tile sums over: rows of outputs or, where rows of x follow each other without gaps as for
 * 1x1, one row of all. */
static cvy_microkernel_tile outputs_of(const unit *u) {
  const cvy_turned *turned = &u->turned;
  const int64_t *out = u->p.out;
  int64_t step = turned->stride[2] * u->run->plan.bundle;
  int64_t row = turned->extent[2] * turned->stride[1] * u->run->plan.bundle;
  if (row == out[2] * step) {
    return (cvy_microkernel_tile){
        .tap = u->taps, .taps = 1, .channels = out[1] * out[2], .x_pitch = step};
  }
  return (cvy_microkernel_tile){.tap = u->taps, .taps = out[2], .channels = out[1], .x_pitch = row};
}

/* All tiles of one bundle. */
static void add_bundle(const unit *u, int64_t number, bool add, float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  int64_t width = plan->kernel->width, rows = plan->kernel->rows, all = plan->pitch / width;
  int64_t strips = (all + CVY_MICROKERNEL_VECTORS - 1) / CVY_MICROKERNEL_VECTORS;
  cvy_microkernel_tile tile = outputs_of(u);
  tile.add = add;
  tile.y_pitch = plan->pitch;
  const float *x = u->x + number * plan->images * plan->x_floats;
  for (int64_t tap = 0; tap < plan->taps; tap++) {
    for (int64_t s = 0; s < strips; s++, cvy_heartbeat_tick()) {
      int64_t first = s * all / strips, vectors = (s + 1) * all / strips - first;
      for (int64_t t = 0; t < plan->tiles; t++) {
        tile.y = sum + (tap * plan->tiles + t) * rows * plan->pitch + first * width;
        add_tile(u, tile, x + tap_place(u, tap) + first * width, t, vectors);
      }
    }
  }
}

static void add_unit(const unit *u, bool add, float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &u->run->plan;
  for (int64_t b = 0; b < plan->bundles; b++)
    add_bundle(u, b, add, sum + b * (plan->sum_floats / plan->bundles));
}

static unit unit_of(const weights *run, int64_t part_of_group, int64_t number, float *memory) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t first = number % plan->blocks * plan->block;
  unit u = {.run = run, .group = part_of_group / plan->parts};
  u.first_channel = part_of_group % plan->parts * plan->part;
  u.channels = cvy_min(plan->part, plan->channels - u.first_channel);
  u.image = number / plan->blocks * plan->images;
  u.images = cvy_min(plan->images, plan->p.n - u.image);
  u.p = cvy_block_of(&plan->p, plan->axis, first, plan->block, &u.skip);
  u.turned = cvy_turned_of(&u.p);
  u.place = first;
  for (int i = plan->axis + 1; i < 3; i++) u.place *= plan->p.out[i];
  u.taps = (int64_t *)memory;
  u.y = memory + 2 * plan->p.out[2];
  u.x = u.y + plan->images * plan->tiles * plan->y_floats;
  u.row = u.x + plan->bundles * plan->images * plan->x_floats + plan->pitch;
  return u;
}

/* Pieces are the slices of all parts of all groups. */
static void sum_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const weights *run = arg;
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t sums = plan->p.groups * plan->parts * plan->slices * plan->sum_floats;
  float *memory = run->sums + sums + slot * plan->slot_floats;
  for (int64_t i = begin; i < end; i++) {
    int64_t slice = i % plan->slices, first = slice * plan->units / plan->slices;
    for (int64_t n = first; n < (slice + 1) * plan->units / plan->slices; n++) {
      unit u = unit_of(run, i / plan->slices, n, memory);
      load(&u);
      add_unit(&u, n > first, run->sums + i * plan->sum_floats);
    }
  }
}

/* ------------------------------------------------------------------------------- adding up */

/* One row of taps (or one tap) of output k of a group, from the sums of some channels to dw. */
static void add_up(const weights *run, const float *sum, int64_t channels, int64_t tap, float *dw) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t volume = cvy_filter_volume(&plan->p), width = plan->folded ? plan->p.filter[2] : 1;
  for (int64_t s = 0; s < width; s++) {
    for (int64_t c = 0; c < channels; c++) {
      float *to = dw + c * volume + tap * width + s;
      float value = plan->p.accumulate ? *to : 0.0f;
      for (int64_t i = 0; i < plan->slices; i++)
        value += sum[i * plan->sum_floats + s * plan->bundle + c];
      *to = value;
    }
  }
}

/* One tile of outputs of a group, from the sums of one bundle: tap by tap, as the sums lie. */
static void add_up_bundle(const weights *run, int64_t group, int64_t tile, int64_t first,
                          const float *sum) {
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t rows = plan->kernel->rows, volume = cvy_filter_volume(&plan->p);
  int64_t real = cvy_min(rows, plan->outputs - tile * rows);
  int64_t part_end = cvy_min(first / plan->part * plan->part + plan->part, plan->channels);
  int64_t channels = cvy_min(plan->bundle, part_end - first);
  for (int64_t tap = 0; tap < plan->taps; tap++) {
    for (int64_t r = 0; r < real; r++) {
      int64_t k = group * plan->outputs + tile * rows + r;
      add_up(run, sum + ((tap * plan->tiles + tile) * rows + r) * plan->pitch, channels, tap,
             run->call->out + (k * plan->channels + first) * volume);
    }
  }
}

static void add_tiles(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const weights *run = arg;
  const cvy_cpu_implicit_gemm_weights_plan *plan = &run->plan;
  int64_t floats = plan->sum_floats / plan->bundles;
  (void)slot;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    int64_t group = i / plan->tiles, tile = i % plan->tiles;
    for (int64_t part = 0; part < plan->parts; part++) {
      const float *sums =
          run->sums + (group * plan->parts + part) * plan->slices * plan->sum_floats;
      int64_t first = part * plan->part, count = cvy_min(plan->part, plan->channels - first);
      for (int64_t b = 0; b * plan->bundle < count; b++)
        add_up_bundle(run, group, tile, first + b * plan->bundle, sums + b * floats);
    }
  }
}

void cvy_cpu_implicit_gemm_weights(const cvy_cpu_call *call) {
  weights self = {call, cvy_cpu_implicit_gemm_weights_plan_for(call->problem, call->facts),
                  call->workspace};
  const cvy_cpu_implicit_gemm_weights_plan *plan = &self.plan;
  cvy_parallel_items(call->threads, plan->p.groups * plan->parts * plan->slices, sum_pieces, &self);
  cvy_parallel_items(call->threads, plan->p.groups * plan->tiles, add_tiles, &self);
}
