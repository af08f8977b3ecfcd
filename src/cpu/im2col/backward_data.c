/* cpu.im2col, backward_data: columns = w^T dy, added back to dx. Blocks of outputs overlap in dx,
 * so a piece is a part of the channels and goes through all blocks in order. Without a column
 * matrix nothing overlaps, and pieces are blocks. */
#include <string.h>

#include "cpu/im2col/im2col.h"
#include "cpu/shared/epilogue.h"
#include "problem/conv/conv.h"

/* The transposed filter of a group's channels from `first` on. */
static cvy_matrix filter_of(const cvy_cpu_im2col_run *run, int64_t group, int64_t first) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t rows = plan->channels * plan->taps;
  const float *w = run->call->in[1] + group * plan->outputs * rows;
  return (cvy_matrix){w + first * plan->taps, rows, true};
}

static cvy_matrix gradient_of(const cvy_cpu_im2col_run *run, int64_t image_group, int64_t begin) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t groups = plan->p.conv.groups, first = image_group % groups * plan->outputs;
  const float *dy = run->call->in[0] + cvy_conv_place(&plan->p, CVY_Y, image_group / groups, first);
  return (cvy_matrix){dy + begin, plan->pixels, false};
}

static void make_part(const cvy_cpu_im2col_run *run, int64_t image_group, int64_t number,
                      float *columns) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  int64_t group = image_group % p->conv.groups, volume = cvy_in_volume(p);
  cvy_range channels = cvy_cut_part(plan->parts, plan->channels, number);
  int64_t some = cvy_range_length(channels);
  int64_t first = group * plan->channels + channels.begin;
  float *dx = run->call->out[0] + cvy_conv_place(p, CVY_X, image_group / p->conv.groups, first);
  if (!p->accumulate) memset(dx, 0, (size_t)(some * volume) * sizeof *dx);
  for (int64_t i = 0; i < plan->blocks.count; i++) {
    cvy_range pixels = cvy_cut_part(plan->blocks, plan->pixels, i);
    int64_t count = cvy_range_length(pixels);
    cvy_column_block block = {p, run->call->simd, some, pixels};
    cvy_gemm(some * plan->taps, count, plan->outputs, filter_of(run, group, channels.begin),
             gradient_of(run, image_group, pixels.begin), false, columns, count);
    cvy_columns_add(&block, columns, dx);
  }
  for (int64_t c = 0; c < some; c++) {
    cvy_cpu_epilogue(run->call, dx + c * volume, first + c, volume);
  }
}

static void make_parts(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  int64_t parts = run->plan.parts.count;
  for (int64_t i = begin; i < end; i++)
    make_part(run, i / parts, i % parts, cvy_cpu_im2col_slot(run, slot));
}

static void make_flat_block(const cvy_cpu_im2col_run *run, int64_t image_group, cvy_range pixels) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  int64_t image = image_group / p->conv.groups, group = image_group % p->conv.groups;
  int64_t count = cvy_range_length(pixels);
  float *dx =
      run->call->out[0] + cvy_conv_place(p, CVY_X, image, group * plan->channels) + pixels.begin;
  cvy_gemm(plan->channels, count, plan->outputs, filter_of(run, group, 0),
           gradient_of(run, image_group, pixels.begin), p->accumulate, dx, plan->pixels);
  for (int64_t c = 0; c < plan->channels; c++)
    cvy_cpu_epilogue(run->call, dx + c * plan->pixels, group * plan->channels + c, count);
}

static void make_flat_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  cvy_cut blocks = run->plan.blocks;
  (void)slot;
  for (int64_t i = begin; i < end; i++) {
    make_flat_block(run, i / blocks.count,
                    cvy_cut_part(blocks, run->plan.pixels, i % blocks.count));
  }
}

void cvy_cpu_im2col_backward_data(cvy_cpu_im2col_run *run) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t images = plan->p.conv.n * plan->p.conv.groups;
  if (plan->flat)
    cvy_parallel_items(run->call->threads, images * plan->blocks.count, make_flat_blocks, run);
  else
    cvy_parallel_items(run->call->threads, images * plan->parts.count, make_parts, run);
}
