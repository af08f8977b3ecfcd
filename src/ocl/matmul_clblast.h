/* ocl.matmul_clblast: */
#ifndef CVY_OCL_MATMUL_CLBLAST_H
#define CVY_OCL_MATMUL_CLBLAST_H

#include "ocl/plan.h"
#include "ocl/rows.h"

/* Floats of workspace. */
int64_t cvy_ocl_matmul_clblast_scratch(const cvy_problem *problem);

#endif
