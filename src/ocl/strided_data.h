/* ocl.strided_data: its row of the table, and how it cuts up a problem. */
#ifndef CVY_OCL_STRIDED_DATA_H
#define CVY_OCL_STRIDED_DATA_H

#include "ocl/plan.h"
#include "ocl/rows.h"

typedef struct cvy_ocl_strided_data_plan {
  int64_t bm, bn, bk, tm; /* of the tile; an item has 4 columns */
  int64_t items;          /* per work-group */
  int64_t sums;           /* per item, of all phases */
  cvy_ocl_product product;
  int64_t work_groups;
  int64_t packed;  /* floats of the packed weights */
  int64_t scratch; /* floats of partial results */
} cvy_ocl_strided_data_plan;

cvy_ocl_strided_data_plan cvy_ocl_strided_data_plan_for(const cvy_problem *problem,
                                                        const cvy_params *params);

#endif
