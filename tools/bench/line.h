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
bench_result bench_line(const bench_case *what, device *where, const char *algorithm,
                        const timing *enough);

#endif
