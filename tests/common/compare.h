/* Comparison of a result with the reference that no NaN slips through. */
#ifndef TEST_COMPARE_H
#define TEST_COMPARE_H

#include <stddef.h>

#include "ref/ref.h"

#define TEST_EXACT 0.0
#define TEST_ROUNDED 4.0 /* the factor promised in convoy.h for everything but Winograd */

typedef struct test_difference {
  int64_t bad;   /* elements outside their tolerance */
  int64_t worst; /* index of the one furthest outside, -1 if none */
  double got, expected, tolerance;
} test_difference;

/* Tolerance of an element: factor * (terms + 2) * 2^-24 * magnitude. */
double test_tolerance(const ref_value *expected, double factor);

test_difference test_compare(const float *got, const ref_value *expected, int64_t count,
                             double factor);

/* "17 of 90 elements wrong, worst [4]: got nan, expected 3 (tolerance 0)". */
void test_describe(const test_difference *difference, int64_t count, char *text, size_t size);

#endif
