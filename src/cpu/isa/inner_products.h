/* The contract of the microkernel of inner products: the sums of a few rows with a few columns,
 * which lie as long rows, too.
 *
 *   sum[r][j] (+)= sum over i < length of y[r y_pitch + i] x[column[j] + i],  r < rows, j < columns
 *
 * A whole tile is computed: y must hold, and `column` name, as many rows as the tile has. What is
 * beyond `rows` and `columns` is not written. Whole vectors are read: behind a row of y there must
 * be 0 up to the end of a vector, and behind x any finite number. */
#ifndef CVY_CPU_ISA_INNER_PRODUCTS_H
#define CVY_CPU_ISA_INNER_PRODUCTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cvy_inner_products_tile {
  const float *x, *y;
  const int64_t *column;
  float *sum;
  int64_t y_pitch, sum_pitch, length;
  int64_t rows, columns;
  bool add; /* they are added to what sum holds, else it is not read */
} cvy_inner_products_tile;

typedef struct cvy_inner_products_kernel {
  int64_t rows, columns; /* of a tile */
  void (*run)(const cvy_inner_products_tile *tile);
} cvy_inner_products_kernel;

#endif
