/* The cuts of cpu.implicit_gemm's backward_weights. */
#include "cpu/implicit_gemm/backward_weights.h"
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/block.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/range.h"

#define UNIT_FLOATS 131072  /* x and dy of a unit, in the L2 cache */
#define SUM_FLOATS 131072   /* up to here a sum per slice costs less than turning dy again */
#define SLICES_PER_THREAD 2 /* threads rarely end together */
#define UNITS_PER_SLICE 8   /* from here on it does not matter that slices are uneven */
#define LEAST_PART 32       /* channels */
#define LEAST_PIXELS 512    /* of a unit: loading and storing sums costs little beside them */
#define FAR 512             /* floats: so far apart places would meet in few sets of the cache */
#define LARGE_1X1 128       /* sums per output from which im2col is faster, measured */
#define LARGE_STRIDED 4096

cvy_turned cvy_turned_of(const cvy_problem *block) {
  cvy_turned t;
  for (int i = 0; i < 3; i++) {
    bool still = block->filter[i] == 1;
    t.step[i] = still ? block->stride[i] : 1;
    t.stride[i] = still ? 1 : block->stride[i];
    t.extent[i] =
        (block->out[i] - 1) * t.stride[i] + (block->filter[i] - 1) * block->dilation[i] + 1;
  }
  return t;
}

/* Sums that are large beside the outputs they come from are a matter of memory, which BLAS blocks
 * better for. */
bool cvy_cpu_implicit_gemm_weights_are_large(const cvy_problem *p) {
  int64_t taps = cvy_filter_volume(p), sums = p->k / p->groups * (p->c / p->groups) * taps;
  int64_t pixels = p->n * cvy_out_volume(p);
  int64_t most = taps == 1 ? LARGE_1X1 : cvy_problem_strided(p) ? LARGE_STRIDED : INT64_MAX;
  return sums > cvy_saturating_mul(most, pixels);
}

