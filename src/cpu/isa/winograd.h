/* Winograd's minimal filtering for 3x3 filters of stride 1 (Lavin and Gray, arXiv 1509.09308), over
 * tiles of m x m outputs, which see n x n inputs, n = m + 2:
 *
 *   y = A' [(G g G') * (B' d B)] A
 *
 * The products of all channels at one of the n x n points are a matrix product. Backward_weights is
 * the same with dy's tiles as filters of m x m, and with 3 x 3 outputs; the input's transform B is
 * shared.
 *
 * The points are 0, 1, -1 and infinity for m = 2, and 0, 3/4, -3/4, 3/2, -3/2 and infinity for m =
 * 4: binary fractions, with a fifth of the error of 1 and 2, the points of the paper. */
#ifndef CVY_CPU_ISA_WINOGRAD_H
#define CVY_CPU_ISA_WINOGRAD_H

#include <stdint.h>

/* Two-dimensional transforms of many tiles or channels side by side. */
typedef enum cvy_winograd_transform {
  CVY_WINOGRAD_INPUT,  /* n x n -> n x n */
  CVY_WINOGRAD_FILTER, /* 3 x 3 -> n x n */
  CVY_WINOGRAD_OUTPUT, /* n x n -> m x m */
  CVY_WINOGRAD_DY,     /* m x m of dy -> n x n */
  CVY_WINOGRAD_DW,     /* n x n -> 3 x 3 of dw */
  CVY_WINOGRAD_TRANSFORMS
} cvy_winograd_transform;

/* Element (i, j) of array e is from[i from_row + j from_column + e], e < count. Whole vectors are
 * read and written, so there must be room behind. */
typedef struct cvy_winograd_arrays {
  const float *from;
  int64_t from_row, from_column;
  float *to;
  int64_t to_row, to_column;
  int64_t count;
} cvy_winograd_arrays;

typedef void cvy_winograd_fn(const cvy_winograd_arrays *arrays);

typedef struct cvy_winograd_tables {
  cvy_winograd_fn *two[CVY_WINOGRAD_TRANSFORMS];  /* for m = 2 */
  cvy_winograd_fn *four[CVY_WINOGRAD_TRANSFORMS]; /* for m = 4 */
} cvy_winograd_tables;

#endif
