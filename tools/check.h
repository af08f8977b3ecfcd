/* Compares results with a float64 reference, all elements or a sample of them. */
#ifndef CHECK_H
#define CHECK_H

#include "problem.h"

typedef struct reference_point {
  int64_t index;
  double value, magnitude; /* exact value; sum of |a||b| */
  int64_t terms;
} reference_point;

typedef struct reference {
  int64_t count;
  reference_point *points;
} reference;

/* The exact values of the whole output, or, if it has more than `most` elements, of its first, last
 * and corner elements and others spread at random, `most` together. False: out of memory. */
bool reference_make(const problem *about, const operands *data, int64_t most, reference *out);
void reference_free(reference *values);

typedef struct verdict {
  int64_t wrong;      /* elements beyond their bound */
  int64_t not_finite; /* NaN or infinite, among all elements of the output */
  double error;       /* largest |y - exact| */
  double share;       /* largest error / bound */
  int64_t index;      /* of the worst element, with what it is and ought to be */
  double got, expected;
} verdict;

/* bound = factor (terms + 2) 2^-24 magnitude; factor 0 wants equal values. */
verdict reference_compare(const reference *values, const float *out, int64_t out_count,
                          double factor);
/* With the bound that the header promises of the plan's row: factor 4, and more where the plan has an
 * error_growth. False: out of memory. */
bool reference_compare_promised(const problem *about, const operands *data, const reference *values,
                                const convoy_plan *plan, verdict *result);
bool verdict_good(const verdict *result);

#endif
