/* cpu.im2col, forward: y block = w columns, for each block of outputs of each image and group. */
#include "cpu/im2col/im2col.h"
#include "cpu/shared/epilogue.h"
#include "problem/conv/conv.h"

static void make_block(const cvy_cpu_im2col_run *run, int64_t image_group, cvy_range pixels,
                       float *columns) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  int64_t group = image_group % p->conv.groups, rows = plan->channels * plan->taps;
  int64_t count = cvy_range_length(pixels);
  int64_t image = image_group / p->conv.groups;
  const float *x = run->call->in[0] + cvy_conv_place(p, CVY_X, image, group * plan->channels);
  float *y =
      run->call->out[0] + cvy_conv_place(p, CVY_Y, image, group * plan->outputs) + pixels.begin;
  cvy_matrix w = {run->call->in[1] + group * plan->outputs * rows, rows, false};
  cvy_matrix right = {columns, count, false};
  if (plan->flat)
    right = (cvy_matrix){x + pixels.begin, plan->pixels, false};
  else
    cvy_columns_fill(&(cvy_column_block){p, run->call->simd, plan->channels, pixels}, x, columns);
  cvy_gemm(plan->outputs, count, rows, w, right, p->accumulate, y, plan->pixels);
  for (int64_t k = 0; k < plan->outputs; k++)
    cvy_cpu_epilogue(run->call, y + k * plan->pixels, group * plan->outputs + k, count);
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  cvy_cut blocks = run->plan.blocks;
  for (int64_t i = begin; i < end; i++) {
    make_block(run, i / blocks.count, cvy_cut_part(blocks, run->plan.pixels, i % blocks.count),
               cvy_cpu_im2col_slot(run, slot));
  }
}

void cvy_cpu_im2col_forward(cvy_cpu_im2col_run *run) {
  const cvy_problem *p = &run->plan.p;
  cvy_parallel_items(run->call->threads, p->conv.n * p->conv.groups * run->plan.blocks.count,
                     make_blocks, run);
}
