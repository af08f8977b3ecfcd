/* What the rows of products share: how the result is cut into blocks, which threads make one by
 * one.
 */
#ifndef CVY_CPU_MATMUL_MATMUL_H
#define CVY_CPU_MATMUL_MATMUL_H

#include "cpu/row.h"
#include "cpu/shared/cut.h"
#include "problem/matmul/matmul.h"

/* Rows and columns of the microkernel's largest tile, multiples of those of all instruction sets.
 * Blocks are multiples of them, since what juts out is computed for nothing. */
#define CVY_CPU_MATMUL_TILE 8
#define CVY_CPU_MATMUL_STRIP 48

typedef struct cvy_cpu_matmul_plan {
  cvy_matmul_products of;
  bool accumulate;
  cvy_cut rows, columns; /* of a result */
  int64_t blocks;        /* of all results */
} cvy_cpu_matmul_plan;

/* One block of a result: a's rows times b's columns, for all products that are its sum. */
typedef struct cvy_cpu_matmul_block {
  const float *a, *b; /* of the first product, from the block's row and column on */
  float *y;
  int64_t rows, columns, products;
} cvy_cpu_matmul_block;

/* Blocks of at most so many rows and columns, enough for all threads. */
cvy_cpu_matmul_plan cvy_cpu_matmul_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                            int64_t most_rows, int64_t most_columns);
cvy_cpu_matmul_block cvy_cpu_matmul_block_at(const cvy_cpu_matmul_plan *plan,
                                             const cvy_cpu_call *call, int64_t number);

#endif
