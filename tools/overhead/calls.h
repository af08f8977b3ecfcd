/* What single calls cost, and how fast data move. */
#ifndef OVERHEAD_CALLS_H
#define OVERHEAD_CALLS_H

#include "overhead/sides.h"

/* Figures are medians of seconds of the caller's time. */
typedef struct overhead_calls {
  double enqueue; /* one of many in a row */
  double wait;    /* for what the device has done meanwhile */
  double once;    /* one operation and the wait for it, the device's time included */
} overhead_calls;

/* Measures calls for a problem that takes the device no time worth mentioning. */
convoy_status overhead_measure_calls(const sides *on, overhead_calls out[SIDES]);

/* Figures are bytes per second. */
typedef struct overhead_transfers {
  double up, down;    /* calls from and to ordinary memory */
  double up_shared;   /* a call from memory of convoy_host_alloc */
  double down_shared; /* a tensor read into such memory */
} overhead_transfers;

/* Measures with isolation=process, through operations that move much and compute little. */
convoy_status overhead_measure_transfers(const sides *on, overhead_transfers *out);

#endif
