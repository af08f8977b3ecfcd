/* An operation that only tests have: it proves that core knows none by name. The tables of
 * operations and of the CPU engine's algorithms in centre.c take the place of the library's.
 *
 *   top[c] = max over n of x[n][c]      y[n][c] = (x[n][c] - top[c]) + a[c]
 *
 * Two inputs, two results, defined bit for bit, and a batch whose images depend on one another. */
#ifndef CENTRE_H
#define CENTRE_H

#include "problem/operation.h"

enum { CENTRE = CVY_CONV_OPERATIONS };

cvy_problem centre_problem(int64_t n, int64_t c);
/* What the operation should give. */
void centre_expected(const cvy_problem *problem, const float *x, const float *a, float *y,
                     float *top);

#endif
