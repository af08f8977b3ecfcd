/* A sum is what a whole network costs: the lines of a table, weighted by how often a
 * layer occurs. */
#ifndef BENCH_SUMS_H
#define BENCH_SUMS_H

#include "bench/result.h"
#include "convoy/convoy.h"

typedef struct bench_sum_part {
  double ms, transfers_ms, flops;
  int lines, missing; /* missing: refused or failed, so the sum is too small */
} bench_sum_part;

typedef struct bench_sum {
  char table[64], device[16], requested[32];
  bench_sum_part pass[CONVOY_DIRECTIONS], total;
} bench_sum;

/* Makes one sum for each table, device and algorithm asked for, in the order they first occur.
 * `out` has room for lines->count. Returns how many there are. */
int bench_sums_of(const bench_results *lines, bench_sum *out);

#endif
