/* What maxima and averages on the CPU share: where maps lie, what windows meet. */
#ifndef CVY_CPU_POOL_POOL_H
#define CVY_CPU_POOL_POOL_H

#include "cpu/row.h"
#include "cpu/shared/range.h"
#include "problem/pooling/pooling.h"

enum { CVY_CPU_POOL_FLOATS = 12288 }; /* of a thread's memory */

/* Where a map of all images lies. */
int64_t cvy_cpu_pool_x_place(const cvy_problem *problem, int64_t map);
int64_t cvy_cpu_pool_y_place(const cvy_problem *problem, int64_t map);
int64_t cvy_cpu_pool_dx_place(const cvy_problem *problem, int64_t map);

/* A map of dx becomes 0, unless it is added to. */
void cvy_cpu_pool_clear(const cvy_cpu_call *call, int64_t map);

/* Which elements of x window `o` meets along an axis, where windows have no gaps. */
cvy_range cvy_cpu_pool_meets(const cvy_pooling_problem *p, int axis, int64_t o);

/* The operations. */
void cvy_cpu_max_pool(const cvy_cpu_call *call);
void cvy_cpu_max_pool_backward(const cvy_cpu_call *call);
void cvy_cpu_average_pool(const cvy_cpu_call *call);
void cvy_cpu_average_pool_backward(const cvy_cpu_call *call);

#endif
