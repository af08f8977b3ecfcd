/* How gradients of weights are cut: by what they are, never by how many threads there are, so that
 * the order of their sums, and with it their bits, is the same on any machine of an instruction set
 * (docs/decisions/056). */
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
  int64_t rows, columns; /* parts */
  int64_t slices;        /* whose sums are joined pairwise */
} cvy_sum_cut;

cvy_sum_cut cvy_sum_cut_of(const cvy_sum_work *work);

/* Adds up `slices` arrays of `count` floats, `pitch` apart, in the first of them: neighbours, then
 * sums of neighbours. */
void cvy_sum_join(const cvy_simd *simd, float *sums, int64_t pitch, int64_t slices, int64_t count);

#endif
