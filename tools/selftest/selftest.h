/* Runs the self-test, for the report too. */
#ifndef SELFTEST_SELFTEST_H
#define SELFTEST_SELFTEST_H

#include <stdbool.h>
#include <stdio.h>

#include "common/options.h"

typedef struct selftest_options {
  words devices, algorithms;
  words texts; /* problems in place of the built-in list */
  bool verbose, progress;
} selftest_options;

/* Returns an exit status. */
int selftest_run(const selftest_options *options, FILE *out);

#endif
