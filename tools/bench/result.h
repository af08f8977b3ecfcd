/* A result is one line of a bench: what was timed and what came out. It is written to JSON lines
 * and read back. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "convoy/convoy.h"

typedef struct bench_result {
  char table[64], shape[CONVOY_PROBLEM_TEXT], pass[20];
  char device[16], device_name[128], driver[128];
  char requested[32]; /* the algorithm asked for: "auto" or a name */
  char algorithm[32], parameters[128];
  char status[16]; /* "ok", "refused", "wrong", "error" */
  char reason[256];
  char problem[CONVOY_PROBLEM_TEXT];
  int64_t count, workspace_bytes, samples, batch;
  double flops, bytes;                      /* of one operation; bytes = every array once */
  double error, error_share;                /* largest |y - exact|, and error / bound */
  double min_ms, median_ms, max_ms, spread; /* operands resident */
  double transfers_ms;                      /* median from and to host memory */
  double gflops;                            /* at the median */
  double flops_share, copy_share;           /* of the measured peaks; NaN if those are unknown */
  /* Of a network's step only: operations of a run, memory of the device, milliseconds of capturing
   * and planning, and of the first run, the mean of runs that follow one another, with batches from
   * the host, days of the training asked for. */
  int64_t operations, memory_bytes;
  double capture_ms, first_ms, mean_ms, images_per_second, days;
} bench_result;

/* Returns a result with all figures NaN and all texts empty. */
bench_result bench_result_new(void);
bool bench_result_ok(const bench_result *line);

void bench_result_write(FILE *to, const bench_result *line);
/* Returns false for a line of text that is not a result. */
bool bench_result_read(const char *text, bench_result *out);
/* Reads what a line says of its file's state: `why` gets the reason that the file is not complete,
 * or "" if it is. Returns false for a line that says nothing. */
bool bench_result_read_state(const char *text, char *why, size_t size);

typedef struct bench_results {
  int count, capacity;
  bench_result *item;
  /* This says why the file they are from is not complete. It is "" if the file is, or does
   * not say. */
  char incomplete[160];
} bench_results;

/* Returns false if memory is exhausted. */
bool bench_results_add(bench_results *list, const bench_result *line);
void bench_results_free(bench_results *list);

#endif
