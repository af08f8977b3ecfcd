/* What a problem of the family of matrix products says (problem/matmul/matmul.h). */
#ifndef CVY_MATMUL_ATTRIBUTES_H
#define CVY_MATMUL_ATTRIBUTES_H

#include "problem/view.h"

/* Matrices lie row after row, those of a batch one behind the other, unless they are part of a
 * larger tensor. */
typedef struct cvy_matmul_problem {
  int64_t batch;                      /* how many products there are */
  int64_t m, n, k;                    /* of each: m by k times k by n */
  int32_t a_transposed, b_transposed; /* a lies as [k][m], b as [n][k] */
  int32_t a_shared, b_shared;         /* one matrix for the whole batch; never both */
  int32_t summed;                     /* y is the sum of the products; then neither is shared */
  int32_t reserved;                   /* 0 */
  cvy_array_view a, b, y; /* how the operands lie; 0 of what is the same for the whole batch */
} cvy_matmul_problem;

#endif
