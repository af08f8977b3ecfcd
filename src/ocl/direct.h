/* ocl.direct: its row of the table. It needs no plan. */
#ifndef CVY_OCL_DIRECT_H
#define CVY_OCL_DIRECT_H

#include "ocl/plan.h"

extern const cvy_algorithm cvy_ocl_direct;

#endif
