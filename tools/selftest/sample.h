/* A sample is one problem of the self-test, with whole numbers as data, so that every partial sum
 * is exact. */
#ifndef SELFTEST_SAMPLE_H
#define SELFTEST_SAMPLE_H

#include "common/call.h"
#include "common/check.h"
#include "common/devices.h"

/* There are exact values of two forms of the operation. The full one has beta 1, or is forward with
 * bias and leaky ReLU. */
typedef struct sample {
  const char *text; /* in the problem grammar */
  problem shape;
  operands data;
  reference plain, full;
  float *old; /* what the output holds before a call with beta 1 */
} sample;

/* Makes everything for what->shape. Returns false if memory is exhausted. */
bool sample_make(sample *what);
void sample_free(sample *what);

/* An operation can be called in these ways. */
enum { SAMPLE_WAYS = 3 };
typedef struct sample_way {
  const char *name;
  convoy_status (*run)(convoy_context *context, sample *what, convoy_run *run);
  bool full;
} sample_way;
extern const sample_way sample_ways[SAMPLE_WAYS];

typedef struct outcome {
  bool good;
  convoy_status status; /* of the call */
  char why[512];
} outcome;

/* Calls in one way and compares every element, without tolerance unless the row's plan has one. */
outcome sample_check(sample *what, const device *where, const convoy_plan *plan, int way);

#endif
