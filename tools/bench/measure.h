/* Times one problem on one context, with operands resident and from host memory. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "common/call.h"
#include "common/stats.h"

/* When there is enough: `samples` of them, each of at least `min_time` seconds (several operations
 * back to back with one wait), `total_time` seconds together; but once `budget` seconds are spent,
 * what is there must do. */
typedef struct timing {
  int samples;
  double min_time, total_time, budget;
} timing;

typedef struct subject {
  convoy_context *context;
  const problem *about;
  operands *data;
  tensors *resident;
} subject;

/* Seconds per operation. *batch is the number of operations per sample. Warm up before. */
convoy_status measure_resident(const subject *what, const timing *enough, stats *out,
                               int64_t *batch);
/* The same from ordinary host memory and back, one operation per sample. */
convoy_status measure_host(const subject *what, const timing *enough, stats *out);

#endif
