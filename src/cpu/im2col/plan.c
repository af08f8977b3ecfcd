/* How cpu.im2col cuts its work: blocks of columns that stay in cache, pieces enough for all
 * threads, all within the limit of the workspace. */
#include "cpu/im2col/im2col.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/pointwise.h"
#include "problem/conv/conv.h"

#define LEAST_BLOCK 16      /* outputs: fewer than a GEMM tile is wide are not worth a call */
#define PIECES_PER_THREAD 4 /* from here on the threads end at about the same time */
#define LEAST_PART 16       /* channels: thinner parts make poor matrices */

static bool even_enough(int64_t pieces, int64_t threads) {
  return pieces % threads == 0 || pieces >= PIECES_PER_THREAD * threads;
}

/* Into how many parts to cut each piece: the fewest that give all threads work, or the most there
 * can be. */
static int64_t parts_for(int64_t pieces, int64_t threads, int64_t most) {
  int64_t parts = 1;
  while (parts < most && !even_enough(pieces * parts, threads)) parts++;
  return parts;
}

static void cut_channels(cvy_cpu_im2col_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t parts = 1;
  if (p->operation == CONVOY_BACKWARD_DATA && !plan->flat)
    parts = parts_for(p->conv.n * p->conv.groups, plan->slots, plan->channels);
  if (p->operation == CONVOY_BACKWARD_WEIGHTS) {
    int64_t most = cvy_max(plan->channels / LEAST_PART, 1);
    parts = parts_for(p->conv.groups, plan->slots, most);
    plan->private_sums = !even_enough(p->conv.groups * parts, plan->slots);
    if (plan->private_sums) parts = 1;
  }
  plan->parts = cvy_cut_into(plan->channels, parts, 1);
}

/* Lines of the column matrix that a slot holds: none where the input itself serves. */
static int64_t lines(const cvy_cpu_im2col_plan *plan) {
  return plan->flat ? 0 : plan->parts.size * plan->taps;
}

static int64_t sum_floats(const cvy_cpu_im2col_plan *plan) {
  int64_t count = cvy_conv_count(&plan->p, CVY_W);
  return plan->private_sums ? cvy_align_up(count, CVY_LINE_FLOATS) : 0;
}

/* The largest block that the limit allows. It may be below LEAST_BLOCK or negative. */
static int64_t block_within(const cvy_cpu_im2col_plan *plan, int64_t limit) {
  int64_t floats = limit / (int64_t)sizeof(float) / plan->slots - sum_floats(plan);
  int64_t per_output = lines(plan);
  if (per_output == 0) return floats >= 0 ? plan->pixels : -1;
  return (floats - CVY_LINE_FLOATS) / per_output;
}

/* Blocks are even, and there are enough of them where they are the pieces the threads share. */
static int64_t block_size(const cvy_cpu_im2col_plan *plan, int64_t wanted, int64_t most) {
  int64_t images = cvy_max(plan->p.conv.n * plan->p.conv.groups, 1);
  int64_t blocks = cvy_div_up(plan->pixels, wanted);
  bool shared = plan->p.operation == CONVOY_FORWARD || plan->flat || plan->private_sums;
  if (shared)
    blocks *= parts_for(images * blocks, plan->slots, plan->pixels / LEAST_BLOCK / blocks);
  int64_t block = cvy_align_up(cvy_div_up(plan->pixels, blocks), LEAST_BLOCK);
  return cvy_max(cvy_min(cvy_min(block, most), plan->pixels), 1);
}

cvy_cpu_im2col_plan cvy_cpu_im2col_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                            const cvy_params *params) {
  cvy_cpu_im2col_plan plan = {.p = cvy_merged(problem)};
  const cvy_problem *p = &plan.p;
  plan.flat = cvy_is_pointwise(p);
  plan.channels = p->conv.c / p->conv.groups;
  plan.outputs = p->conv.k / p->conv.groups;
  plan.taps = cvy_filter_volume(p);
  plan.pixels = cvy_out_volume(p);
  plan.slots = facts->info.compute_units;
  cut_channels(&plan);
  if (plan.private_sums && block_within(&plan, facts->workspace_limit) < LEAST_BLOCK)
    plan.private_sums = false;
  int64_t most = block_within(&plan, facts->workspace_limit);
  bool whole = p->operation == CONVOY_BACKWARD_WEIGHTS && plan.flat && !plan.private_sums;
  int64_t block = whole ? plan.pixels : block_size(&plan, params->value[0], most);
  plan.blocks = cvy_cut_by(plan.pixels, block);
  plan.slot_floats = sum_floats(&plan) + cvy_align_up(lines(&plan) * block, CVY_LINE_FLOATS);
  return plan;
}
