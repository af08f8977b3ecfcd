/* What the passes of cpu.im2col share: how the work is cut. */
#ifndef CVY_CPU_IM2COL_IM2COL_H
#define CVY_CPU_IM2COL_IM2COL_H

#include "cpu/blas/gemm.h"
#include "cpu/im2col/columns.h"
#include "cpu/row.h"
#include "cpu/shared/cut.h"

/* All counts are of one group of one image unless said otherwise. */
typedef struct cvy_cpu_im2col_plan {
  cvy_problem p;             /* merged */
  bool flat;                 /* the input as it lies serves as columns, because it is pointwise */
  int64_t channels, outputs; /* per group */
  int64_t taps;              /* filter volume */
  int64_t pixels;            /* outputs per image and channel */
  cvy_cut blocks;            /* of pixels */
  cvy_cut parts;             /* of the channels, where a pass shares them out */
  bool private_sums;         /* in backward_weights each thread sums into a dw of its own */
  int64_t slots;             /* threads */
  int64_t slot_floats;       /* workspace of each */
} cvy_cpu_im2col_plan;

/* The workspace is one array of slots, each large enough for the largest block of columns. */
cvy_cpu_im2col_plan cvy_cpu_im2col_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                            const cvy_params *params);

typedef struct cvy_cpu_im2col_run {
  const cvy_cpu_call *call;
  cvy_cpu_im2col_plan plan;
} cvy_cpu_im2col_run;

/* The passes, a file each. */
void cvy_cpu_im2col_forward(cvy_cpu_im2col_run *run);
void cvy_cpu_im2col_backward_data(cvy_cpu_im2col_run *run);
void cvy_cpu_im2col_backward_weights(cvy_cpu_im2col_run *run);

static inline float *cvy_cpu_im2col_slot(const cvy_cpu_im2col_run *run, int32_t slot) {
  return (float *)run->call->workspace + slot * run->plan.slot_floats;
}

#endif
