/* The column matrix of a block of outputs: one row per (channel, tap), one column per output,
 * holding the input that the output sees at that tap, or 0 in the padding. It is so small that it
 * is used while it is in cache. */
#ifndef CVY_CPU_IM2COL_COLUMNS_H
#define CVY_CPU_IM2COL_COLUMNS_H

#include "cpu/isa/simd.h"
#include "cpu/shared/range.h"
#include "problem/conv/conv.h"

typedef struct cvy_column_block {
  const cvy_problem *problem;
  const cvy_simd *simd;
  int64_t channels; /* consecutive ones */
  cvy_range pixels; /* outputs, in their order in memory */
} cvy_column_block;

/* Fills columns [channels * filter volume][pixels] from x, the first channel's plane. */
void cvy_columns_fill(const cvy_column_block *block, const float *x, float *columns);
/* Adds the transpose of what cvy_columns_fill does to dx. Destroys the columns. */
void cvy_columns_add(const cvy_column_block *block, float *columns, float *dx);

#endif
