/* ocl.resample: its plan. */
#ifndef CVY_OCL_RESAMPLE_H
#define CVY_OCL_RESAMPLE_H

#include "ocl/plan.h"
#include "ocl/rows.h"

typedef struct cvy_ocl_resample_plan {
  bool wide;     /* indices need 64 bits */
  bool doubles;  /* each element of a row of x becomes two of y, in aligned fours */
  int32_t width; /* neighbours in y that an item makes, 1 or 4 */
  int64_t items;
} cvy_ocl_resample_plan;

cvy_ocl_resample_plan cvy_ocl_resample_plan_for(const cvy_problem *problem);

#endif
