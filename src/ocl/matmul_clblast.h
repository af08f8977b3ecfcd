/* ocl.matmul_clblast: its row of the table. */
#ifndef CVY_OCL_MATMUL_CLBLAST_H
#define CVY_OCL_MATMUL_CLBLAST_H

#include "ocl/plan.h"

extern const cvy_algorithm cvy_ocl_matmul_clblast;

/* Floats of workspace. */
int64_t cvy_ocl_matmul_clblast_scratch(const cvy_problem *problem);

#endif
