/* ocl.fully_connected: what it has ocl.matmul do. */
#ifndef CVY_OCL_FULLY_CONNECTED_H
#define CVY_OCL_FULLY_CONNECTED_H

#include "ocl/plan.h"
#include "ocl/rows.h"

/* Of a problem that it accepts: the product, and its parameters. */
void cvy_ocl_fully_connected_product(const cvy_problem *problem, const cvy_facts *facts,
                                     cvy_problem *product, cvy_params *params);

#endif
