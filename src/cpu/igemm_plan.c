/* The cuts of cpu.implicit_gemm. A block's planes and the filters of some tiles share the L2 cache;
 * within that, the microkernel's strip of some channels is used for all of these tiles in turn. */
#include "cpu/igemm.h"

#include "cpu/block.h"
#include "cpu/merge.h"
#include "cpu/span.h"

#define PLANE_FLOATS 98304  /* of a block, all channels */
#define FILTER_FLOATS 65536 /* of the tiles taken together */
#define STRIP_FLOATS 6144   /* of a strip, in the L1 cache beside the filters of a tile */
#define PIECES_PER_THREAD 4 /* from here on the threads end at about the same time */
#define FLOATS_PER_LINE 16
#define INDEX_FLOATS 2 /* an offset is as large as two floats */

static int64_t up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* ------------------------------------------------------------------------ what is laid out */

/* dx is a sum of shifts of dy: place a = (index + pad) / stride of dx reads places a - tap dilation /
 * stride of dy. Counted from the first place and the last tap, that is a forward without stride. */
static cvy_problem map_of_data(const cvy_problem *p) {
  cvy_problem m = *p;
  m.direction = CONVOY_FORWARD;
  m.c = p->k;
  m.k = p->c;
  for (int i = 0; i < 3; i++) {
    int64_t first = p->pad[i] / p->stride[i], last = (p->pad[i] + p->in[i] - 1) / p->stride[i];
    int64_t farthest = (p->filter[i] - 1) * p->dilation[i] / p->stride[i];
    m.in[i] = p->out[i];
    m.out[i] = last - first + 1;
    m.filter[i] = farthest + 1;
    m.stride[i] = m.dilation[i] = 1;
    m.pad[i] = farthest - first;
  }
  return m;
}

bool cvy_igemm_takes(const cvy_problem *problem, cvy_text *reason) {
  cvy_problem p = cvy_merged(problem);
  bool data = p.direction == CONVOY_BACKWARD_DATA;
  cvy_problem map = data ? map_of_data(&p) : p;
  for (int i = 0; i < 3; i++)
    if (map.pad[i] < 0) {
      cvy_text_add(reason, "backward_data with padding %lld beyond the filter's reach",
                   (long long)p.pad[i]);
      return false;
    }
  int64_t channels = p.c / p.groups, outputs = p.k / p.groups;
  if (channels > 1 || outputs > 1) return true;
  cvy_text_add(reason, "one channel in, one out per group make no matrix product");
  return false;
}

/* ------------------------------------------------------------------------------------ cuts */

static cvy_planes_layout first_layout(const cvy_igemm_plan *plan, cvy_problem *sub) {
  int64_t skip;
  *sub = cvy_block_of(&plan->p, plan->axis, 0, plan->block, &skip);
  return cvy_planes_layout_of(sub);
}

static int64_t x_floats(const cvy_igemm_plan *plan) {
  cvy_problem sub;
  return first_layout(plan, &sub).x_floats;
}

/* Rows where there are rows, else places of the one row, in whole strips; several planes in depth
 * stay whole. */
static void cut_blocks(cvy_igemm_plan *plan) {
  const cvy_problem *p = &plan->p;
  bool flat = p->in[0] == 1 && p->out[0] == 1;
  plan->axis = cvy_block_axis(p);
  int64_t extent = p->out[plan->axis];
  plan->block = extent;
  while (flat && plan->block > 1 && x_floats(plan) > PLANE_FLOATS / plan->channels)
    plan->block = (plan->block + 1) / 2;
  plan->blocks = (extent + plan->block - 1) / plan->block;
  plan->block = (extent + plan->blocks - 1) / plan->blocks;
  if (plan->axis == 2) plan->block = up(plan->block, cvy_ukr_columns(plan->ukr));
  plan->blocks = (extent + plan->block - 1) / plan->block;
}

