/* Two operations that only tests have: they prove that core knows none by name. The tables of
 * operations and of the CPU engine's algorithms in centre.c take the place of the library's. Both
 * have two inputs and two results.
 *
 * CENTRE is defined bit for bit, and the images of its batch depend on one another:
 *   top[c] = max over n of x[n][c]      y[n][c] = (x[n][c] - top[c]) + a[c]
 * SQUARE has a bound, is not linear, and its images are independent:
 *   square[n][c] = x[n][c]^2 + a[c]     less[n][c] = square[n][c] - x[n][c] */
#ifndef CENTRE_H
#define CENTRE_H

#include "problem/operation.h"

enum { CENTRE = CVY_OPERATIONS, SQUARE };

cvy_problem centre_problem(int64_t n, int64_t c);
/* What the operation should give. */
void centre_expected(const cvy_problem *problem, const float *x, const float *a, float *y,
                     float *top);

cvy_problem square_problem(int64_t n, int64_t c);
void square_expected(const cvy_problem *problem, const float *x, const float *a, float *square,
                     float *less);

#endif
