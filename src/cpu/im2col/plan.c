/* How cpu.im2col cuts its work: blocks of columns that stay in cache, pieces enough for all
 * threads, all within the workspace limit. */
#include "cpu/im2col/im2col.h"

#include "cpu/shared/merge.h"
#include "cpu/shared/range.h"

#define LEAST_BLOCK 16      /* outputs; fewer than a GEMM tile is wide are not worth a call */
#define PIECES_PER_THREAD 4 /* from here on the threads end at about the same time */
#define LEAST_CUT 16        /* channels; thinner slices make poor matrices */

static bool is_flat(const cvy_problem *p) {
  for (int i = 0; i < 3; i++) {
    if (p->filter[i] != 1 || p->stride[i] != 1 || p->pad[i] != 0 || p->in[i] != p->out[i])
      return false;
  }
  return true;
}

static bool even_enough(int64_t pieces, int64_t threads) {
  return pieces % threads == 0 || pieces >= PIECES_PER_THREAD * threads;
}

/* The fewest cuts that give all threads work, or the most there can be. */
static int64_t cuts_for(int64_t pieces, int64_t threads, int64_t most) {
  int64_t cuts = 1;
  while (cuts < most && !even_enough(pieces * cuts, threads)) cuts++;
  return cuts;
}

static void cut_channels(cvy_cpu_im2col_plan *plan) {
  const cvy_problem *p = &plan->p;
  plan->cuts = 1;
  if (p->direction == CONVOY_BACKWARD_DATA && !plan->flat)
    plan->cuts = cuts_for(p->n * p->groups, plan->slots, plan->channels);
  if (p->direction == CONVOY_BACKWARD_WEIGHTS) {
    int64_t most = cvy_max(plan->channels / LEAST_CUT, 1);
    plan->cuts = cuts_for(p->groups, plan->slots, most);
    plan->private_sums = !even_enough(p->groups * plan->cuts, plan->slots);
    if (plan->private_sums) plan->cuts = 1;
  }
}

/* Lines of the column matrix one slot holds, 0 where the input itself serves. */
static int64_t lines(const cvy_cpu_im2col_plan *plan) {
  int64_t channels = (plan->channels + plan->cuts - 1) / plan->cuts;
  return plan->flat ? 0 : channels * plan->taps;
}

static int64_t sum_floats(const cvy_cpu_im2col_plan *plan) {
  return plan->private_sums ? cvy_align_up(cvy_problem_count(&plan->p, CVY_W), CVY_LINE_FLOATS) : 0;
}

/* The largest block the limit allows; may be below LEAST_BLOCK or negative. */
static int64_t block_within(const cvy_cpu_im2col_plan *plan, int64_t limit) {
  int64_t floats = limit / (int64_t)sizeof(float) / plan->slots - sum_floats(plan);
  int64_t per_output = lines(plan);
  if (per_output == 0) return floats >= 0 ? plan->pixels : -1;
  return (floats - CVY_LINE_FLOATS) / per_output;
}

/* Even blocks, and enough of them where they are the pieces the threads share. */
static void cut_pixels(cvy_cpu_im2col_plan *plan, int64_t wanted, int64_t most) {
  int64_t images = cvy_max(plan->p.n * plan->p.groups, 1);
  int64_t blocks = (plan->pixels + wanted - 1) / wanted;
  bool shared = plan->p.direction == CONVOY_FORWARD || plan->flat || plan->private_sums;
  if (shared) {
    blocks += cuts_for(images * blocks, plan->slots, plan->pixels / LEAST_BLOCK / blocks) * blocks -
              blocks;
  }
  int64_t block = cvy_align_up((plan->pixels + blocks - 1) / blocks, LEAST_BLOCK);
  plan->block = cvy_max(cvy_min(cvy_min(block, most), plan->pixels), 1);
}

cvy_cpu_im2col_plan cvy_cpu_im2col_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                            const cvy_params *params) {
  cvy_cpu_im2col_plan plan = {.p = cvy_merged(problem)};
  const cvy_problem *p = &plan.p;
  plan.flat = is_flat(p);
  plan.channels = p->c / p->groups;
  plan.outputs = p->k / p->groups;
  plan.taps = cvy_filter_volume(p);
  plan.pixels = cvy_out_volume(p);
  plan.slots = facts->info.compute_units;
  cut_channels(&plan);
  if (plan.private_sums && block_within(&plan, facts->workspace_limit) < LEAST_BLOCK)
    plan.private_sums = false;
  int64_t most = block_within(&plan, facts->workspace_limit);
  if (p->direction == CONVOY_BACKWARD_WEIGHTS && plan.flat && !plan.private_sums)
    plan.block = plan.pixels;
  else
    cut_pixels(&plan, params->value[0], most);
  plan.slot_floats = sum_floats(&plan) + cvy_align_up(lines(&plan) * plan.block, CVY_LINE_FLOATS);
  return plan;
}

cvy_cpu_im2col_part cvy_cpu_im2col_channels(const cvy_cpu_im2col_plan *plan, int64_t cut) {
  int64_t size = (plan->channels + plan->cuts - 1) / plan->cuts;
  int64_t first = cvy_min(cut * size, plan->channels);
  return (cvy_cpu_im2col_part){first, cvy_min(size, plan->channels - first)};
}
