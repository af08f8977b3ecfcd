/* Running cpu.inner_products. Where the units are sliced each slice has a sum of its own, made in
 * one order by whichever thread; they are added up in order, so bits do not depend on timing. */
#include <string.h>

#include "cpu/inner_products/inner_products.h"
#include "cpu/shared/block.h"
#include "cpu/shared/range.h"

typedef struct inner_run {
  const cvy_cpu_call *call;
  cvy_cpu_inner_products_plan plan;
  float *sums, *slots;
} inner_run;

/* Some neighbours: [first, end). */
typedef struct range {
  int64_t first, end;
} range;

/* A unit for some channels and outputs of a group, on its way. */
typedef struct unit {
  const inner_run *run;
  cvy_problem p; /* one block */
  cvy_planes_layout layout;
  int64_t group, image, images;
  int64_t x_skip, y_skip;     /* where the block begins in a channel of x and of dy, */
  int64_t x_floats, y_floats; /* and how far it goes in one image */
  float *memory_x, *memory_y; /* of the slot, unless both are read as they lie, as is: */
  int64_t *columns;           /* where the columns of some channels begin */
} unit;

static range part_of(int64_t whole, int64_t part, int64_t number) {
  return (range){number * part, cvy_min((number + 1) * part, whole)};
}

/* Floats of a channel from the first to the last row that the outputs of a block see. */
static int64_t seen(const cvy_problem *p, int axis) {
  int64_t reach = (p->out[axis] - 1) * p->stride[axis] + (p->filter[axis] - 1) * p->dilation[axis];
  int64_t rows = cvy_max(cvy_min(reach + 1 - p->pad[axis], p->in[axis]), 0);
  for (int i = axis + 1; i < 3; i++) rows *= p->in[i];
  return rows;
}

static void set_unit(unit *u, int64_t number) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  int64_t first = number % plan->blocks * plan->block;
  u->image = number / plan->blocks * plan->images;
  u->images = cvy_min(plan->images, plan->p.n - u->image);
  u->p = cvy_block_of(&plan->p, plan->axis, first, plan->block, &u->x_skip);
  u->layout = cvy_cpu_inner_products_layout(plan, &u->p);
  u->x_floats = seen(&u->p, plan->axis);
  u->y_floats = cvy_out_volume(&u->p);
  u->y_skip = first * (cvy_out_volume(&plan->p) / plan->p.out[plan->axis]);
}

/* -------------------------------------------------------------------------------- loading */

/* The first of the group's channels and outputs, first image. */
static const float *x_of(const unit *u, int64_t channel) {
  const cvy_problem *p = &u->run->plan.p;
  int64_t before = (u->image * p->groups + u->group) * u->run->plan.channels + channel;
  return u->run->call->a + u->x_skip + before * cvy_in_volume(p);
}

static const float *y_of(const unit *u, int64_t output) {
  const cvy_problem *p = &u->run->plan.p;
  int64_t before = (u->image * p->groups + u->group) * u->run->plan.outputs + output;
  return u->run->call->b + u->y_skip + before * cvy_out_volume(p);
}

/* Channels one below the other; what is behind a row is 0. */
static void load_x(const unit *u, range channels) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  int64_t volume = cvy_in_volume(&plan->p), plane = u->layout.plane / plan->images;
  int64_t count = channels.end - channels.first;
  bool dense = !plan->gaps && u->images == plan->images;
  int64_t used = dense ? plan->phases * u->layout.plane : 0;
  const float *x = x_of(u, channels.first);
  for (int64_t c = 0; c < count; c++, x += volume, cvy_heartbeat_tick()) {
    float *to = u->memory_x + c * plan->x_pitch;
    memset(to + used, 0, (size_t)(plan->x_pitch - used) * sizeof *to);
    for (int64_t i = 0; i < u->images; i++)
      cvy_planes_fill_x(&u->layout, u->run->call->simd, x + i * plan->p.c * volume, to + i * plane);
  }
}

/* The same of outputs; rows up to a whole tile are 0. */
static void load_y(const unit *u, range outputs) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  int64_t volume = cvy_out_volume(&plan->p), plane = u->layout.plane / plan->images;
  int64_t count = outputs.end - outputs.first, rows = plan->tile->rows;
  bool dense = !plan->gaps && u->images == plan->images;
  const float *y = y_of(u, outputs.first);
  for (int64_t k = 0; k < (count + rows - 1) / rows * rows;
       k++, y += volume, cvy_heartbeat_tick()) {
    float *to = u->memory_y + k * plan->y_pitch;
    int64_t used = dense && k < count ? u->layout.plane : 0;
    memset(to + used, 0, (size_t)(plan->y_pitch - used) * sizeof *to);
    for (int64_t i = 0; i < u->images && k < count; i++)
      cvy_planes_load_y(&u->layout, u->run->call->simd, y + i * plan->p.k * volume, to + i * plane);
  }
}

/* Where the columns of `count` channels begin; the last is repeated up to a whole tile. */
static void list_columns(const unit *u, int64_t count) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  const int64_t *f = plan->p.filter;
  int64_t *to = u->columns;
  for (int64_t c = 0; c < count; c++) {
    for (int64_t t = 0; t < f[0]; t++) {
      for (int64_t r = 0; r < f[1]; r++) {
        for (int64_t s = 0; s < f[2]; s++)
          *to++ = c * plan->x_pitch + cvy_planes_tap(&u->layout, t, r, s);
      }
    }
  }
  for (int64_t i = 0; i < plan->tile->columns; i++, to++) *to = to[-1];
}

/* ----------------------------------------------------------------------------- multiplying */

static void prefetch_floats(const float *from, int64_t floats) {
  for (int64_t i = 0; i < floats; i += CVY_LINE_FLOATS) __builtin_prefetch(from + i, 0, 2);
}

