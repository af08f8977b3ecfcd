/* The bench: options, and its parts. */
#ifndef BENCH_H
#define BENCH_H

#include "csv.h"
#include "devices.h"
#include "measure.h"
#include "output.h"
#include "record.h"

typedef struct bench_options {
  words shapes, texts, devices, passes, algorithms;
  const char *json, *compare;
  int samples;             /* 0: as `quick` says */
  double min_time, budget; /* seconds; negative: as `quick` says */
  bool quick, progress, verbose;
  const char *command; /* as typed, for the JSON header */
} bench_options;

/* All options at their defaults. */
bench_options bench_defaults(void);

/* Runs a bench: a terminal table to `out`, JSON lines to `lines` unless it is NULL. Returns an exit
 * status. Interrupted, it writes what there is, as INCOMPLETE. */
int bench_run(const bench_options *options, FILE *out, FILE *lines);

/* bench_line.c: one problem with its data and reference, and one line of it on one device. */
typedef struct bench_case {
  const char *table;
  const layer *from;
  problem shape;
  operands data;
  struct reference *exact;
} bench_case;
/* `algorithm` NULL: the context's choice. Never fails: what went wrong is in the record. */
record bench_line(const bench_case *what, device *where, const char *algorithm,
                  const timing *enough);

/* bench_print.c: the terminal table. */
void bench_print_devices(FILE *out, const device_list *devices);
void bench_print_head(FILE *out, const char *table);
void bench_print_line(FILE *out, const record *line, bool verbose);
void bench_print_sums(FILE *out, const records *lines, const device_list *devices);

/* bench_json.c: what a JSON file says besides its lines. */
output_state bench_write_head(FILE *to, const char *command, const device_list *devices);
void bench_write_sums(FILE *to, const records *lines);
/* `why_not`: why it is not complete, or NULL. */
void bench_write_end(FILE *to, const output_state *state, const char *why_not);

/* compare.c: the records of an older run in file `path`, and ratios old / new to them, per line and
 * per table. Each returns an exit status. */
int bench_read_old(const char *path, records *out);
int bench_compare(FILE *out, const char *path, const records *old, const records *now);

#endif
