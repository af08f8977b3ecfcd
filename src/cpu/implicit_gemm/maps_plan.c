/* The cuts of cpu.implicit_gemm's forward and backward_data. A panel of packed columns and the
 * filters it meets share the L2 cache; the filters of one tile, and on AVX2 a strip, stay in the L1
 * cache. */
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/block.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/range.h"

#define DEPTH 256   /* channels times taps of a panel: sums are walked once for so many */
#define FEW_FLAT 32 /* outputs of 1x1, measured */
#define COLUMNS 512
#define FILTER_FLOATS 32768    /* of the tiles taken together, for the channels of a panel */
#define RESIDENT_FLOATS 131072 /* of planes */
#define SHIFTED_FLOATS 65536   /* of planes that are read without packing */
#define FEW_OUTPUTS 64         /* for which that can pay */
#define PACKED_OUTPUTS 8       /* packing a column costs as much as so many outputs of it */
#define PIECES_PER_THREAD 4    /* from here on the threads end at about the same time */
#define INDEX_FLOATS 2         /* an offset is as large as two floats */

/* ------------------------------------------------------------------------ what is laid out */

/* dx is a sum of shifts of dy: place a = (index + pad) / stride of dx reads places a - tap dilation
 * / stride of dy. Counted from the first place and the last tap, that is a forward without
 * stride. */
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

static bool is_flat(const cvy_problem *p) {
  for (int i = 0; i < 3; i++) {
    if (p->filter[i] != 1 || p->stride[i] != 1 || p->pad[i] != 0 || p->in[i] != p->out[i])
      return false;
  }
  return true;
}

bool cvy_cpu_implicit_gemm_takes(const cvy_problem *problem, cvy_text *reason) {
  cvy_problem p = cvy_merged(problem);
  bool data = p.direction == CONVOY_BACKWARD_DATA;
  cvy_problem map = data ? map_of_data(&p) : p;
  for (int i = 0; i < 3; i++) {
    if (map.pad[i] < 0) {
      cvy_text_add(reason, "backward_data with padding %lld beyond the filter's reach",
                   (long long)p.pad[i]);
      return false;
    }
  }
  int64_t channels = p.c / p.groups, outputs = p.k / p.groups;
  if (channels == 1 && outputs == 1) {
    cvy_text_add(reason, "one channel in, one out per group make no matrix product");
    return false;
  }
  return true;
}

/* im2col reads them without packing. */
bool cvy_cpu_implicit_gemm_packs_in_vain(const cvy_problem *problem) {
  const cvy_problem p = cvy_merged(problem);
  const int64_t results = p.direction == CONVOY_BACKWARD_DATA ? p.c : p.k;
  return is_flat(&p) && results / p.groups <= FEW_FLAT;
}

/* ------------------------------------------------------------------------------------ cuts */

/* Channels at a time, even parts of all. */
int64_t cvy_cpu_implicit_gemm_at_once(const cvy_cpu_implicit_gemm_plan *plan, int64_t taps) {
  if (taps == 0) return plan->channels;
  return cvy_div_up(plan->channels, cvy_div_up(plan->channels * taps, DEPTH));
}

/* Even blocks of at most `most` places of the axis; of a single row, whole strips. */
static void cut_axis(cvy_cpu_implicit_gemm_plan *plan, int64_t most) {
  int64_t extent = plan->p.out[plan->axis];
  plan->block = cvy_div_up(extent, cvy_div_up(extent, cvy_max(most, 1)));
  if (plan->axis == 2)
    plan->block = cvy_align_up(plan->block, cvy_microkernel_columns(plan->kernel));
  plan->block = cvy_min(plan->block, extent);
  plan->blocks = cvy_div_up(extent, plan->block);
}

static cvy_planes_layout first_layout(const cvy_cpu_implicit_gemm_plan *plan, cvy_problem *sub) {
  int64_t skip;
  *sub = cvy_block_of(&plan->p, plan->axis, 0, plan->block, &skip);
  return cvy_planes_layout_of(sub);
}

/* Not packing means computing the gaps between the rows of planes, or idle places at the ends of
 * rows. For few outputs, that is less. */
