/* What a JSON file of the bench says besides its lines. */
#ifndef BENCH_JSON_FILE_H
#define BENCH_JSON_FILE_H

#include "bench/result.h"
#include "common/devices.h"
#include "common/output.h"

output_state bench_write_head(FILE *to, const char *command, const device_list *devices);
void bench_write_sums(FILE *to, const bench_results *lines);
/* `why_not` says why the file is not complete, and is NULL if it is. */
void bench_write_end(FILE *to, const output_state *state, const char *why_not);

#endif
