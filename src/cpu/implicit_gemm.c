/* cpu.implicit_gemm: convolution as a matrix product whose right side is never written down. A block
 * of the input is laid out in padded planes; there each tap is a shift, and the microkernel reads
 * shifted strips of neighbouring places. Stride 1 backward_data is the same on mirrored filters. */
#include <string.h>

#include "cpu/igemm.h"
#include "cpu/span.h"

/* Channels at a time: their rows of one strip stay in the L1 cache for all tiles of outputs. */
#define CHANNELS 32

typedef struct igemm {
  const cvy_cpu_call *call;
  cvy_igemm_plan plan;
  const float *filters;
} igemm;

/* A block of one group of one image, on its way. */
typedef struct block {
  const igemm *run;
  cvy_problem p;
  cvy_planes_layout layout;
  int64_t group, image;
  int64_t place;    /* of its first output within a channel of y */
  int64_t *taps;    /* in slot memory: offsets, */
  float *strip, *x; /* the outputs of some tiles, and the planes */
} block;

/* ------------------------------------------------------------------------------- writing */

/* `count` neighbouring outputs of the channels [first, last) of the group, from `from` on. */
static void put(const block *b, int64_t first, int64_t last, const float *from, int64_t to,
                int64_t count) {
  const cvy_igemm_plan *plan = &b->run->plan;
  const cvy_cpu_call *call = b->run->call;
  int64_t volume = cvy_out_volume(&plan->p), columns = cvy_ukr_columns(plan->ukr);
  int64_t group = b->group * plan->outputs;
  float *y = call->out + (b->image * plan->p.k + group + first) * volume + b->place + to;
  for (int64_t k = first; k < last; k++, y += volume, from += columns) {
    if (plan->p.accumulate)
      call->lanes->axpy(y, 1, from, 1, 1.0f, count);
    else
      memcpy(y, from, (size_t)count * sizeof *y);
    cvy_cpu_epilogue(call, y, group + k, count);
  }
}

/* The outputs among the places of a strip, for tiles [first, last). */
static void put_strip(const block *b, int64_t begin, int64_t first, int64_t last) {
  const cvy_ukr *ukr = b->run->plan.ukr;
  const int64_t *extent = b->layout.extent, *out = b->p.out;
  int64_t end = cvy_least(begin + cvy_ukr_columns(ukr), b->layout.y_floats);
  int64_t outputs = cvy_least(last * ukr->rows, b->run->plan.outputs);
  for (int64_t at = begin, next; at < end; at = next) {
    int64_t row = at / extent[2], column = at % extent[2];
    int64_t z = row / extent[1], h = row % extent[1];
    next = cvy_least((row + 1) * extent[2], end);
    int64_t count = cvy_least(next - at, out[2] - column);
    if (h < out[1] && count > 0)
      put(b, first * ukr->rows, outputs, b->strip + at - begin, (z * out[1] + h) * out[2] + column,
          count);
  }
}

/* ----------------------------------------------------------------------------- computing */

static void make_strip(const block *b, int64_t begin, int64_t first, int64_t last) {
  const cvy_igemm_plan *plan = &b->run->plan;
  const cvy_ukr *ukr = plan->ukr;
  int64_t columns = cvy_ukr_columns(ukr);
  int64_t per_channel = plan->taps * ukr->rows, per_tile = plan->channels * per_channel;
  const float *filters = b->run->filters + b->group * plan->tiles * per_tile;
  cvy_tile tile = {
      .tap = b->taps, .taps = plan->taps, .x_pitch = plan->x_pitch, .y_pitch = columns};
  int64_t vectors = (cvy_least(columns, b->layout.y_floats - begin) + ukr->lanes - 1) / ukr->lanes;
  for (int64_t c = 0; c < plan->channels; c += CHANNELS, tile.add = true) {
    tile.channels = cvy_least(CHANNELS, plan->channels - c);
    tile.x = b->x + c * plan->x_pitch + begin;
    for (int64_t i = first; i < last; i++) {
      tile.w = filters + i * per_tile + c * per_channel;
      tile.y = b->strip + (i - first) * ukr->rows * columns;
      ukr->run[vectors - 1](&tile);
    }
  }
  put_strip(b, begin, first, last);
}