static bool shift_pays(cvy_cpu_implicit_gemm_plan *plan) {
  cvy_problem sub;
  cvy_planes_layout layout = first_layout(plan, &sub);
  if (cvy_saturating_mul(plan->channels, layout.x_floats) > RESIDENT_FLOATS) return false;
  int64_t width = plan->kernel->width, rows = sub.out[0] * sub.out[1];
  int64_t through = cvy_align_up(layout.y_floats, width),
          by_rows = rows * cvy_align_up(sub.out[2], width);
  int64_t idle = cvy_min(through, by_rows) - rows * sub.out[2];
  plan->by_rows = by_rows <= through;
  plan->columns = plan->by_rows ? rows * layout.extent[2] : layout.y_floats;
  plan->strips = cvy_div_up(plan->columns, cvy_microkernel_columns(plan->kernel)) + rows;
  return idle * plan->outputs <= rows * sub.out[2] * PACKED_OUTPUTS;
}

/* Tries to do without packing: blocks of one image whose planes are in cache. */
static bool cut_shifted(cvy_cpu_implicit_gemm_plan *plan) {
  if (plan->flat || plan->outputs > FEW_OUTPUTS) return false;
  plan->images = 1;
  plan->bands = plan->p.n;
  cut_axis(plan, plan->p.out[plan->axis]);
  cvy_problem sub;
  while (plan->block > 1 &&
         (cvy_saturating_mul(plan->channels, first_layout(plan, &sub).x_floats) > SHIFTED_FLOATS ||
          plan->bands * plan->p.groups * plan->blocks < PIECES_PER_THREAD * plan->slots)) {
    int64_t before = plan->block;
    cut_axis(plan, before / 2);
    if (plan->block == before) break;
  }
  return shift_pays(plan);
}

/* Whole rows, or planes, or pieces of a single row; several images where they are small. */
static void cut_packed(cvy_cpu_implicit_gemm_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t extent = p->out[plan->axis], row = cvy_out_volume(p) / extent;
  cut_axis(plan, COLUMNS / row);
  int64_t images = plan->blocks == 1 ? cvy_max(COLUMNS / (row * extent), 1) : 1;
  plan->images = cvy_max(cvy_div_up(p->n, cvy_max(cvy_div_up(p->n, images), 1)), 1);
  plan->bands = cvy_div_up(p->n, plan->images);
  plan->columns = plan->images * plan->block * row;
  plan->strips = cvy_div_up(plan->columns, cvy_microkernel_columns(plan->kernel));
}

static void cut_tiles(cvy_cpu_implicit_gemm_plan *plan) {
  int64_t pieces = plan->bands * plan->p.groups * plan->blocks;
  plan->parts = 1;
  while (plan->parts < plan->tiles && pieces * plan->parts % plan->slots != 0 &&
         pieces * plan->parts < PIECES_PER_THREAD * plan->slots)
    plan->parts++;
  plan->together = cvy_max(FILTER_FLOATS / (plan->depth * plan->kernel->rows), 1);
}

/* -------------------------------------------------------------------------------- together */

static int64_t phases_of(const cvy_cpu_implicit_gemm_plan *plan) {
  const int64_t *s = plan->whole.stride;
  return plan->data ? cvy_saturating_mul(cvy_saturating_mul(s[0], s[1]), s[2]) : 1;
}

static void size_planes(cvy_cpu_implicit_gemm_plan *plan) {
  cvy_problem sub;
  plan->x_image = first_layout(plan, &sub).x_floats;
  plan->x_pitch = cvy_saturating_mul(plan->images, plan->x_image);
  plan->resident =
      !plan->flat && cvy_saturating_mul(plan->channels, plan->x_pitch) <= RESIDENT_FLOATS;
  /* An odd number of lines, so that the channels of a strip do not meet in one set of the cache. */
  plan->x_pitch = ((plan->x_pitch / CVY_LINE_FLOATS | 1) + 2) * CVY_LINE_FLOATS;
  int64_t at_once = cvy_cpu_implicit_gemm_at_once(plan, plan->phases > 1 ? 1 : plan->taps);
  if (plan->resident) at_once = plan->channels;
  int64_t beyond = cvy_microkernel_columns(plan->kernel);
  plan->plane_floats =
      cvy_align_up(cvy_saturating_mul(at_once, plan->x_pitch) + beyond, CVY_LINE_FLOATS);
  if (plan->flat) {
    plan->x_pitch = cvy_in_volume(&plan->p);
    plan->x_image = plan->p.c * plan->x_pitch;
    plan->plane_floats = 0;
  }
  plan->runs = plan->shifted ? 0 : plan->images * sub.out[0] * sub.out[1] + plan->strips;
}

