/* Compares a run of the bench with an older one. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "bench/result.h"

/* Reads the results of an older run from file `path`. Returns an exit status. */
int bench_read_old(const char *path, bench_results *out);

/* Writes ratios old / new per line and per table. Returns an exit status. */
int bench_compare(FILE *out, const char *path, const bench_results *old, const bench_results *now);

#endif