/* Strips by rows can be written where they belong, but their ends may be idle; those through the gaps
 * compute the gaps. */
static void cut_strips(cvy_igemm_plan *plan) {
  cvy_problem sub;
  cvy_planes_layout layout = first_layout(plan, &sub);
  int64_t lanes = plan->ukr->lanes, rows = cvy_times(sub.out[0], sub.out[1]);
  plan->by_rows = cvy_times(rows, up(sub.out[2], lanes)) <= up(layout.y_floats, lanes);
  int64_t touched = plan->p.filter[0] * plan->p.filter[1];
  int64_t chunks =
      up(plan->channels * touched * cvy_ukr_columns(plan->ukr), STRIP_FLOATS) / STRIP_FLOATS;
  plan->at_once = (plan->channels + chunks - 1) / chunks;
}

static void cut_tiles(cvy_igemm_plan *plan) {
  int64_t per_tile = plan->channels * plan->taps * plan->ukr->rows;
  int64_t pieces = plan->p.n * plan->p.groups * plan->blocks;
  plan->parts = 1;
  while (plan->parts < plan->tiles && pieces * plan->parts % plan->slots != 0 &&
         pieces * plan->parts < PIECES_PER_THREAD * plan->slots)
    plan->parts++;
  plan->together = cvy_least(cvy_most(FILTER_FLOATS / per_tile, 1), plan->tiles);
}

/* -------------------------------------------------------------------------------- together */

static int64_t phases_of(const cvy_igemm_plan *plan) {
  const int64_t *s = plan->whole.stride;
  return plan->data ? cvy_times(cvy_times(s[0], s[1]), s[2]) : 1;
}

static void size_memory(cvy_igemm_plan *plan) {
  /* An odd number of lines, so that the channels of a strip do not meet in one set of the cache. */
  int64_t lines = (x_floats(plan) + cvy_ukr_columns(plan->ukr)) / FLOATS_PER_LINE + 1;
  plan->x_pitch = (lines | 1) * FLOATS_PER_LINE;
  plan->filter_floats =
      up(plan->p.groups * plan->tiles * plan->channels * plan->taps * plan->ukr->rows,
         FLOATS_PER_LINE);
  plan->order_floats = up(cvy_times(INDEX_FLOATS, plan->taps + plan->phases + 1), FLOATS_PER_LINE);
  int64_t strip = plan->together * plan->ukr->rows * cvy_ukr_columns(plan->ukr);
  int64_t rest = up(strip + INDEX_FLOATS * plan->taps, FLOATS_PER_LINE);
  plan->slot_floats = cvy_times(plan->channels, plan->x_pitch) + rest;
}

cvy_igemm_plan cvy_igemm_plan_for(const cvy_problem *problem, const cvy_facts *facts) {
  const cvy_lanes *lanes = cvy_lanes_best();
  cvy_igemm_plan plan = {.whole = cvy_merged(problem)};
  plan.data = plan.whole.direction == CONVOY_BACKWARD_DATA;
  plan.p = plan.data ? map_of_data(&plan.whole) : plan.whole;
  plan.channels = plan.p.c / plan.p.groups;
  plan.outputs = plan.p.k / plan.p.groups;
  plan.taps = cvy_filter_volume(&plan.whole);
  plan.phases = phases_of(&plan);
  plan.ukr = plan.outputs <= lanes->narrow.rows ? &lanes->narrow : &lanes->ukr;
  plan.tiles = (plan.outputs + plan.ukr->rows - 1) / plan.ukr->rows;
  plan.slots = facts->info.compute_units;
  cut_blocks(&plan);
  cut_strips(&plan);
  cut_tiles(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_igemm_bytes(const cvy_igemm_plan *plan) {
  int64_t floats = cvy_times(plan->slots, plan->slot_floats) + plan->filter_floats;
  return cvy_times(floats + plan->order_floats, (int64_t)sizeof(float));
}
