/* `convoy overhead`: what the safety net costs on a device. Everything is measured twice, with the driver in
 * a process of its own and with the driver in this one, turn about. */
#ifndef OVERHEAD_H
#define OVERHEAD_H

#include "call.h"
#include "csv.h"
#include "stats.h"

enum { SIDE_PROCESS, SIDE_NONE, SIDES, OVERHEAD_SAMPLES_MOST = 1000 };

/* The same device, opened with isolation=process and isolation=none. */
typedef struct sides {
  convoy_context *context[SIDES];
} sides;

typedef struct paired {
  stats side[SIDES]; /* seconds of a sample */
  stats ratio;       /* process / none, of pairs taken one after the other */
} paired;

/* --------------------------------------------------------------------- overhead_step.c */

/* One layer in one direction, with its arrays in ordinary memory and on both sides. */
typedef struct overhead_part {
  problem about;
  int64_t count;
  operands data;
  tensors resident[SIDES];
} overhead_part;

/* A training step of a table's convolutions: three directions of every layer, each `count` times. */
typedef struct overhead_step {
  const sides *on;
  int parts;
  overhead_part *part;
} overhead_step;

/* Makes the step, and runs it once in each way, so that programs are built and first uses are past. */
convoy_status overhead_step_make(const sides *on, const layer_table *table, overhead_step *out);
void overhead_step_free(overhead_step *step);

/* On tensors of the device: everything is enqueued, one wait at the end. */
convoy_status overhead_resident(const overhead_step *step, int samples, paired *out);
/* From ordinary memory and back, call by call. `verified` gets the share of the time that went into
 * verification on the process side. */
convoy_status overhead_host(const overhead_step *step, int samples, paired *out, double *verified);

/* -------------------------------------------------------------------- overhead_calls.c */

/* Seconds of the caller's time, medians. */
typedef struct overhead_calls {
  double enqueue; /* one of many in a row */
  double wait;    /* for what the device has done meanwhile */
  double once;    /* one operation and the wait for it, the device's time included */
} overhead_calls;

/* Of a problem that takes the device no time worth mentioning. */
convoy_status overhead_measure_calls(const sides *on, overhead_calls out[SIDES]);

/* Bytes per second: calls from and to ordinary memory; a call from memory of convoy_host_alloc, and a
 * tensor read into such. */
typedef struct overhead_transfers {
  double up, down, up_shared, down_shared;
} overhead_transfers;

/* With isolation=process, through operations that move much and compute little. */
convoy_status overhead_measure_transfers(const sides *on, overhead_transfers *out);

#endif
