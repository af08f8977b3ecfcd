/* The column matrix of a block of outputs: one row per (channel, tap), one column per output,
 * holding the input that the output sees at that tap, 0 in the padding. Small enough to be used
 * while it is in cache. */
#ifndef CVY_CPU_IM2COL_COLUMNS_H
#define CVY_CPU_IM2COL_COLUMNS_H

#include "conv/problem.h"
#include "cpu/isa/simd.h"

typedef struct cvy_column_block {
  const cvy_problem *problem;
  const cvy_simd *simd;
  int64_t channels;     /* consecutive ones */
  int64_t begin, count; /* outputs, in their order in memory */
} cvy_column_block;

/* columns [channels * filter volume][count] from x, the first channel's plane. */
void cvy_columns_fill(const cvy_column_block *block, const float *x, float *columns);
/* dx += the transpose of fill. Destroys the columns. */
void cvy_columns_add(const cvy_column_block *block, float *columns, float *dx);

#endif
