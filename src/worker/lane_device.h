/* An open device of the lane. */
#ifndef CVY_LANE_DEVICE_H
#define CVY_LANE_DEVICE_H

#include "worker/staging.h"

/* Those that took the place of another recently. */
typedef struct cvy_fresh_workers {
  double window; /* cvy_clock when they began to be counted */
  int32_t count;
} cvy_fresh_workers;

/* Hashes of jobs that the worker was asked to prepare. Each lies in one of so many places from its
 * own on; where they are full one is asked again. */
enum { CVY_ASKED = 2048, CVY_ASKED_PLACES = 16 };

struct cvy_device {
  cvy_channel channel;
  cvy_staging staging, fetches;
  cvy_facts facts;
  cvy_deadlines deadlines;
  int32_t index;
  cvy_open_options options;
  char marker[512]; /* as each worker is told */
  cvy_fresh_workers recent;
  uint64_t asked[CVY_ASKED];
};

#endif
