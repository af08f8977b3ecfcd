/* Times one problem on one context, with operands resident and from host memory. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "common/call.h"
#include "common/operation.h"
#include "common/stats.h"

/* There is enough when there are `samples` of at least `min_time` seconds each (several operations
 * back to back with one wait), and of `total_time` seconds together. Once `budget` seconds are
 * spent, what is there must do. */
typedef struct timing {
  int samples;
  double min_time, total_time, budget;
} timing;

/* One of the two is timed, the other is NULL. */
typedef struct subject {
  convoy_context *context;
  const char *device; /* its id */
  const problem *about;
  operands *data;
  tensors *resident;
  operation *program;
  convoy_tensor *const *operand; /* of the program */
} subject;

/* Measures seconds per operation. *batch becomes the number of operations per sample. The caller
 * warms up before. */
convoy_status measure_resident(const subject *what, const timing *enough, stats *out,
                               int64_t *batch);
/* Measures the same from ordinary host memory and back, one operation per sample. */
convoy_status measure_host(const subject *what, const timing *enough, stats *out);

#endif