bool cvy_cpu_implicit_gemm_weights_takes(const cvy_problem *problem, cvy_text *reason) {
  if (problem->c / problem->groups == 1 && problem->k / problem->groups == 1) {
    cvy_text_add(reason, "one channel in, one out per group make no matrix product");
    return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------------ units */

static int64_t places(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  int64_t skip;
  cvy_problem sub = cvy_block_of(&plan->p, plan->axis, 0, plan->block, &skip);
  cvy_turned t = cvy_turned_of(&sub);
  return cvy_saturating_mul(cvy_saturating_mul(t.extent[0], t.extent[1]), t.extent[2]);
}

static int64_t pixels(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  return cvy_out_volume(&plan->p) / plan->p.out[plan->axis] * plan->block;
}

static int64_t unit_floats(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  return cvy_saturating_mul(plan->bundles * plan->bundle, places(plan)) +
         plan->tiles * plan->kernel->rows * pixels(plan);
}

static void cut_block(cvy_cpu_implicit_gemm_weights_plan *plan, int64_t blocks) {
  int64_t extent = plan->p.out[plan->axis];
  plan->block = cvy_div_up(extent, blocks);
  plan->blocks = cvy_div_up(extent, plan->block);
}

/* How far the taps of a block's last output reach beyond it, along an axis that is cut. */
static int64_t reach(const cvy_problem *p, int axis) {
  return cvy_saturating_mul(p->filter[axis] - 1, p->dilation[axis]);
}

/* Blocks that fit the cache repeat what their taps reach: of what a block turns no more than two
 * thirds may be its neighbours', or cutting costs more than the cache saves. */
static int64_t least_block(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  const int64_t stride = plan->p.stride[plan->axis];
  return cvy_max(1, cvy_div_up(reach(&plan->p, plan->axis), 2 * stride));
}

/* Blocks that fit the cache; images as they are, or several of them where they are small. */
static void cut_units(cvy_cpu_implicit_gemm_weights_plan *plan) {
  const int64_t least = least_block(plan);
  plan->images = 1;
  cut_block(plan, 1);
  while (plan->block >= 2 * least && unit_floats(plan) > UNIT_FLOATS)
    cut_block(plan, 2 * plan->blocks);
  if (plan->blocks == 1) {
    int64_t wanted = cvy_div_up(LEAST_PIXELS, pixels(plan));
    plan->images = cvy_max(cvy_min(wanted, cvy_div_up(plan->p.n, plan->slices)), 1);
  }
  plan->units = cvy_div_up(plan->p.n, plan->images) * plan->blocks;
}

/* ------------------------------------------------------------------------------- sharing out */

static void cut_channels(cvy_cpu_implicit_gemm_weights_plan *plan, int64_t parts) {
  plan->part = cvy_div_up(plan->channels, parts);
  if (parts > 1) plan->part = cvy_align_up(plan->part, CVY_LINE_FLOATS);
  plan->parts = cvy_div_up(plan->channels, plan->part);
  int64_t width = plan->kernel->width, vectors = cvy_div_up(plan->part, width);
  plan->bundles = cvy_div_up(vectors, CVY_MICROKERNEL_VECTORS);
  plan->bundle = plan->bundles == 1 ? plan->part : cvy_div_up(vectors, plan->bundles) * width;
  plan->bundles = cvy_div_up(plan->part, plan->bundle);
}

/* Small sums: one for each of a few slices of the outputs. Large ones: the channels are shared out,
 * as far as they go. */
static void share_out(cvy_cpu_implicit_gemm_weights_plan *plan) {
  int64_t threads = plan->slots, groups = plan->p.groups;
  bool enough = groups % threads == 0 || groups >= 4 * threads;
  int64_t sums = plan->p.k * plan->channels * cvy_filter_volume(&plan->p);
  cut_channels(plan, 1);
  plan->slices = 1;
  if (enough) return;
  if (sums <= SUM_FLOATS) {
    plan->slices = SLICES_PER_THREAD * threads;
    return;
  }
  cut_channels(plan, cvy_max(cvy_min(plan->channels / LEAST_PART, threads), 1));
  plan->slices = cvy_div_up(threads, groups * plan->parts);
}

/* Slices come out even, or of so many units that it does not matter. */
static void even_out(cvy_cpu_implicit_gemm_weights_plan *plan) {
  const int64_t least = least_block(plan);
  while (plan->images == 1 && plan->block > least && plan->units % plan->slices != 0 &&
         plan->units < UNITS_PER_SLICE * plan->slices) {
    int64_t before = plan->blocks;
    cut_block(plan, before + 1);
    plan->units = plan->p.n * plan->blocks;
    if (plan->blocks == before) break;
  }
  plan->slices = cvy_max(cvy_min(plan->slices, plan->units), 1);
}

static void size_memory(cvy_cpu_implicit_gemm_weights_plan *plan) {
  int64_t columns = plan->bundle * (plan->folded ? plan->p.filter[2] : 1);
  plan->pitch = cvy_align_up(columns, plan->kernel->width);
  plan->taps = cvy_filter_volume(&plan->p) / (plan->folded ? plan->p.filter[2] : 1);
  plan->sum_floats = cvy_saturating_mul(plan->taps * plan->bundles,
                                        plan->tiles * plan->kernel->rows * plan->pitch);
  plan->x_floats = cvy_saturating_mul(plan->bundle, places(plan));
  plan->y_floats = plan->kernel->rows * pixels(plan);
  bool skips = plan->p.filter[2] == 1 && plan->p.stride[2] > 1;
  plan->row_floats = skips ? plan->part * plan->p.out[2] : 0;
  int64_t x = cvy_saturating_mul(plan->bundles * plan->images, plan->x_floats) +
              plan->pitch; /* the last place's columns */
  int64_t y = plan->images * plan->tiles * plan->y_floats;
  int64_t taps = 2 * plan->p.out[2]; /* an offset is as large as two floats */
  plan->slot_floats =
      cvy_align_up(cvy_saturating_mul(1, x + y + taps + plan->row_floats), CVY_LINE_FLOATS);
}

/* A filter n x 1 over wide rows, merged, is one whose taps are rows apart: blocks of its outputs
 * would hold little but each other's x. Not merged, columns can be cut, which no tap leaves. */
static void choose_axis(const cvy_problem *problem, cvy_cpu_implicit_gemm_weights_plan *plan) {
  plan->p = cvy_merged(problem);
  plan->axis = cvy_block_axis(&plan->p);
  if (cvy_saturating_mul(reach(&plan->p, plan->axis), plan->p.c / plan->p.groups) <=
      UNIT_FLOATS / 2)
    return;
  cvy_problem still = cvy_merged_still(problem);
  if (still.filter[2] > 1 || still.stride[2] > 1) return;
  plan->p = still;
  plan->axis = 2;
}

cvy_cpu_implicit_gemm_weights_plan cvy_cpu_implicit_gemm_weights_plan_for(
    const cvy_problem *problem, const cvy_facts *facts) {
  const cvy_simd *simd = cvy_simd_best();
  cvy_cpu_implicit_gemm_weights_plan plan = {.slots = facts->info.compute_units};
  choose_axis(problem, &plan);
  plan.channels = plan.p.c / plan.p.groups;
  plan.outputs = plan.p.k / plan.p.groups;
  plan.kernel = plan.outputs <= simd->narrow_microkernel.rows ? &simd->narrow_microkernel
                                                              : &simd->microkernel;
  plan.tiles = cvy_div_up(plan.outputs, plan.kernel->rows);
  share_out(&plan);
  plan.folded = plan.bundles == 1 && (plan.p.dilation[2] == 1 || plan.p.filter[2] == 1);
  cut_units(&plan);
  even_out(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_implicit_gemm_weights_bytes(const cvy_problem *problem, const cvy_facts *facts) {
  cvy_cpu_implicit_gemm_weights_plan plan = cvy_cpu_implicit_gemm_weights_plan_for(problem, facts);
  int64_t sums = cvy_saturating_mul(plan.p.groups * plan.parts * plan.slices, plan.sum_floats);
  return cvy_saturating_mul(sums + cvy_saturating_mul(plan.slots, plan.slot_floats),
                            (int64_t)sizeof(float));
}
