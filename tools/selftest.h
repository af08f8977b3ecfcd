/* The self-test, also for the report. */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

typedef struct selftest_options {
  words devices, algorithms;
  words texts; /* problems in place of the built-in list */
  bool verbose, progress;
} selftest_options;

/* Returns an exit status. */
int selftest_run(const selftest_options *options, FILE *out);

/* selftest_problems.c: small problems in the problem grammar, without their direction; NULL ends. */
extern const char *const selftest_problems[];

#endif
