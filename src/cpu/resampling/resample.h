/* What the steps of resampling on the CPU share. */
#ifndef CVY_CPU_RESAMPLING_RESAMPLE_H
#define CVY_CPU_RESAMPLING_RESAMPLE_H

#include "cpu/row.h"
#include "problem/resampling/resampling.h"

/* Along each axis, for each element of y: which elements of x, and the weight of the second. */
typedef struct cvy_cpu_places {
  int32_t *low[3], *high[3];
  float *weight[3];
} cvy_cpu_places;

typedef struct cvy_cpu_resampling {
  const cvy_cpu_call *call;
  const cvy_resampling_problem *p;
  cvy_cpu_places places;
  float *rows; /* of linear ones: a row of x for each thread */
} cvy_cpu_resampling;

/* A row of y, of a map: the rows of x that it is made of, 1 or up to 4, and their weights. */
typedef struct cvy_cpu_sources {
  int32_t count;
  int64_t row[4]; /* their first elements in the map */
  float weight[4];
} cvy_cpu_sources;

/* Makes a row of y of a map of x, or adds what a row of dy gives to a map of dx. `row` has room for
 * a row of x. */
void cvy_cpu_resample_row(const cvy_cpu_resampling *run, const cvy_cpu_sources *from,
                          const float *x, float *y, float *row);
void cvy_cpu_resample_row_backward(const cvy_cpu_resampling *run, const cvy_cpu_sources *from,
                                   const float *dy, float *dx, float *row);

#endif
