/* cpu.im2col, backward_data: columns = w^T dy, added back to dx. Blocks of outputs overlap in dx,
 * so a piece is a slice of channels and goes through all blocks in order; without a column matrix
 * nothing overlaps and pieces are blocks. */
#include <string.h>

#include "cpu/im2col/im2col.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/range.h"

/* The transposed filter of some channels of a group. */
static cvy_matrix filter_of(const cvy_cpu_im2col_run *run, int64_t group, int64_t first_channel) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t rows = plan->channels * plan->taps;
  return (cvy_matrix){run->call->b + group * plan->outputs * rows + first_channel * plan->taps,
                      rows, true};
}

static cvy_matrix gradient_of(const cvy_cpu_im2col_run *run, int64_t image_group, int64_t begin) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  return (cvy_matrix){run->call->a + image_group * plan->outputs * plan->pixels + begin,
                      plan->pixels, false};
}

static void make_slice(const cvy_cpu_im2col_run *run, int64_t image_group, int64_t cut,
                       float *columns) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  int64_t group = image_group % p->groups, volume = cvy_in_volume(p);
  cvy_cpu_im2col_part slice = cvy_cpu_im2col_channels(plan, cut);
  if (slice.count == 0) return;
  float *dx = run->call->out + (image_group * plan->channels + slice.first) * volume;
  if (!p->accumulate) memset(dx, 0, (size_t)(slice.count * volume) * sizeof *dx);
  for (int64_t begin = 0; begin < plan->pixels; begin += plan->block) {
    int64_t count = cvy_min(plan->block, plan->pixels - begin);
    cvy_column_block block = {p, run->call->simd, slice.count, begin, count};
    cvy_gemm(slice.count * plan->taps, count, plan->outputs, filter_of(run, group, slice.first),
             gradient_of(run, image_group, begin), false, columns, count);
    cvy_columns_add(&block, columns, dx);
  }
  for (int64_t c = 0; c < slice.count; c++)
    cvy_cpu_epilogue(run->call, dx + c * volume, group * plan->channels + slice.first + c, volume);
}

static void make_slices(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  for (int64_t i = begin; i < end; i++)
    make_slice(run, i / run->plan.cuts, i % run->plan.cuts, cvy_cpu_im2col_slot(run, slot));
}

static void make_flat_block(const cvy_cpu_im2col_run *run, int64_t image_group, int64_t begin) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t group = image_group % plan->p.groups;
  int64_t count = cvy_min(plan->block, plan->pixels - begin);
  float *dx = run->call->out + image_group * plan->channels * plan->pixels + begin;
  cvy_gemm(plan->channels, count, plan->outputs, filter_of(run, group, 0),
           gradient_of(run, image_group, begin), plan->p.accumulate, dx, plan->pixels);
  for (int64_t c = 0; c < plan->channels; c++)
    cvy_cpu_epilogue(run->call, dx + c * plan->pixels, group * plan->channels + c, count);
}

static void make_flat_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  int64_t blocks = cvy_cpu_im2col_blocks(&run->plan);
  (void)slot;
  for (int64_t i = begin; i < end; i++)
    make_flat_block(run, i / blocks, i % blocks * run->plan.block);
}

void cvy_cpu_im2col_backward_data(cvy_cpu_im2col_run *run) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t images = plan->p.n * plan->p.groups;
  if (plan->flat) {
    cvy_parallel_items(run->call->threads, images * cvy_cpu_im2col_blocks(plan), make_flat_blocks,
                       run);
  } else
    cvy_parallel_items(run->call->threads, images * plan->cuts, make_slices, run);
}
