/* What maxima and averages on the CPU share: rows of windows and the rows of x that they meet. */
#ifndef CVY_CPU_POOL_POOL_H
#define CVY_CPU_POOL_POOL_H

#include "cpu/row.h"
#include "cpu/shared/range.h"
#include "problem/pooling/pooling.h"

/* Some windows of one row that lie beside each other. */
typedef struct cvy_cpu_windows {
  int64_t oz, oh;
  cvy_range columns;
} cvy_cpu_windows;

/* What a row of windows meets with one tap: elements of a map of x, `step` apart, for the windows
 * `windows`, of which there may be none. */
typedef struct cvy_cpu_tap {
  int64_t number; /* in the window, row-major */
  int64_t first;  /* element in the map */
  int64_t step;
  cvy_range windows;
} cvy_cpu_tap;

/* Calls `each` for every tap that any of the windows has in the map, in row-major order. */
void cvy_cpu_pool_taps(const cvy_pooling_problem *p, const cvy_cpu_windows *windows,
                       void (*each)(void *arg, const cvy_cpu_tap *tap), void *arg);

/* How many windows a thread takes at a time, at most, and its memory: two arrays of so many. */
enum { CVY_CPU_POOL_COLUMNS = 2048, CVY_CPU_POOL_FLOATS = 2 * CVY_CPU_POOL_COLUMNS };

/* Make windows `windows` of a map, from x or dy to y, or add what they give to a map of dx. */
void cvy_cpu_max_pool(const cvy_cpu_call *call, const cvy_cpu_windows *windows, const float *x,
                      float *y);
void cvy_cpu_average_pool(const cvy_cpu_call *call, const cvy_cpu_windows *windows, const float *x,
                          float *y);
void cvy_cpu_max_pool_backward(const cvy_cpu_call *call, const cvy_cpu_windows *windows,
                               const float *x, const float *dy, float *dx, float *memory);
void cvy_cpu_average_pool_backward(const cvy_cpu_call *call, const cvy_cpu_windows *windows,
                                   const float *dy, float *dx, float *memory);

#endif
