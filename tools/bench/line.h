/* A line of the bench is one problem, with its data and its reference, on one device. */
#ifndef BENCH_LINE_H
#define BENCH_LINE_H

#include "bench/measure.h"
#include "bench/result.h"
#include "common/check.h"
#include "common/csv.h"
#include "common/devices.h"

typedef struct bench_case {
  const char *table;
  const layer *from;
  problem shape;
  operands data;
  reference *exact;
} bench_case;

/* Lets the context choose if `algorithm` is NULL. Never fails: what went wrong is in the result. */
/* A program or reduction, with its operands filled and what is wanted of it; is_gradient: it is the
 * gradient of the text. */
typedef struct bench_operation {
  operation *what;
  bool is_gradient;
} bench_operation;

/* The same for one of these. */
bench_result bench_operation_line(const bench_operation *what, device *where, const char *algorithm,
                                  const timing *enough);

bench_result bench_line(const bench_case *what, device *where, const char *algorithm,
                        const timing *enough);

#endif
