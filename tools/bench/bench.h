/* The options of the bench, and what runs it. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/turns.h"
#include "common/options.h"

typedef struct bench_options {
  words shapes, texts, operations, nets, devices, threads, passes, algorithms;
  const char *json, *compare;
  int samples;             /* 0: as `quick` says */
  double min_time, budget; /* seconds; negative: as `quick` says */
  bool quick, progress, verbose;
  bool gradients;   /* of the operations, too */
  int batch, image; /* of the nets; image: the extent, 0: the usual one */
  training_length length;
  const char *command; /* as typed, for the JSON header */
} bench_options;

/* Returns all options at their defaults. */
bench_options bench_defaults(void);

/* Runs a bench: a terminal table goes to `out`, JSON lines go to `lines` unless it is NULL. Returns
 * an exit status. Interrupted, it writes what there is, as INCOMPLETE. */
int bench_run(const bench_options *options, FILE *out, FILE *lines);

#endif
