/* Items of cl/reach.cl, which have rows by columns of neighbouring results and the geometry
 * compiled in. */
#ifndef CVY_OCL_REACH_H
#define CVY_OCL_REACH_H

#include "ocl/plan.h"

/* Whether such items can be compiled for the problem's direction: what is unrolled is short,
 * strides divide, and long columns of taps allow one row at a time only. */
bool cvy_ocl_reach_fits(const cvy_problem *problem, int64_t rows, int64_t columns);

/* How many such items a map takes. */
int64_t cvy_ocl_reach_items(const cvy_problem *problem, int64_t rows, int64_t columns);

#endif
