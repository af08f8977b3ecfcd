/* A sum is what a whole network costs: the lines of a table, weighted by how often a
 * layer occurs. */
#ifndef BENCH_SUMS_H
#define BENCH_SUMS_H

#include "bench/result.h"
#include "convoy/convoy.h"

typedef struct sum_part {
  double ms, transfers_ms, flops;
  int lines, missing; /* missing: refused or failed, so the sum is too small */
} sum_part;

typedef struct sum {
  char table[64], device[16], requested[32];
  sum_part pass[CONVOY_DIRECTIONS], total;
} sum;

/* Makes one sum for each table, device and algorithm asked for, in the order they first occur.
 * `out` has room for lines->count. Returns how many there are. */
int sums_of(const bench_results *lines, sum *out);

#endif
