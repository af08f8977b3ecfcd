/* ocl.reduce: reductions of programs, by generated kernels (ocl/reduce_kernel.h). */
#ifndef CVY_OCL_REDUCE_H
#define CVY_OCL_REDUCE_H

#include "backend.h"

extern const cvy_algorithm cvy_ocl_reduce;

#endif
