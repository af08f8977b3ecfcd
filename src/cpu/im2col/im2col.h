/* What the three directions of cpu.im2col share: how the work is cut. */
#ifndef CVY_CPU_IM2COL_IM2COL_H
#define CVY_CPU_IM2COL_IM2COL_H

#include "cpu/im2col/columns.h"
#include "cpu/im2col/gemm.h"
#include "cpu/row.h"

/* All counts are of one group of one image unless said otherwise. */
typedef struct cvy_cpu_im2col_plan {
  cvy_problem p;             /* merged */
  bool flat;                 /* the columns are the input as it lies: 1x1, no stride, no padding */
  int64_t channels, outputs; /* per group */
  int64_t taps;              /* filter volume */
  int64_t pixels;            /* outputs per image and channel */
  int64_t block;             /* of them at a time */
  int64_t cuts;              /* pieces the channels of a group are cut into, by direction */
  bool private_sums;         /* backward_weights: each thread sums into its own dw */
  int64_t slots;             /* threads */
  int64_t slot_floats;       /* workspace of each */
} cvy_cpu_im2col_plan;

/* Enough for the largest block of columns of any slot: the workspace is one array of slots. */
cvy_cpu_im2col_plan cvy_cpu_im2col_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                            const cvy_params *params);

/* Channels [first, first + count) of piece `cut` of a group. */
typedef struct cvy_cpu_im2col_part {
  int64_t first, count;
} cvy_cpu_im2col_part;
cvy_cpu_im2col_part cvy_cpu_im2col_channels(const cvy_cpu_im2col_plan *plan, int64_t cut);

/* A run: the call, its plan, and for each direction its own file. */
typedef struct cvy_cpu_im2col_run {
  const cvy_cpu_call *call;
  cvy_cpu_im2col_plan plan;
} cvy_cpu_im2col_run;

void cvy_cpu_im2col_forward(cvy_cpu_im2col_run *run);
void cvy_cpu_im2col_backward_data(cvy_cpu_im2col_run *run);
void cvy_cpu_im2col_backward_weights(cvy_cpu_im2col_run *run);

static inline int64_t cvy_cpu_im2col_blocks(const cvy_cpu_im2col_plan *plan) {
  return (plan->pixels + plan->block - 1) / plan->block;
}

static inline float *cvy_cpu_im2col_slot(const cvy_cpu_im2col_run *run, int32_t slot) {
  return (float *)run->call->workspace + slot * run->plan.slot_floats;
}

#endif
