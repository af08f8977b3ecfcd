/* The terminal table of the bench. */
#ifndef BENCH_PRINT_H
#define BENCH_PRINT_H

#include "bench/result.h"
#include "common/devices.h"

void bench_print_devices(FILE *out, const device_list *devices);
void bench_print_head(FILE *out, const char *table);
/* Above programs and reductions. */
void bench_print_operations_head(FILE *out);
/* Above networks' steps. */
void bench_print_nets_head(FILE *out);
void bench_print_line(FILE *out, const bench_result *line, bool verbose);
void bench_print_sums(FILE *out, const bench_results *lines, const device_list *devices);

#endif