static void load(const block *b, int64_t skip) {
  const cvy_cpu_call *call = b->run->call;
  const cvy_problem *p = &b->run->plan.p;
  int64_t channels = b->run->plan.channels, *tap = b->taps;
  const float *x = call->a + (b->image * p->c + b->group * channels) * cvy_in_volume(p) + skip;
  for (int64_t c = 0; c < channels; c++)
    cvy_planes_load_x(&b->layout, call->lanes, x + c * cvy_in_volume(p),
                      b->x + c * b->run->plan.x_pitch);
  for (int64_t t = 0; t < p->filter[0]; t++)
    for (int64_t r = 0; r < p->filter[1]; r++)
      for (int64_t s = 0; s < p->filter[2]; s++) *tap++ = cvy_planes_tap(&b->layout, t, r, s);
}

/* Piece `piece` of the work: a block of a group of an image, for one part of the tiles. */
static void make_piece(const igemm *run, int64_t piece, float *memory) {
  const cvy_igemm_plan *plan = &run->plan;
  int64_t part = piece % plan->parts, rest = piece / plan->parts;
  int64_t first = rest % plan->blocks * plan->block, image_group = rest / plan->blocks, skip;
  block b = {.run = run, .p = cvy_igemm_block(plan, first, &skip)};
  b.layout = cvy_planes_layout_of(&b.p);
  b.group = image_group % plan->p.groups;
  b.image = image_group / plan->p.groups;
  b.place = plan->axis == 1 ? first * plan->p.out[2] : first;
  b.x = memory;
  b.strip = b.x + plan->channels * plan->x_pitch;
  b.taps = (int64_t *)(b.strip + plan->together * plan->ukr->rows * cvy_ukr_columns(plan->ukr));
  load(&b, skip);
  int64_t end = (part + 1) * plan->tiles / plan->parts;
  for (int64_t i = part * plan->tiles / plan->parts; i < end; i += plan->together)
    for (int64_t at = 0; at < b.layout.y_floats; at += cvy_ukr_columns(plan->ukr), cvy_beat_on())
      make_strip(&b, at, i, cvy_least(i + plan->together, end));
}

static void make_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const igemm *run = arg;
  float *memory = (float *)run->call->workspace + run->plan.filter_floats;
  for (int64_t i = begin; i < end; i++) make_piece(run, i, memory + slot * run->plan.slot_floats);
}

/* ------------------------------------------------------------------------------------ row */

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_igemm_takes(problem, reason)) return false;
  cvy_igemm_plan plan = cvy_igemm_plan_for(problem, facts);
  int64_t bytes = cvy_igemm_bytes(&plan);
  if (bytes <= facts->workspace_limit) return true;
  cvy_text_add(reason, "%lld bytes of workspace for %lld threads, the limit is %lld",
               (long long)bytes, (long long)plan.slots, (long long)facts->workspace_limit);
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  cvy_igemm_plan plan = cvy_igemm_plan_for(problem, facts);
  (void)params;
  return cvy_igemm_bytes(&plan);
}

static void run(const cvy_cpu_call *call) {
  igemm self = {call, cvy_igemm_plan_for(call->problem, call->facts), call->workspace};
  const cvy_igemm_plan *plan = &self.plan;
  cvy_igemm_pack(plan, call, call->workspace);
  cvy_parallel_items(call->threads, plan->p.n * plan->p.groups * plan->blocks * plan->parts,
                     make_pieces, &self);
}

const cvy_cpu_row cvy_cpu_implicit_gemm = {
    {.name = "cpu.implicit_gemm",
     .directions = 1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA,
     .accepts = accepts,
     .workspace = workspace},
    run};