static void size_memory(cvy_cpu_implicit_gemm_plan *plan) {
  int64_t rows = plan->kernel->rows, width = cvy_microkernel_columns(plan->kernel);
  int64_t all = plan->p.groups * plan->tiles * plan->channels * plan->taps * rows;
  plan->filter_floats = plan->once ? 0 : cvy_align_up(all, CVY_LINE_FLOATS);
  plan->tile_floats = cvy_align_up(plan->depth * rows, CVY_LINE_FLOATS);
  int64_t own = plan->once ? plan->together * plan->tile_floats : 0;
  plan->order_floats = cvy_align_up(cvy_saturating_mul(INDEX_FLOATS, plan->taps + plan->phases + 1),
                                    CVY_LINE_FLOATS);
  /* Packing writes whole vectors, past the last column. */
  plan->strip_floats =
      cvy_align_up(cvy_saturating_mul(plan->depth, width) + plan->kernel->width, CVY_LINE_FLOATS);
  plan->panel_floats = plan->shifted ? 0 : cvy_saturating_mul(plan->strips, plan->strip_floats);
  plan->result_floats =
      cvy_saturating_mul(plan->strips, cvy_div_up(plan->tiles, plan->parts) * rows * width);
  int64_t runs = plan->runs * (int64_t)(sizeof(cvy_copy_run) / sizeof(float));
  runs += plan->strips * (int64_t)(sizeof(cvy_cpu_implicit_gemm_strip) / sizeof(float));
  int64_t floats = cvy_saturating_mul(1, plan->plane_floats + plan->panel_floats);
  floats =
      cvy_saturating_mul(1, floats + plan->result_floats + own + runs + INDEX_FLOATS * plan->taps);
  plan->slot_floats = cvy_align_up(floats, CVY_LINE_FLOATS);
}

cvy_cpu_implicit_gemm_plan cvy_cpu_implicit_gemm_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts) {
  const cvy_simd *simd = cvy_simd_best();
  cvy_cpu_implicit_gemm_plan plan = {.whole = cvy_merged(problem),
                                     .slots = facts->info.compute_units};
  plan.data = plan.whole.direction == CONVOY_BACKWARD_DATA;
  plan.p = plan.data ? map_of_data(&plan.whole) : plan.whole;
  plan.channels = plan.p.c / plan.p.groups;
  plan.outputs = plan.p.k / plan.p.groups;
  plan.taps = cvy_filter_volume(&plan.whole);
  plan.phases = phases_of(&plan);
  plan.flat = is_flat(&plan.p) && plan.phases == 1;
  plan.kernel = plan.outputs <= simd->narrow_microkernel.rows ? &simd->narrow_microkernel
                                                              : &simd->microkernel;
  plan.tiles = cvy_div_up(plan.outputs, plan.kernel->rows);
  plan.depth = cvy_min(DEPTH + plan.taps, plan.channels * plan.taps);
  plan.axis = cvy_block_axis(&plan.p);
  plan.shifted = cut_shifted(&plan);
  if (!plan.shifted) cut_packed(&plan);
  cut_tiles(&plan);
  plan.once = plan.bands * plan.blocks == 1;
  size_planes(&plan);
  size_memory(&plan);
  return plan;
}

int64_t cvy_cpu_implicit_gemm_bytes(const cvy_cpu_implicit_gemm_plan *plan) {
  int64_t floats = cvy_saturating_mul(plan->slots, plan->slot_floats) + plan->filter_floats;
  return cvy_saturating_mul(floats + plan->order_floats, (int64_t)sizeof(float));
}
