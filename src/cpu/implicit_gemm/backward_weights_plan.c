/* The cuts of cpu.implicit_gemm's backward_weights. */
#include "cpu/implicit_gemm/backward_weights.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/sums.h"
#include "problem/conv/conv.h"

#define UNIT_FLOATS 131072 /* x and dy of a unit, in the L2 cache */
#define LEAST_PART 32      /* channels, and outputs */
#define LEAST_PIXELS 512   /* of a unit: loading and storing sums costs little beside them */
#define TRANSPOSED 1.5     /* cycles of an element */
#define PER_SUM 0.5        /* cycles to write a sum of a slice and to read it again */

cvy_cpu_implicit_gemm_transposed cvy_cpu_implicit_gemm_transposed_of(const cvy_problem *block) {
  cvy_cpu_implicit_gemm_transposed t;
  for (int i = 0; i < 3; i++) {
    bool still = block->conv.filter[i] == 1;
    t.step[i] = still ? block->conv.stride[i] : 1;
    t.stride[i] = still ? 1 : block->conv.stride[i];
    t.extent[i] = (block->conv.out[i] - 1) * t.stride[i] +
                  (block->conv.filter[i] - 1) * block->conv.dilation[i] + 1;
  }
  return t;
}

bool cvy_cpu_implicit_gemm_takes_weights(const cvy_problem *problem, cvy_text *reason) {
  if (problem->conv.c / problem->conv.groups == 1 && problem->conv.k / problem->conv.groups == 1) {
    cvy_text_add(reason, "one channel in, one out per group make no matrix product");
    return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------------ units */

bool cvy_cpu_implicit_gemm_by_rows(const cvy_problem *p) {
  return p->conv.out[1] == 1 || p->conv.out[2] > CVY_SUM_TERMS / 2;
}

cvy_output_block cvy_cpu_implicit_gemm_unit_at(const cvy_cpu_implicit_gemm_weights_plan *plan,
                                               int64_t number, int64_t *end) {
  cvy_cut grains = plan->units.grains;
  int64_t image = number / grains.count, first = number % grains.count, left = *end - number;
  int64_t images = first == 0 ? cvy_min(left / grains.count, plan->units.images_at_once) : 0;
  int64_t some = cvy_min(cvy_min(plan->units.at_once, grains.count - first), left);
  if (images > 1) some = grains.count;
  images = cvy_max(images > 1 ? images : 1, 1);
  *end = number + some * images;
  int64_t extent = plan->p.conv.out[plan->units.axis];
  cvy_range outputs = {first * grains.size, cvy_min((first + some) * grains.size, extent)};
  return cvy_output_block_of(&plan->p, plan->units.axis, (cvy_range){image, image + images},
                             outputs);
}

/* The most outputs along the axis that a unit has. */
static int64_t unit_outputs(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  return cvy_min(plan->units.at_once * plan->units.grains.size, plan->p.conv.out[plan->units.axis]);
}

/* Places of x, transposed, in one image of a unit. */
static int64_t places(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  cvy_output_block block = cvy_output_block_of(&plan->p, plan->units.axis, (cvy_range){0, 1},
                                               (cvy_range){0, unit_outputs(plan)});
  cvy_cpu_implicit_gemm_transposed t = cvy_cpu_implicit_gemm_transposed_of(&block.p);
  return cvy_saturating_mul(cvy_saturating_mul(t.extent[0], t.extent[1]), t.extent[2]);
}

/* Outputs in one image of a unit. */
static int64_t pixels(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  return cvy_out_volume(&plan->p) / plan->p.conv.out[plan->units.axis] * unit_outputs(plan);
}

/* Floats of x in one image of a unit, of each channel. */
static int64_t channel_floats(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  return plan->columns.unfolded ? pixels(plan) * cvy_filter_volume(&plan->p) : places(plan);
}

static int64_t unit_floats(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  int64_t channels = plan->columns.bundles.count * plan->columns.bundles.size;
  return cvy_saturating_mul(channels, channel_floats(plan)) +
         plan->tile_parts.size * plan->kernel->rows * pixels(plan);
}

/* How far the taps of a block's last output reach beyond it, along an axis that is cut. */
static int64_t reach(const cvy_problem *p, int axis) {
  return cvy_saturating_mul(p->conv.filter[axis] - 1, p->conv.dilation[axis]);
}

/* The fewest outputs along the axis. Units that fit the cache repeat what their taps reach: of what
 * a unit transposes no more than two thirds may be its neighbours', or cutting costs more than the
 * cache saves. */
static int64_t least_outputs(const cvy_problem *p, int axis) {
  return cvy_max(1, cvy_div_up(reach(p, axis), 2 * p->conv.stride[axis]));
}

/* Grains end with blocks of sums, and are about as large as one. */
static cvy_cut grains_of(const cvy_problem *p, int axis) {
  int64_t extent = p->conv.out[axis], each = cvy_out_volume(p) / extent, block = 1;
  if (axis == 2) block = CVY_SUM_TERMS;
  if (axis == 1 && !cvy_cpu_implicit_gemm_by_rows(p)) block = cvy_sum_block(p->conv.out[2]);
  int64_t least = cvy_max(least_outputs(p, axis), cvy_div_up(CVY_SUM_TERMS, each));
  return cvy_cut_by(extent, cvy_min(cvy_align_up(least, block), extent));
}

static void cut_units(cvy_cpu_implicit_gemm_weights_plan *plan) {
  int64_t grains = plan->units.grains.count, units = 1;
  plan->units.at_once = grains;
  while (plan->units.at_once > 1 && unit_floats(plan) > UNIT_FLOATS) {
    units *= 2;
    plan->units.at_once = cvy_div_up(grains, units);
  }
  /* Columns of several rows are summed unit by unit, so these follow from the problem alone. */
  if (plan->units.axis == 2 && plan->p.conv.out[1] > 1) plan->units.at_once = 1;
  plan->units.images_at_once = 1;
  if (plan->units.at_once < grains) return;
  int64_t wanted = cvy_div_up(LEAST_PIXELS, pixels(plan));
  plan->units.images_at_once = cvy_max(cvy_min(wanted, plan->p.conv.n / plan->slices), 1);
}

/* ------------------------------------------------------------------------------- sharing out */

static void cut_channels(cvy_cpu_implicit_gemm_weights_plan *plan, int64_t parts) {
  cvy_cut cut = cvy_cut_into(plan->channels, parts,
                             parts > 1 && !plan->columns.unfolded ? CVY_LINE_FLOATS : 1);
  int64_t width = plan->kernel->width, vectors = cvy_div_up(cut.size, width);
  int64_t bundles = plan->columns.unfolded ? 1 : cvy_div_up(vectors, CVY_MICROKERNEL_VECTORS);
  int64_t bundle = bundles == 1 ? cut.size : cvy_div_up(vectors, bundles) * width;
  plan->columns.parts = cut;
  plan->columns.bundles = cvy_cut_by(cut.size, bundle);
}

/* Elements of x that a term of all outputs reads, per channel. */
static double places_per_pixel(const cvy_problem *p) {
  cvy_cpu_implicit_gemm_transposed t = cvy_cpu_implicit_gemm_transposed_of(p);
  double each = 1;
  for (int i = 0; i < 3; i++) each *= (double)t.extent[i] / (double)p->conv.out[i];
  return each;
}

/* Where outputs see few places, putting sums into the order of dw takes longer than bringing x into
 * it, of which there are as many elements for each of these places as sums for each output. */
static bool unfolds(const cvy_cpu_implicit_gemm_weights_plan *plan) {
  return cvy_filter_volume(&plan->p) > 1 && plan->units.grains.count == 1 &&
         plan->p.conv.n * cvy_out_volume(&plan->p) < plan->outputs;
}

static void share_out(cvy_cpu_implicit_gemm_weights_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t taps = cvy_filter_volume(p);
  cvy_sum_cut cut = cvy_sum_cut_of(
      &(cvy_sum_work){
          .groups = p->conv.groups,
          .rows = plan->outputs,
          .columns = plan->channels * taps,
          .terms = p->conv.n * cvy_out_volume(p),
          .least_rows = LEAST_PART,
          .least_columns = LEAST_PART * taps,
          .least_terms = LEAST_PIXELS,
          .row_term = TRANSPOSED,
          .column_term = plan->columns.unfolded ? 2 * TRANSPOSED
                                                : TRANSPOSED * places_per_pixel(p) / (double)taps,
          .product = 0.5 / (double)plan->kernel->width,
          .slice = PER_SUM,
      },
      plan->slots);
  int64_t least =
      plan->columns.unfolded
          ? cvy_saturating_mul(plan->channels * taps, cvy_out_volume(p)) / UNIT_FLOATS + 1
          : 1;
  cut_channels(plan, cvy_max(cut.columns, least));
  plan->tile_parts = cvy_cut_into(plan->tiles, cut.rows, 1);
  plan->slices = cut.slices;
  while (plan->slices > p->conv.n * plan->units.grains.count && plan->slices > 1) plan->slices /= 2;
}

static void size_columns(cvy_cpu_implicit_gemm_weights_plan *plan) {
  int64_t volume = cvy_filter_volume(&plan->p), size = plan->columns.bundles.size;
  int64_t across = plan->columns.folded ? plan->p.conv.filter[2] : 1;
  if (plan->columns.unfolded) across = volume;
  plan->columns.pitch = cvy_align_up(size * across, plan->kernel->width);
  plan->columns.taps = volume / across;
  plan->floats.dw = cvy_align_up(size * volume, CVY_LINE_FLOATS);
  plan->floats.sum =
      cvy_saturating_mul(plan->columns.taps * plan->columns.bundles.count,
                         plan->tile_parts.size * plan->kernel->rows * plan->columns.pitch);
}

static void size_unit(cvy_cpu_implicit_gemm_weights_plan *plan) {
  const cvy_problem *p = &plan->p;
  bool skips = p->conv.filter[2] == 1 && p->conv.stride[2] > 1;
  plan->floats.y = plan->kernel->rows * pixels(plan);
  if (plan->columns.unfolded) {
    plan->floats.x = cvy_saturating_mul(plan->columns.pitch, pixels(plan));
    plan->floats.row = cvy_filter_volume(p) * pixels(plan);
    return;
  }
  plan->floats.x = cvy_saturating_mul(plan->columns.bundles.size, places(plan));
  plan->floats.row = skips ? plan->columns.parts.size * p->conv.out[2] : 0;
}

static void size_slot(cvy_cpu_implicit_gemm_weights_plan *plan) {
  int64_t bundles = plan->columns.bundles.count, images = plan->units.images_at_once;
  int64_t behind = plan->columns.pitch; /* the last place's columns are read as whole vectors */
  int64_t x = cvy_saturating_mul(bundles * images, plan->floats.x) + behind;
  int64_t y = images * plan->tile_parts.size * plan->floats.y;
  int64_t taps = 2 * plan->p.conv.out[2]; /* an offset is as large as two floats */
  int64_t sum = plan->slices > 1 ? 0 : plan->floats.sum;
  int64_t floats = cvy_saturating_mul(1, x + y + taps + plan->floats.row);
  floats = cvy_saturating_mul(1, floats + sum + plan->floats.dw);
  plan->floats.slot = cvy_align_up(floats, CVY_LINE_FLOATS);
}

/* A filter n x 1 over wide rows, merged, is one whose taps are rows apart: blocks of its outputs
 * would hold little but each other's x. Not merged, columns can be cut, which no tap leaves. */
static void choose_axis(const cvy_problem *problem, cvy_cpu_implicit_gemm_weights_plan *plan) {
  plan->p = cvy_merged(problem);
  plan->units.axis = cvy_block_axis(&plan->p);
  int64_t reached = reach(&plan->p, plan->units.axis),
          channels = plan->p.conv.c / plan->p.conv.groups;
  if (cvy_saturating_mul(reached, channels) <= UNIT_FLOATS / 2) return;
  cvy_problem still = cvy_merged_still(problem);
  if (still.conv.filter[2] > 1 || still.conv.stride[2] > 1) return;
  plan->p = still;
  plan->units.axis = 2;
}

cvy_cpu_implicit_gemm_weights_plan cvy_cpu_implicit_gemm_weights_plan_for(
    const cvy_problem *problem, const cvy_facts *facts) {
  cvy_cpu_implicit_gemm_weights_plan plan = {.slots = facts->info.compute_units};
  choose_axis(problem, &plan);
  plan.channels = plan.p.conv.c / plan.p.conv.groups;
  plan.outputs = plan.p.conv.k / plan.p.conv.groups;
  plan.kernel = cvy_microkernel_for(cvy_simd_best(), plan.outputs);
  plan.tiles = cvy_div_up(plan.outputs, plan.kernel->rows);
  plan.units.grains = grains_of(&plan.p, plan.units.axis);
  plan.columns.unfolded = unfolds(&plan);
  share_out(&plan);
  plan.columns.folded = !plan.columns.unfolded && plan.columns.bundles.count == 1 &&
                        (plan.p.conv.dilation[2] == 1 || plan.p.conv.filter[2] == 1);
  cut_units(&plan);
  size_columns(&plan);
  size_unit(&plan);
  size_slot(&plan);
  plan.pieces = plan.p.conv.groups * plan.columns.parts.count * plan.tile_parts.count;
  plan.pieces *= plan.slices;
  return plan;
}

int64_t cvy_cpu_implicit_gemm_weights_bytes(const cvy_problem *problem, const cvy_facts *facts) {
  cvy_cpu_implicit_gemm_weights_plan plan = cvy_cpu_implicit_gemm_weights_plan_for(problem, facts);
  int64_t sums = plan.slices > 1 ? cvy_saturating_mul(plan.pieces, plan.floats.sum) : 0;
  return cvy_saturating_mul(sums + cvy_saturating_mul(plan.slots, plan.floats.slot),
                            (int64_t)sizeof(float));
}
