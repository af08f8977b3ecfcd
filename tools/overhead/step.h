/* A training step of a table's convolutions, timed on both sides. */
#ifndef OVERHEAD_STEP_H
#define OVERHEAD_STEP_H

#include "common/call.h"
#include "common/csv.h"
#include "common/stats.h"
#include "overhead/sides.h"

enum { OVERHEAD_SAMPLES_MOST = 1000 };

typedef struct paired {
  stats side[SIDES]; /* seconds of a sample */
  stats ratio;       /* process / none, of pairs taken one after the other */
} paired;

/* A part is one layer in one direction, with its arrays in ordinary memory and on both sides. */
typedef struct overhead_part {
  problem about;
  int64_t count;
  operands data;
  tensors resident[SIDES];
} overhead_part;

/* A step is three directions of every layer of a table, each `count` times. */
typedef struct overhead_step {
  const sides *on;
  int parts;
  overhead_part *part;
} overhead_step;

/* Makes the step, and runs it once in each way, so that programs are built and first uses are
 * past. */
convoy_status overhead_step_make(const sides *on, const layer_table *table, overhead_step *out);
void overhead_step_free(overhead_step *step);

/* Times the step on tensors of the device: everything is enqueued, with one wait at the end. */
convoy_status overhead_resident(const overhead_step *step, int samples, paired *out);
/* Times the step from ordinary memory and back, call by call. `verified` gets the share of the time
 * that went into verification on the process side. */
convoy_status overhead_host(const overhead_step *step, int samples, paired *out, double *verified);

#endif
