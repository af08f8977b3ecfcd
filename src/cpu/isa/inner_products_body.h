/* Body of the microkernel of inner products. The including file sets
 * INNER_COLUMNS so that the sums, a vector of each row and one of a column fill the registers. */
#include "cpu/isa/inner_products.h"

#define INNER_ROWS 4 /* the floats of a quad, in which the sums of a column end */

/* Adds up a vector to four floats of the same sum. */
ALWAYS quad fold(vector v) {
#if WIDTH == 16
  typedef float octet __attribute__((vector_size(32), aligned(4), may_alias));
  octet eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
         __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#elif WIDTH == 8
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
  return v;
#endif
}

/* Adds up the vectors of the four rows of a column to four sums side by side. */
ALWAYS quad fold_rows(const vector *sums) {
  quad a = fold(sums[0]), b = fold(sums[1]), c = fold(sums[2]), d = fold(sums[3]);
  quad e = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  quad f = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return __builtin_shufflevector(e, f, 0, 1, 4, 5) + __builtin_shufflevector(e, f, 2, 3, 6, 7);
}

ALWAYS void put_column(const cvy_inner_products_tile *t, int64_t j, quad sums) {
  float *to = t->sum + j;
  for (int64_t r = 0; r < t->rows; r++, to += t->sum_pitch) *to = t->add ? *to + sums[r] : sums[r];
}

static void inner_products(const cvy_inner_products_tile *t) {
  vector sum[INNER_COLUMNS][INNER_ROWS];
  const float *x[INNER_COLUMNS];
  UNROLL(8)
  for (int j = 0; j < INNER_COLUMNS; j++) {
    x[j] = t->x + t->column[j];
    UNROLL(8)
    for (int r = 0; r < INNER_ROWS; r++) sum[j][r] = (vector){0};
  }
  for (int64_t i = 0; i < t->length; i += WIDTH) {
    vector y[INNER_ROWS];
    UNROLL(8)
    for (int r = 0; r < INNER_ROWS; r++) y[r] = load(t->y + r * t->y_pitch + i);
    UNROLL(8)
    for (int j = 0; j < INNER_COLUMNS; j++) {
      vector from = load(x[j] + i);
      UNROLL(8)
      for (int r = 0; r < INNER_ROWS; r++) sum[j][r] += from * y[r];
    }
  }
  UNROLL(8)
  for (int j = 0; j < INNER_COLUMNS; j++)
    if (j < t->columns) put_column(t, j, fold_rows(sum[j]));
}
