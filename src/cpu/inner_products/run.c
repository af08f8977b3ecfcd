/* Running cpu.inner_products. Where the units are sliced each slice has a sum of its own, made in
 * one order by whichever thread; they are joined in order, so bits depend neither on timing nor on
 * how many threads there are. */
#include <string.h>

#include "cpu/inner_products/inner_products.h"
#include "cpu/shared/sums.h"
#include "problem/conv/conv.h"

typedef struct inner_run {
  const cvy_cpu_call *call;
  cvy_cpu_inner_products_plan plan;
  float *sums, *slots;
} inner_run;

/* A unit of one group, on its way. */
typedef struct inner_unit {
  const inner_run *run;
  int64_t group;
  cvy_output_block of;
  cvy_planes_layout layout;
  int64_t x_floats, y_floats; /* how far the block goes in a channel of x and of dy */
  float *memory_x, *memory_y; /* of the slot, unless both are read as they lie, as is: */
  int64_t *columns;           /* where the columns of some channels begin */
} inner_unit;

/* Floats of a channel from the first to the last row that the outputs of a block see. */
static int64_t seen(const cvy_problem *p, int axis) {
  int64_t reach = (p->conv.out[axis] - 1) * p->conv.stride[axis] +
                  (p->conv.filter[axis] - 1) * p->conv.dilation[axis];
  int64_t rows = cvy_max(cvy_min(reach + 1 - p->conv.pad[axis], p->conv.in[axis]), 0);
  for (int i = axis + 1; i < 3; i++) rows *= p->conv.in[i];
  return rows;
}

static void set_unit(inner_unit *u, int64_t number) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  u->of = cvy_output_block_at(&plan->units, &plan->p, number);
  u->layout = cvy_cpu_inner_products_layout(plan, &u->of.p);
  u->x_floats = seen(&u->of.p, plan->units.axis);
  u->y_floats = cvy_out_volume(&u->of.p);
}

/* -------------------------------------------------------------------------------- loading */

/* Where the block begins in one of the group's channels, or outputs, of the first image. */
static const float *x_of(const inner_unit *u, int64_t channel) {
  const cvy_problem *p = &u->run->plan.p;
  int64_t place =
      cvy_conv_place(p, CVY_X, u->of.images.begin, u->group * u->run->plan.channels + channel);
  return u->run->call->in[0] + u->of.in_at + place;
}

static const float *y_of(const inner_unit *u, int64_t output) {
  const cvy_problem *p = &u->run->plan.p;
  int64_t place =
      cvy_conv_place(p, CVY_Y, u->of.images.begin, u->group * u->run->plan.outputs + output);
  return u->run->call->in[1] + u->of.out_at + place;
}

/* Whether loading writes all places of the planes: then none need be set to 0 before. */
static bool fills_planes(const inner_unit *u) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  return plan->rows == CVY_ROWS_DENSE && cvy_range_length(u->of.images) == plan->units.images.size;
}

/* Loads channels one below the other. What is behind a row is 0. */
static void load_x(const inner_unit *u, cvy_range channels) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  int64_t volume = cvy_in_volume(&plan->p), plane = u->layout.plane / plan->units.images.size;
  int64_t used = fills_planes(u) ? plan->row.phases * u->layout.plane : 0;
  const float *x = x_of(u, channels.begin);
  for (int64_t c = 0; c < cvy_range_length(channels); c++, x += volume, cvy_heartbeat_tick()) {
    float *to = u->memory_x + c * plan->row.x_pitch;
    memset(to + used, 0, (size_t)(plan->row.x_pitch - used) * sizeof *to);
    for (int64_t i = 0; i < cvy_range_length(u->of.images); i++)
      cvy_planes_fill_x(&u->layout, u->run->call->simd, x + i * cvy_conv_pitch(&plan->p, CVY_X),
                        to + i * plane);
  }
}