/* Step `step` of `steps`: loading only waits for memory, so what it will read of the next unit is
 * asked for while this one is multiplied. */
static void prefetch_share(const unit *next, range channels, range outputs, int64_t step,
                           int64_t steps) {
  int64_t c = channels.end - channels.first, all = c + outputs.end - outputs.first;
  for (int64_t i = step * all / steps; i < (step + 1) * all / steps; i++) {
    if (i < c)
      prefetch_floats(x_of(next, channels.first + i), next->x_floats);
    else
      prefetch_floats(y_of(next, outputs.first + i - c), next->y_floats);
  }
}

static void multiply(const unit *u, const unit *next, range channels, range outputs, bool add,
                     float *sum) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  int64_t columns = (channels.end - channels.first) * plan->taps, step = 0;
  int64_t rows = outputs.end - outputs.first, wide = plan->tile->columns, high = plan->tile->rows;
  int64_t steps = (columns + wide - 1) / wide * ((rows + high - 1) / high);
  const float *y = plan->flat ? y_of(u, outputs.first) : u->memory_y;
  cvy_inner_products_tile tile = {.y_pitch = plan->y_pitch, .add = add};
  tile.x = plan->flat ? x_of(u, channels.first) : u->memory_x;
  tile.sum_pitch = plan->channels * plan->taps;
  tile.length = (u->images - 1) * (u->layout.plane / plan->images) + u->layout.y_floats;
  sum += (u->group * plan->outputs + outputs.first) * tile.sum_pitch + channels.first * plan->taps;
  for (int64_t j = 0; j < columns; j += wide, cvy_heartbeat_tick()) {
    for (int64_t k = 0; k < rows; k += high, step++) {
      tile.column = u->columns + j;
      tile.y = y + k * plan->y_pitch;
      tile.sum = sum + k * tile.sum_pitch + j;
      tile.rows = cvy_min(high, rows - k);
      tile.columns = cvy_min(wide, columns - j);
      if (next) prefetch_share(next, channels, outputs, step, steps);
      plan->tile->run(&tile);
    }
  }
}

/* All inner products of some channels and outputs over the places of a unit. dy is loaded once if
 * it fits as a whole. `next` may be NULL. */
static void add_unit(const unit *u, const unit *next, range channels, range outputs, bool add,
                     float *sum) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  int64_t loaded = -1;
  for (int64_t c = channels.first; c < channels.end; c += plan->x_some) {
    range x = {c, cvy_min(c + plan->x_some, channels.end)};
    if (!plan->flat) load_x(u, x);
    list_columns(u, x.end - x.first);
    for (int64_t k = outputs.first; k < outputs.end; k += plan->y_some) {
      range y = {k, cvy_min(k + plan->y_some, outputs.end)};
      if (!plan->flat && k != loaded) load_y(u, y);
      loaded = k;
      multiply(u, next, x, y, add, sum);
    }
  }
}

/* Piece `number`: one slice of the units, for a part of the outputs and channels of a group. */
static void sum_piece(const inner_run *run, int64_t number, float *memory) {
  const cvy_cpu_inner_products_plan *plan = &run->plan;
  int64_t slice = number % plan->slices, part = number / plan->slices;
  range outputs = part_of(plan->outputs, plan->output_part, part % plan->output_parts);
  part /= plan->output_parts;
  range channels = part_of(plan->channels, plan->channel_part, part % plan->channel_parts);
  unit u = {.run = run, .group = part / plan->channel_parts, .memory_x = memory};
  u.memory_y = u.memory_x + plan->x_floats;
  u.columns = (int64_t *)(u.memory_y + plan->y_floats);
  bool direct = plan->sum_floats == 0;
  float *sum = direct ? run->call->out : run->sums + slice * plan->sum_floats;
  int64_t begin = slice * plan->units / plan->slices,
          end = (slice + 1) * plan->units / plan->slices;
  for (int64_t i = begin; i < end; i++) {
    set_unit(&u, i);
    unit next = u;
    if (i + 1 < end) set_unit(&next, i + 1);
    add_unit(&u, i + 1 < end && plan->prefetches ? &next : NULL, channels, outputs,
             i > begin || (direct && plan->p.accumulate), sum);
  }
}

static void sum_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const inner_run *run = arg;
  for (int64_t i = begin; i < end; i++)
    sum_piece(run, i, run->slots + slot * run->plan.slot_floats);
}

/* -------------------------------------------------------------------------------- adding up */

static void add_slices(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const inner_run *run = arg;
  const cvy_simd *simd = run->call->simd;
  float *to = run->call->out + begin;
  int64_t first = run->plan.p.accumulate ? 0 : 1;
  (void)slot;
  if (first > 0) memcpy(to, run->sums + begin, (size_t)(end - begin) * sizeof *to);
  for (int64_t i = first; i < run->plan.slices; i++)
    simd->axpy(to, 1, run->sums + i * run->plan.sum_floats + begin, 1, 1.0f, end - begin);
}

void cvy_cpu_inner_products_run(const cvy_cpu_call *call) {
  inner_run self = {call, cvy_cpu_inner_products_plan_for(call->problem, call->facts),
                    call->workspace, NULL};
  const cvy_cpu_inner_products_plan *plan = &self.plan;
  self.slots = self.sums + plan->slices * plan->sum_floats;
  int64_t pieces = plan->p.groups * plan->channel_parts * plan->output_parts * plan->slices;
  cvy_parallel_items(call->threads, pieces, sum_pieces, &self);
  if (plan->sum_floats > 0)
    cvy_parallel_for(call->threads, cvy_problem_count(&plan->p, CVY_W), add_slices, &self);
}
