/* Forward and backward_data of cpu.implicit_gemm: a matrix product whose right side is never written
 * down. A block of the source is laid out in padded planes; there each tap is a shift, and the
 * microkernel reads shifted strips of neighbouring places. */
#include <string.h>

#include "cpu/block.h"
#include "cpu/igemm.h"
#include "cpu/span.h"

typedef struct igemm {
  const cvy_cpu_call *call;
  cvy_igemm_plan plan;
  const float *filters;
  const int64_t *begin, *order; /* of the taps of each phase */
} igemm;

/* A block of one group of one image, on its way. */
typedef struct block {
  const igemm *run;
  cvy_problem p;
  cvy_planes_layout layout;
  int64_t group, image;
  int64_t first;     /* place along the plan's axis */
  int64_t phase;     /* and of that: */
  int64_t offset[3]; /* the result of place a has index a step + offset */
  int64_t step[3], limit[3], volume;
  int64_t *taps;    /* in slot memory: offsets, */
  float *strip, *x; /* the results of some tiles, and the planes */
} block;

/* Neighbouring places of a block, as many as there are lanes in some vectors. */
typedef struct strip {
  int64_t begin, end, vectors; /* end: of those that are results */
  float
      *direct; /* where the results of the group's first output belong, NULL: they are put there */
} strip;

/* Some tiles of outputs: [first, last). */
typedef struct tiles {
  int64_t first, last;
} tiles;

/* ------------------------------------------------------------------------------- writing */

/* `count` neighbouring places of outputs [first, last) of the group, from the strip to y. */
static void put(const block *b, int64_t first, int64_t last, float *from, float *y, int64_t count) {
  const cvy_igemm_plan *plan = &b->run->plan;
  const cvy_cpu_call *call = b->run->call;
  int64_t volume = b->volume, step = b->step[2];
  int64_t group = b->group * plan->outputs, columns = cvy_ukr_columns(plan->ukr);
  for (int64_t k = first; k < last; k++, y += volume, from += columns) {
    cvy_cpu_epilogue(call, from, group + k, count);
    if (plan->p.accumulate)
      call->lanes->axpy(y, step, from, 1, 1.0f, count);
    else if (step == 1)
      memcpy(y, from, (size_t)count * sizeof *y);
    else
      for (int64_t i = 0; i < count; i++) y[i * step] = from[i];
  }
}

/* The index in the group's first output that place (z, h, w) stands for; -1: none. */
static int64_t index_of(const block *b, int64_t z, int64_t h, int64_t w) {
  const int64_t at[3] = {z, h, w};
  int64_t index = 0;
  for (int i = 0; i < 3; i++) {
    int64_t here = at[i] * b->step[i] + b->offset[i];
    if (at[i] >= b->p.out[i] || here < 0 || here >= b->limit[i]) return -1;
    index = index * b->limit[i] + here;
  }
  return index;
}

static float *outputs_of(const block *b) {
  const cvy_igemm_plan *plan = &b->run->plan;
  return b->run->call->out + (b->image * plan->p.k + b->group * plan->outputs) * b->volume;
}

/* The results among the places of a strip, for outputs [first, last). */
static void put_strip(const block *b, const strip *s, int64_t first, int64_t last, float *from) {
  const int64_t *extent = b->layout.extent;
  cvy_span real = cvy_span_of(b->limit[2], b->p.out[2], b->step[2], b->offset[2]);
  for (int64_t at = s->begin, next; at < s->end; at = next) {
    int64_t row = at / extent[2], start = row * extent[2];
    next = cvy_least(start + extent[2], s->end);
    int64_t w = cvy_most(at - start, real.begin), count = cvy_least(next - start, real.end) - w;
    int64_t index = count > 0 ? index_of(b, row / extent[1], row % extent[1], w) : -1;
    if (index >= 0)
      put(b, first, last, from + start + w - s->begin, outputs_of(b) + first * b->volume + index,
          count);
  }
}

/* ----------------------------------------------------------------------------- computing */

