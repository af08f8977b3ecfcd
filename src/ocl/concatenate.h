/* ocl.concatenate: its plan. */
#ifndef CVY_OCL_CONCATENATE_H
#define CVY_OCL_CONCATENATE_H

#include "ocl/plan.h"
#include "ocl/rows.h"

/* Whether indices need 64 bits. */
bool cvy_ocl_concatenate_is_wide(const cvy_problem *problem);
/* How many neighbours an item takes: 4 where each part of y, and what is around it, is made of
 * aligned fours, else 1. */
int32_t cvy_ocl_concatenate_width(const cvy_problem *problem);

#endif
