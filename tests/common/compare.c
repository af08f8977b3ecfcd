/* See compare.h. An element passes only if its error is at most the tolerance: a NaN, which compares
 * false with everything, fails, and ranks worse than any number. */
#include "common/compare.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

double test_tolerance(const ref_value *expected, double factor) {
  return factor * (double)(expected->terms + 2) * 0x1p-24 * expected->magnitude;
}

/* How far outside; NaN becomes infinity so that it can be ranked. */
static double excess(double error, double tolerance) {
  return isnan(error) ? INFINITY : error - tolerance;
}

test_difference test_compare(const float *got, const ref_value *expected, int64_t count,
                             double factor) {
  test_difference d = {.worst = -1};
  double worst = 0.0;
  for (int64_t i = 0; i < count; i++) {
    const double tolerance = test_tolerance(&expected[i], factor);
    const double error = fabs((double)got[i] - expected[i].value);
    if (error <= tolerance) continue;
    d.bad++;
    if (d.worst >= 0 && !(excess(error, tolerance) > worst)) continue;
    worst = excess(error, tolerance);
    d.worst = i;
    d.got = (double)got[i];
    d.expected = expected[i].value;
    d.tolerance = tolerance;
  }
  return d;
}

void test_describe(const test_difference *difference, int64_t count, char *text, size_t size) {
  snprintf(text, size,
           "%lld of %lld elements wrong, worst [%lld]: got %.9g, expected %.9g (tolerance %.3g)",
           (long long)difference->bad, (long long)count, (long long)difference->worst,
           difference->got, difference->expected, difference->tolerance);
}