/* Tiles of which all rows are outputs may write a strip where it belongs. */
static bool writes(const block *b, const strip *s, int64_t tile) {
  const cvy_igemm_plan *plan = &b->run->plan;
  return s->direct && (tile + 1) * plan->ukr->rows <= plan->outputs;
}

static float *buffer_of(const block *b, int64_t place) {
  const cvy_ukr *ukr = b->run->plan.ukr;
  return b->strip + place * ukr->rows * cvy_ukr_columns(ukr);
}

static void finish_tile(const block *b, const strip *s, int64_t tile, float *buffer) {
  const cvy_igemm_plan *plan = &b->run->plan;
  int64_t rows = plan->ukr->rows, volume = b->volume;
  int64_t first = tile * rows, last = cvy_least(first + rows, plan->outputs);
  if (!writes(b, s, tile)) {
    put_strip(b, s, first, last, buffer);
    return;
  }
  for (int64_t k = first; k < last; k++)
    cvy_cpu_epilogue(b->run->call, s->direct + k * volume, b->group * plan->outputs + k,
                     s->vectors * plan->ukr->lanes);
}

static void make_strip(const block *b, const strip *s, tiles some) {
  const cvy_igemm_plan *plan = &b->run->plan;
  const int64_t *begin = b->run->begin;
  int64_t rows = plan->ukr->rows, taps = begin[b->phase + 1] - begin[b->phase];
  int64_t per_tile = plan->channels * taps * rows;
  int64_t before = begin[b->phase] * plan->p.groups * plan->tiles * plan->channels * rows;
  const float *filters = b->run->filters + before + b->group * plan->tiles * per_tile;
  cvy_tile tile = {.tap = b->taps + begin[b->phase], .taps = taps, .x_pitch = plan->x_pitch};
  for (int64_t c = 0; c < plan->channels; c += plan->at_once) {
    tile.channels = cvy_least(plan->at_once, plan->channels - c);
    tile.x = b->x + c * plan->x_pitch + s->begin;
    for (int64_t i = some.first; i < some.last; i++) {
      bool direct = writes(b, s, i);
      tile.w = filters + i * per_tile + c * taps * rows;
      tile.y = direct ? s->direct + i * rows * b->volume : buffer_of(b, i - some.first);
      tile.y_pitch = direct ? b->volume : cvy_ukr_columns(plan->ukr);
      tile.add = c > 0 || (direct && plan->p.accumulate);
      plan->ukr->run[s->vectors - 1](&tile);
    }
  }
  for (int64_t i = some.first; i < some.last; i++)
    finish_tile(b, s, i, buffer_of(b, i - some.first));
}

/* The places [begin, end) of the planes; direct: where they belong, if they are neighbours there. */
static void make_line(const block *b, int64_t begin, int64_t end, float *direct, tiles some) {
  int64_t lanes = b->run->plan.ukr->lanes;
  int64_t vectors = (end - begin + lanes - 1) / lanes;
  int64_t strips = (vectors + CVY_UKR_VECTORS - 1) / CVY_UKR_VECTORS;
  for (int64_t i = 0; i < strips; i++, cvy_beat_on()) {
    int64_t from = i * vectors / strips, to = (i + 1) * vectors / strips;
    bool whole = begin + to * lanes <= end;
    strip s = {.begin = begin + from * lanes, .vectors = to - from};
    s.end = cvy_least(begin + to * lanes, end);
    s.direct = direct && whole ? direct + from * lanes : NULL;
    make_strip(b, &s, some);
  }
}

static void make_rows(const block *b, tiles some) {
  const int64_t *extent = b->layout.extent;
  for (int64_t z = 0; z < b->p.out[0]; z++)
    for (int64_t h = 0; h < b->p.out[1]; h++) {
      int64_t begin = (z * extent[1] + h) * extent[2];
      int64_t index = b->run->plan.data && b->run->plan.phases > 1 ? -1 : index_of(b, z, h, 0);
      make_line(b, begin, begin + b->p.out[2], index < 0 ? NULL : outputs_of(b) + index, some);
    }
}

