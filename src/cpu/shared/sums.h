/* How gradients of weights are cut. The terms of a sum are cut into slices by what they are, never
 * by how many threads there are: the order of a sum, and with it its bits, is the same for any
 * number (docs/decisions/056). Which sums a piece of work makes follows from the threads. */
#ifndef CVY_CPU_SHARED_SUMS_H
#define CVY_CPU_SHARED_SUMS_H

#include "cpu/isa/simd.h"
#include "cpu/shared/sizes.h"

/* What there is to do, of one group: rows times columns of sums, of so many terms each. Costs are
 * in cycles of one thread. */
typedef struct cvy_sum_work {
  int64_t groups, rows, columns, terms;
  int64_t least_rows, least_columns, least_terms; /* of a piece */
  double row_term, column_term;                   /* to load a term of a row, and of a column */
  double product;                                 /* a term of a sum */
  double slice; /* to write a sum of a slice and to add it to another */
} cvy_sum_work;

/* Pieces of work: each makes the sums of some rows and columns, of a slice of the terms. */
typedef struct cvy_sum_cut {
  int64_t slices;        /* whose sums are joined pairwise: a power of two */
  int64_t rows, columns; /* parts */
} cvy_sum_cut;

cvy_sum_cut cvy_sum_cut_of(const cvy_sum_work *work, int64_t threads);

/* Adds up `slices` arrays of `count` floats, `pitch` apart, in the first of them: neighbours, then
 * sums of neighbours. */
void cvy_sum_join(const cvy_simd *simd, float *sums, int64_t pitch, int64_t slices, int64_t count);

#endif
