/* ocl.matmul: its row of the table, and how it cuts up a problem. */
#ifndef CVY_OCL_MATMUL_H
#define CVY_OCL_MATMUL_H

#include "ocl/plan.h"
#include "ocl/rows.h"
#include "problem/matmul/matmul.h"

typedef struct cvy_ocl_matmul_plan {
  cvy_matmul_products of;
  cvy_ocl_tile tile;
  int64_t items; /* per work-group */
  int64_t row_tiles, column_tiles;
  int64_t slices, slice_length; /* of each sum, in terms */
  int64_t results;              /* elements of all products, or of their sum */
  int64_t scratch;              /* floats of partial results */
  int64_t work_groups;
  bool wide; /* indices have 64 bits */
} cvy_ocl_matmul_plan;

cvy_ocl_matmul_plan cvy_ocl_matmul_plan_for(const cvy_problem *problem, const cvy_params *params);

/* How far the largest of the arrays reaches, in elements. */
int64_t cvy_ocl_matmul_largest(const cvy_problem *problem);

#endif
