/* One line of a bench: what was timed and what came out. Written to JSON lines and read back. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "convoy/convoy.h"

typedef struct record {
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
} record;

/* All figures NaN, all texts empty. */
record record_new(void);
bool record_ok(const record *line);

void record_write(FILE *to, const record *line);
/* False for a line of text that is not a record. */
bool record_read(const char *text, record *out);
/* What a line says of its file's state: `why` gets the reason that it is not complete, "" if it is. False
 * for a line that says nothing. */
bool record_read_state(const char *text, char *why, size_t size);

typedef struct records {
  int count, capacity;
  record *item;
  char incomplete
      [160]; /* why the file they are from is not complete; "" if it is, or does not say */
} records;

/* False: out of memory. */
bool records_add(records *list, const record *line);
void records_free(records *list);

#endif
