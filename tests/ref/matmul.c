/* See matmul.h. Every operand is indexed from its own shape, by (matrix, row, column). */
#include "matmul.h"

#include <math.h>

typedef struct operand {
  int64_t matrices, rows, columns; /* as it lies */
  const float *at;
} operand;

static operand operand_of(int32_t dims, const int64_t *shape, const float *at) {
  return (operand){dims == 3 ? shape[0] : 1, shape[dims - 2], shape[dims - 1], at};
}

static double entry(const operand *of, int transposed, int64_t matrix, int64_t row,
                    int64_t column) {
  int64_t r = transposed ? column : row, c = transposed ? row : column;
  int64_t which = of->matrices == 1 ? 0 : matrix;
  return (double)of->at[(which * of->rows + r) * of->columns + c];
}

ref_value ref_matmul(uint32_t flags, const int32_t dims[3],
                     const int64_t shapes[3][CONVOY_MAX_DIMS], const float *a, const float *b,
                     int64_t index) {
  operand left = operand_of(dims[0], shapes[0], a), right = operand_of(dims[1], shapes[1], b);
  int a_transposed = (flags & CONVOY_MATMUL_TRANSPOSE_A) != 0;
  int b_transposed = (flags & CONVOY_MATMUL_TRANSPOSE_B) != 0;
  int64_t rows = shapes[2][dims[2] - 2], columns = shapes[2][dims[2] - 1];
  int64_t column = index % columns, row = index / columns % rows, first = index / columns / rows;
  int64_t last = flags & CONVOY_MATMUL_SUM ? left.matrices - 1 : first;
  int64_t terms = a_transposed ? left.rows : left.columns;
  ref_value out = {0.0, 0.0, 0};
  for (int64_t matrix = first; matrix <= last; matrix++) {
    for (int64_t k = 0; k < terms; k++) {
      double term = entry(&left, a_transposed, matrix, row, k) *
                    entry(&right, b_transposed, matrix, k, column);
      out.value += term;
      out.magnitude += fabs(term);
      out.terms++;
    }
  }
  return out;
}