/* Loads outputs in the same way. Rows up to a whole tile are 0. */
static void load_y(const inner_unit *u, cvy_range outputs) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  int64_t volume = cvy_out_volume(&plan->p), plane = u->layout.plane / plan->units.images.size;
  int64_t count = cvy_range_length(outputs), rows = cvy_align_up(count, plan->kernel->rows);
  bool fills = fills_planes(u);
  const float *y = y_of(u, outputs.begin);
  for (int64_t k = 0; k < rows; k++, y += volume, cvy_heartbeat_tick()) {
    float *to = u->memory_y + k * plan->row.y_pitch;
    int64_t used = fills && k < count ? u->layout.plane : 0;
    memset(to + used, 0, (size_t)(plan->row.y_pitch - used) * sizeof *to);
    for (int64_t i = 0; i < cvy_range_length(u->of.images) && k < count; i++)
      cvy_planes_load_y(&u->layout, u->run->call->simd, y + i * cvy_conv_pitch(&plan->p, CVY_Y),
                        to + i * plane);
  }
}

/* Lists where the columns of `count` channels begin. The last is repeated up to a whole tile. */
static void list_columns(const inner_unit *u, int64_t count) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  const int64_t *f = plan->p.conv.filter;
  int64_t *to = u->columns;
  for (int64_t c = 0; c < count; c++) {
    for (int64_t t = 0; t < f[0]; t++) {
      for (int64_t r = 0; r < f[1]; r++) {
        for (int64_t s = 0; s < f[2]; s++)
          *to++ = c * plan->row.x_pitch + cvy_planes_tap(&u->layout, t, r, s);
      }
    }
  }
  for (int64_t i = 0; i < plan->kernel->columns; i++, to++) *to = to[-1];
}

/* ----------------------------------------------------------------------------- multiplying */

static void prefetch_floats(const float *from, int64_t floats) {
  for (int64_t i = 0; i < floats; i += CVY_LINE_FLOATS) __builtin_prefetch(from + i, 0, 2);
}

/* Loading only waits for memory, so what it will read of the next unit is asked for while this one
 * is multiplied, one of `steps` shares at a time. */
static void prefetch_share(const inner_unit *next, cvy_range channels, cvy_range outputs,
                           int64_t step, int64_t steps) {
  int64_t count = cvy_range_length(channels);
  cvy_range share = cvy_share(count + cvy_range_length(outputs), steps, step);
  for (int64_t i = share.begin; i < share.end; i++) {
    if (i < count)
      prefetch_floats(x_of(next, channels.begin + i), next->x_floats);
    else
      prefetch_floats(y_of(next, outputs.begin + i - count), next->y_floats);
  }
}

/* A tile, its rows in blocks where they are long: an element of a vector sums no longer chain. */
static void run_tile(const cvy_cpu_inner_products_plan *plan, cvy_inner_products_tile tile) {
  int64_t left = tile.length;
  for (; left > 0; left -= plan->block, tile.add = true) {
    tile.length = cvy_min(left, plan->block);
    plan->kernel->run(&tile);
    tile.x += plan->block;
    tile.y += plan->block;
  }
}

/* Adds the inner products of some channels and outputs that are in cache. */
static void multiply(const inner_unit *u, const inner_unit *next, cvy_range channels,
                     cvy_range outputs, bool add, float *sum) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  bool lies = plan->rows == CVY_ROWS_AS_THEY_LIE;
  int64_t columns = cvy_range_length(channels) * plan->taps, rows = cvy_range_length(outputs),
          step = 0;
  int64_t wide = plan->kernel->columns, high = plan->kernel->rows;
  int64_t steps = cvy_div_up(columns, wide) * cvy_div_up(rows, high);
  int64_t plane = u->layout.plane / plan->units.images.size;
  const float *y = lies ? y_of(u, outputs.begin) : u->memory_y;
  cvy_inner_products_tile tile = {.y_pitch = plan->row.y_pitch, .add = add};
  tile.x = lies ? x_of(u, channels.begin) : u->memory_x;
  tile.sum_pitch = plan->channels * plan->taps;
  tile.length = (cvy_range_length(u->of.images) - 1) * plane + u->layout.y_floats;
  sum += (u->group * plan->outputs + outputs.begin) * tile.sum_pitch + channels.begin * plan->taps;
  for (int64_t j = 0; j < columns; j += wide, cvy_heartbeat_tick()) {
    for (int64_t k = 0; k < rows; k += high, step++) {
      tile.column = u->columns + j;
      tile.y = y + k * plan->row.y_pitch;
      tile.sum = sum + k * tile.sum_pitch + j;
      tile.rows = cvy_min(high, rows - k);
      tile.columns = cvy_min(wide, columns - j);
      if (next) prefetch_share(next, channels, outputs, step, steps);
      run_tile(plan, tile);
    }
  }
}

