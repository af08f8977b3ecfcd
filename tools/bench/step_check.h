/* Whether a device's first step is the CPU engine's: what the network makes of the batch, and what
 * the step makes of parameters, running statistics and velocities, which are the gradients. */
#ifndef BENCH_STEP_CHECK_H
#define BENCH_STEP_CHECK_H

#include "bench/step.h"

typedef struct step_array {
  float *value;
  int64_t count;
  double scale; /* what a distance in it is relative to */
} step_array;

typedef struct step_reference {
  int count;
  step_array *array;
} step_reference;

/* What the step, which has been run once, has made. On failure nothing is left. */
convoy_status step_reference_make(const bench_step *step, step_reference *out);
void step_reference_free(step_reference *reference);

/* Of all distances, in the L2 norm and relative, the largest part of a bound. */
typedef struct step_verdict {
  double distance, bound, share; /* share: distance / bound */
  char of[NET_NAME + 16];        /* what it is the distance of */
} step_verdict;

convoy_status step_compare(const step_reference *reference, const bench_step *step,
                           step_verdict *out);

#endif
