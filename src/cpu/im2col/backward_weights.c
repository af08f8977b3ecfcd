/* cpu.im2col, backward_weights: dw += dy columns^T over all blocks of outputs. Threads share the
 * channels, each with its own part of dw. Where there are too few channels for that they share the
 * blocks, each with a dw of its own, and these are added up in fixed order at the end. */
#include <string.h>

#include "cpu/im2col/im2col.h"
#include "problem/conv/conv.h"

/* Adds one block of outputs to the filter gradient `dw` of some channels of a group. */
static void add_block(const cvy_cpu_im2col_run *run, int64_t image_group, cvy_range channels,
                      cvy_range pixels, bool add, float *columns, float *dw) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  int64_t some = cvy_range_length(channels), count = cvy_range_length(pixels);
  int64_t image = image_group / p->conv.groups, group = image_group % p->conv.groups;
  int64_t channel = group * plan->channels + channels.begin;
  const float *x = run->call->in[0] + cvy_conv_place(p, CVY_X, image, channel);
  const float *dy =
      run->call->in[1] + cvy_conv_place(p, CVY_Y, image, group * plan->outputs) + pixels.begin;
  cvy_matrix right = {columns, count, true};
  if (plan->flat)
    right = (cvy_matrix){x + pixels.begin, plan->pixels, true};
  else
    cvy_columns_fill(&(cvy_column_block){p, run->call->simd, some, pixels}, x, columns);
  cvy_gemm(plan->outputs, some * plan->taps, count, (cvy_matrix){dy, plan->pixels, false}, right,
           add, dw, plan->channels * plan->taps);
}

/* ---------------------------------------------------------------------- sharing channels */

static void make_part(const cvy_cpu_im2col_run *run, int64_t group, int64_t number,
                      float *columns) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  const cvy_problem *p = &plan->p;
  cvy_range channels = cvy_cut_part(plan->parts, plan->channels, number);
  int64_t first = group * plan->outputs * plan->channels + channels.begin;
  bool add = p->accumulate;
  for (int64_t n = 0; n < p->conv.n; n++) {
    for (int64_t i = 0; i < plan->blocks.count; i++, add = true) {
      cvy_range pixels = cvy_cut_part(plan->blocks, plan->pixels, i);
      add_block(run, n * p->conv.groups + group, channels, pixels, add, columns,
                run->call->out[0] + first * plan->taps);
    }
  }
}

static void make_parts(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  int64_t parts = run->plan.parts.count;
  for (int64_t i = begin; i < end; i++)
    make_part(run, i / parts, i % parts, cvy_cpu_im2col_slot(run, slot));
}

/* ------------------------------------------------------------------------ sharing blocks */

static void sum_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  const cvy_cpu_im2col_plan *plan = &run->plan;
  int64_t count = cvy_conv_count(&plan->p, CVY_W), blocks = plan->blocks.count;
  float *sum = cvy_cpu_im2col_slot(run, slot);
  float *columns = sum + cvy_align_up(count, CVY_LINE_FLOATS);
  cvy_range all = {0, plan->channels};
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t i = begin; i < end; i++) {
    int64_t image_group = i / blocks, group = image_group % plan->p.conv.groups;
    cvy_range pixels = cvy_cut_part(plan->blocks, plan->pixels, i % blocks);
    add_block(run, image_group, all, pixels, true, columns,
              sum + group * plan->outputs * plan->channels * plan->taps);
  }
}

static int64_t piece_count(const cvy_cpu_im2col_plan *plan) {
  return plan->p.conv.n * plan->p.conv.groups * plan->blocks.count;
}

static void add_sums(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_im2col_run *run = arg;
  int64_t sums = cvy_min(run->plan.slots, piece_count(&run->plan));
  (void)slot;
  for (int64_t i = begin; i < end; i++) {
    float sum = run->plan.p.accumulate ? run->call->out[0][i] : 0.0f;
    for (int64_t s = 0; s < sums; s++) sum += cvy_cpu_im2col_slot(run, (int32_t)s)[i];
    run->call->out[0][i] = sum;
  }
}

void cvy_cpu_im2col_backward_weights(cvy_cpu_im2col_run *run) {
  const cvy_cpu_im2col_plan *plan = &run->plan;
  cvy_threads *threads = run->call->threads;
  if (!plan->private_sums) {
    cvy_parallel_items(threads, plan->p.conv.groups * plan->parts.count, make_parts, run);
    return;
  }
  cvy_parallel_for(threads, piece_count(plan), sum_blocks, run);
  cvy_parallel_for(threads, cvy_conv_count(&plan->p, CVY_W), add_sums, run);
}
