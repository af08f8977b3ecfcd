/* The cuts of cpu.implicit_gemm. A block's planes and the filters of some tiles share the L2 cache;
 * within that, the microkernel's strip of all channels is used for all of these tiles in turn. */
#include "cpu/igemm.h"
#include "cpu/merge.h"
#include "cpu/span.h"

#define PLANE_FLOATS 131072 /* of a block, all channels: half a MiB */
#define FILTER_FLOATS 98304 /* of the tiles taken together */
#define PIECES_PER_THREAD 4 /* from here on the threads end at about the same time */
#define FLOATS_PER_LINE 16
#define TAP_FLOATS 2 /* an offset is as large as two floats */
/* With fewer products per output laying out costs more than it gains; with fewer outputs backward_data
 * does better as one product for all taps. Measured. */
#define LEAST_PRODUCTS 36
#define LEAST_OUTPUTS 2
#define LEAST_MIRRORED 8

static int64_t up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* dx is the convolution of dy with the filters turned round; true for stride 1. */
static cvy_problem mirror(const cvy_problem *p) {
  cvy_problem m = *p;
  m.direction = CONVOY_FORWARD;
  m.c = p->k;
  m.k = p->c;
  for (int i = 0; i < 3; i++) {
    m.in[i] = p->out[i];
    m.out[i] = p->in[i];
    m.pad[i] = (p->filter[i] - 1) * p->dilation[i] - p->pad[i];
  }
  return m;
}

/* Only stride 1 has a mirror image, and only if its padding is not negative. */
static bool has_mirror(const cvy_problem *p, cvy_text *reason) {
  for (int i = 0; i < 3; i++) {
    int64_t reach;
    bool far = __builtin_mul_overflow(p->filter[i] - 1, p->dilation[i], &reach);
    if (p->stride[i] == 1 && !far && p->pad[i] <= reach) continue;
    cvy_text_add(reason,
                 "backward_data with stride %lld and padding %lld, it is for 1 and at most %lld",
                 (long long)p->stride[i], (long long)p->pad[i], (long long)reach);
    return false;
  }
  return true;
}

bool cvy_igemm_takes(const cvy_problem *problem, cvy_text *reason) {
  cvy_problem p = cvy_merged(problem);
  bool mirrored = p.direction == CONVOY_BACKWARD_DATA;
  int64_t taps = cvy_filter_volume(&p), least = mirrored ? LEAST_MIRRORED : LEAST_OUTPUTS;
  if (taps == 1) {
    cvy_text_add(reason, "filters of 1 tap are a plain matrix product");
    return false;
  }
  if (mirrored && !has_mirror(&p, reason)) return false;
  if (mirrored) p = mirror(&p);
  int64_t products = p.c / p.groups * taps, outputs = p.k / p.groups;
  if (products >= LEAST_PRODUCTS && outputs >= least) return true;
  cvy_text_add(reason, "%lld outputs of %lld products per group, it is for at least %lld of %d",
               (long long)outputs, (long long)products, (long long)least, LEAST_PRODUCTS);
  return false;
}

cvy_problem cvy_igemm_block(const cvy_igemm_plan *plan, int64_t first, int64_t *skip) {
  cvy_problem sub = plan->p;
  int axis = plan->axis;
  int64_t start = first * sub.stride[axis] - sub.pad[axis];
  int64_t skipped = cvy_least(cvy_most(start, 0), sub.in[axis]);
  sub.in[axis] -= skipped;
  sub.pad[axis] = cvy_most(-start, 0);
  sub.out[axis] = cvy_least(plan->block, sub.out[axis] - first);
  *skip = axis == 1 ? skipped * sub.in[2] : skipped;
  return sub;
}

static int64_t x_floats(const cvy_igemm_plan *plan) {
  int64_t skip;
  cvy_problem sub = cvy_igemm_block(plan, 0, &skip);
  return cvy_planes_layout_of(&sub).x_floats;
}

/* Rows where there are rows, else places of the one row; several planes in depth stay whole. */
static void cut_blocks(cvy_igemm_plan *plan) {
  const cvy_problem *p = &plan->p;
  bool flat = p->in[0] == 1 && p->out[0] == 1;
  plan->axis = p->in[1] == 1 && p->out[1] == 1 ? 2 : 1;
  int64_t extent = p->out[plan->axis];
  plan->block = extent;
  while (flat && plan->block > 1 && x_floats(plan) > PLANE_FLOATS / plan->channels)
    plan->block = (plan->block + 1) / 2;
  plan->blocks = (extent + plan->block - 1) / plan->block;
  plan->block = (extent + plan->blocks - 1) / plan->blocks;
  plan->blocks = (extent + plan->block - 1) / plan->block;
}

static void cut_tiles(cvy_igemm_plan *plan) {
  int64_t per_tile = plan->channels * plan->taps * plan->ukr->rows;
  int64_t pieces = plan->p.n * plan->p.groups * plan->blocks;
  plan->parts = 1;
  while (plan->parts < plan->tiles && pieces * plan->parts % plan->slots != 0 &&
         pieces * plan->parts < PIECES_PER_THREAD * plan->slots)
    plan->parts++;
  plan->together = cvy_most(FILTER_FLOATS / per_tile, 1);
}

cvy_igemm_plan cvy_igemm_plan_for(const cvy_problem *problem, const cvy_facts *facts) {
  cvy_igemm_plan plan = {.p = cvy_merged(problem), .ukr = &cvy_lanes_best()->ukr};
  plan.mirrored = plan.p.direction == CONVOY_BACKWARD_DATA;
  if (plan.mirrored) plan.p = mirror(&plan.p);
  plan.channels = plan.p.c / plan.p.groups;
  plan.outputs = plan.p.k / plan.p.groups;
  plan.taps = cvy_filter_volume(&plan.p);
  plan.tiles = (plan.outputs + plan.ukr->rows - 1) / plan.ukr->rows;
  plan.slots = facts->info.compute_units;
  cut_blocks(&plan);
  cut_tiles(&plan);
  /* An odd number of lines, so that the channels of a strip do not meet in one set of the cache. */
  int64_t lines = (x_floats(&plan) + cvy_ukr_columns(plan.ukr)) / FLOATS_PER_LINE + 1;
  plan.x_pitch = (lines | 1) * FLOATS_PER_LINE;
  plan.filter_floats =
      up(plan.p.groups * plan.tiles * plan.channels * plan.taps * plan.ukr->rows, FLOATS_PER_LINE);
  int64_t strip = plan.together * plan.ukr->rows * cvy_ukr_columns(plan.ukr);
  int64_t rest = up(strip + TAP_FLOATS * plan.taps, FLOATS_PER_LINE);
  plan.slot_floats = cvy_times(plan.channels, plan.x_pitch) + rest;
  return plan;
}

int64_t cvy_igemm_bytes(const cvy_igemm_plan *plan) {
  int64_t floats = cvy_times(plan->slots, plan->slot_floats) + plan->filter_floats;
  return cvy_times(floats, (int64_t)sizeof(float));
}
