/* ocl.pool: its plan. */
#ifndef CVY_OCL_POOL_H
#define CVY_OCL_POOL_H

#include "ocl/plan.h"
#include "ocl/rows.h"

/* Elements of x and of y, over all maps. */
int64_t cvy_ocl_pool_inputs(const cvy_problem *problem);
int64_t cvy_ocl_pool_outputs(const cvy_problem *problem);

/* Of a row of dx: an item of a maximum's gradient has a cell, which is as long as the stride, or
 * one element where that is long. */
int64_t cvy_ocl_pool_cells(const cvy_problem *problem);

/* Whether indices need 64 bits. */
bool cvy_ocl_pool_is_wide(const cvy_problem *problem);

#endif