static void make_phase(block *b, int64_t phase, tiles some) {
  const cvy_igemm_plan *plan = &b->run->plan;
  const cvy_problem *whole = &plan->whole;
  int64_t remainder[3];
  b->phase = phase;
  cvy_igemm_phase(plan, phase, remainder);
  for (int i = 0; i < 3; i++) {
    int64_t stride = whole->stride[i], start = whole->pad[i] / stride;
    b->offset[i] = plan->data ? start * stride + remainder[i] - whole->pad[i] : 0;
    if (i == plan->axis) b->offset[i] += b->first * b->step[i];
  }
  for (int64_t i = some.first; i < some.last; i += plan->together) {
    tiles now = {i, cvy_least(i + plan->together, some.last)};
    if (plan->by_rows)
      make_rows(b, now);
    else
      make_line(b, 0, b->layout.y_floats, NULL, now);
  }
}

static void load(const block *b, int64_t skip) {
  const cvy_cpu_call *call = b->run->call;
  const cvy_igemm_plan *plan = &b->run->plan;
  int64_t volume = cvy_in_volume(&plan->p);
  const float *x = call->a + (b->image * plan->p.c + b->group * plan->channels) * volume + skip;
  for (int64_t c = 0; c < plan->channels; c++)
    cvy_planes_load_x(&b->layout, call->lanes, x + c * volume, b->x + c * plan->x_pitch);
  for (int64_t i = 0; i < plan->taps; i++)
    b->taps[i] = cvy_igemm_tap(plan, &b->layout, b->run->order[i]);
}

/* Piece `piece` of the work: a block of a group of an image, for one part of the tiles. */
static void make_piece(const igemm *run, int64_t piece, float *memory) {
  const cvy_igemm_plan *plan = &run->plan;
  int64_t part = piece % plan->parts, rest = piece / plan->parts;
  int64_t image_group = rest / plan->blocks, skip;
  block b = {.run = run, .first = rest % plan->blocks * plan->block};
  b.p = cvy_block_of(&plan->p, plan->axis, b.first, plan->block, &skip);
  b.layout = cvy_planes_layout_of(&b.p);
  b.group = image_group % plan->p.groups;
  b.image = image_group / plan->p.groups;
  for (int i = 0; i < 3; i++) {
    b.step[i] = plan->data ? plan->whole.stride[i] : 1;
    b.limit[i] = plan->data ? plan->whole.in[i] : plan->whole.out[i];
  }
  b.volume = b.limit[0] * b.limit[1] * b.limit[2];
  b.x = memory;
  b.strip = b.x + plan->channels * plan->x_pitch;
  b.taps = (int64_t *)(b.strip + plan->together * plan->ukr->rows * cvy_ukr_columns(plan->ukr));
  load(&b, skip);
  tiles some = {part * plan->tiles / plan->parts, (part + 1) * plan->tiles / plan->parts};
  for (int64_t phase = 0; phase < plan->phases; phase++) make_phase(&b, phase, some);
}

static void make_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const igemm *run = arg;
  float *memory = (float *)run->call->workspace + run->plan.filter_floats + run->plan.order_floats;
  for (int64_t i = begin; i < end; i++) make_piece(run, i, memory + slot * run->plan.slot_floats);
}

void cvy_igemm_maps(const cvy_cpu_call *call) {
  igemm self = {.call = call, .plan = cvy_igemm_plan_for(call->problem, call->facts)};
  const cvy_igemm_plan *plan = &self.plan;
  float *filters = call->workspace;
  int64_t *begin = (int64_t *)(filters + plan->filter_floats), *order = begin + plan->phases + 1;
  cvy_igemm_order(plan, begin, order);
  self.filters = filters, self.begin = begin, self.order = order;
  cvy_igemm_pack(plan, call, begin, order, filters);
  cvy_parallel_items(call->threads, plan->p.n * plan->p.groups * plan->blocks * plan->parts,
                     make_pieces, &self);
}