/* Adds all inner products of some channels and outputs over the places of a unit. dy is loaded once
 * if it fits as a whole. `next` may be NULL. */
static void add_unit(const inner_unit *u, const inner_unit *next, cvy_range channels,
                     cvy_range outputs, bool add, float *sum) {
  const cvy_cpu_inner_products_plan *plan = &u->run->plan;
  bool lies = plan->rows == CVY_ROWS_AS_THEY_LIE;
  int64_t loaded = -1;
  for (int64_t c = channels.begin; c < channels.end; c += plan->channels_at_once) {
    cvy_range x = {c, cvy_min(c + plan->channels_at_once, channels.end)};
    if (!lies) load_x(u, x);
    list_columns(u, cvy_range_length(x));
    for (int64_t k = outputs.begin; k < outputs.end; k += plan->outputs_at_once) {
      cvy_range y = {k, cvy_min(k + plan->outputs_at_once, outputs.end)};
      if (!lies && k != loaded) load_y(u, y);
      loaded = k;
      multiply(u, next, x, y, add, sum);
    }
  }
}

/* Makes piece `number`: one slice of the units, for a part of the outputs and channels of a
 * group. */
static void sum_piece(const inner_run *run, int64_t number, float *memory) {
  const cvy_cpu_inner_products_plan *plan = &run->plan;
  int64_t slice = number % plan->slices, part = number / plan->slices;
  cvy_range outputs =
      cvy_cut_part(plan->output_parts, plan->outputs, part % plan->output_parts.count);
  part /= plan->output_parts.count;
  cvy_range channels =
      cvy_cut_part(plan->channel_parts, plan->channels, part % plan->channel_parts.count);
  inner_unit u = {.run = run, .group = part / plan->channel_parts.count, .memory_x = memory};
  u.memory_y = u.memory_x + plan->floats.x;
  u.columns = (int64_t *)(u.memory_y + plan->floats.y);
  bool direct = plan->floats.sum == 0;
  float *sum = direct ? run->call->out[0] : run->sums + slice * plan->floats.sum;
  cvy_range units = cvy_share(cvy_output_blocks_count(&plan->units), plan->slices, slice);
  for (int64_t i = units.begin; i < units.end; i++) {
    bool last = i + 1 == units.end, add = i > units.begin || (direct && plan->p.accumulate);
    set_unit(&u, i);
    inner_unit next = u;
    if (!last) set_unit(&next, i + 1);
    add_unit(&u, !last && plan->prefetches ? &next : NULL, channels, outputs, add, sum);
  }
}

static void sum_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const inner_run *run = arg;
  for (int64_t i = begin; i < end; i++)
    sum_piece(run, i, run->slots + slot * run->plan.floats.slot);
}

/* -------------------------------------------------------------------------------- adding up */

static void join_slices(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const inner_run *run = arg;
  const cvy_simd *simd = run->call->simd;
  float *to = run->call->out[0] + begin;
  (void)slot;
  cvy_sum_join(simd, run->sums + begin, run->plan.floats.sum, run->plan.slices, end - begin);
  if (run->plan.p.accumulate)
    simd->axpy(to, 1, run->sums + begin, 1, 1.0f, end - begin);
  else
    memcpy(to, run->sums + begin, (size_t)(end - begin) * sizeof *to);
}

void cvy_cpu_inner_products_run(const cvy_cpu_call *call) {
  inner_run self = {call, cvy_cpu_inner_products_plan_for(call->problem, call->facts),
                    call->workspace, NULL};
  const cvy_cpu_inner_products_plan *plan = &self.plan;
  self.slots = self.sums + plan->slices * plan->floats.sum;
  int64_t parts = plan->channel_parts.count * plan->output_parts.count;
  cvy_parallel_items(call->threads, plan->p.conv.groups * parts * plan->slices, sum_pieces, &self);
  if (plan->floats.sum > 0)
    cvy_parallel_for(call->threads, cvy_conv_count(&plan->p, CVY_W), join_slices, &self);
}
