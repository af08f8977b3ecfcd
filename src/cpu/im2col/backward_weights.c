/* cpu.im2col, backward_weights: dw += dy columns^T over all blocks of outputs. Threads share the
 * channels, each with its own part of dw; where there are too few channels for that they share the
 * blocks, each with a dw of its own, added up in fixed order at the end. */
#include <string.h>

#include "cpu/im2col/im2col.h"
#include "cpu/shared/range.h"

/* Adds one block of outputs to the filter gradient `dw` of some channels of a group. */
static void add_block(const cvy_cpu_im2col_run *run, int64_t image_group, cvy_cpu_im2col_part slice,
                      int64_t begin, bool add, float *columns, float *dw) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  int64_t count = cvy_min(plan->block, plan->pixels - begin);
  const float *x = run->call->a + (image_group * plan->channels + slice.first) * cvy_in_volume(p);
  cvy_matrix dy = {run->call->b + image_group * plan->outputs * plan->pixels + begin, plan->pixels,
                   false};
  cvy_matrix right = {columns, count, true};
  if (plan->flat)
    right = (cvy_matrix){x + begin, plan->pixels, true};
  else {
    cvy_columns_fill(&(cvy_column_block){p, run->call->simd, slice.count, begin, count}, x,
                     columns);
  }
  cvy_gemm(plan->outputs, slice.count * plan->taps, count, dy, right, add, dw,
           plan->channels * plan->taps);
}

/* ---------------------------------------------------------------------- sharing channels */

static void make_slice(const cvy_cpu_im2col_run *run, int64_t group, int64_t cut, float *columns) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  cvy_cpu_im2col_part slice = cvy_cpu_im2col_channels(plan, cut);
  if (slice.count == 0) return;
  float *dw = run->call->out + (group * plan->outputs * plan->channels + slice.first) * plan->taps;
  bool add = p->accumulate;
  for (int64_t n = 0; n < p->n; n++) {
    for (int64_t begin = 0; begin < plan->pixels; begin += plan->block, add = true)
      add_block(run, n * p->groups + group, slice, begin, add, columns, dw);
  }
}

static void make_slices(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  for (int64_t i = begin; i < end; i++)
    make_slice(run, i / run->plan.cuts, i % run->plan.cuts, cvy_cpu_im2col_slot(run, slot));
}

/* ------------------------------------------------------------------------ sharing blocks */

static void sum_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t count = cvy_problem_count(&plan->p, CVY_W), blocks = cvy_cpu_im2col_blocks(plan);
  float *sum = cvy_cpu_im2col_slot(run, slot), *columns = sum + (count + 15) / 16 * 16;
  cvy_cpu_im2col_part all = {0, plan->channels};
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t i = begin; i < end; i++) {
    int64_t image_group = i / blocks, group = image_group % plan->p.groups;
    add_block(run, image_group, all, i % blocks * plan->block, true, columns,
              sum + group * plan->outputs * plan->channels * plan->taps);
  }
}

static int64_t piece_count(const cvy_cpu_im2col_plan *plan) {
  return plan->p.n * plan->p.groups * cvy_cpu_im2col_blocks(plan);
}

static void add_sums(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  int64_t parts = cvy_min(run->plan.slots, piece_count(&run->plan));
  (void)slot;
  for (int64_t i = begin; i < end; i++) {
    float sum = run->plan.p.accumulate ? run->call->out[i] : 0.0f;
    for (int64_t part = 0; part < parts; part++) sum += cvy_cpu_im2col_slot(run, (int32_t)part)[i];
    run->call->out[i] = sum;
  }
}

void cvy_cpu_im2col_backward_weights(cvy_cpu_im2col_run *run) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  cvy_threads *threads = run->call->threads;
  if (!plan->private_sums) {
    cvy_parallel_items(threads, plan->p.groups * plan->cuts, make_slices, run);
    return;
  }
  cvy_parallel_for(threads, piece_count(plan), sum_blocks, run);
  cvy_parallel_for(threads, cvy_problem_count(&plan->p, CVY_W), add_sums, run);
}
