/* Gradients of problems against central differences, in float64 and without a device. */
#ifndef TEST_GRADIENT_CHECK_H
#define TEST_GRADIENT_CHECK_H

#include "common/random.h"
#include "problem/operation.h"

typedef struct test_gradient_counts {
  int checked, skipped; /* elements: those whose difference depends on its step say nothing */
  int steps;
} test_gradient_counts;

/* Takes the gradient at random places for random gradients of the results, and compares up to so
 * many elements of each. Every step is looked at too: legal, of a text that is read back, and with
 * arrays as long as what is bound to them. Returns what cvy_problem_gradient does. */
convoy_status test_check_gradient(test_random *random, const cvy_problem *problem, uint32_t wanted,
                                  uint32_t given, int elements, test_gradient_counts *counts);

#endif
