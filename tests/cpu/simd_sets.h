/* The sets of inner loops that this processor has, and arrays of integers for them. */
#ifndef TEST_CPU_SIMD_SETS_H
#define TEST_CPU_SIMD_SETS_H

#include "cpu/isa/simd.h"

#define ROOM 4096
#define ROW 61 /* from row to row of x and y */

extern const cvy_simd *sets[3];
extern int set_count;
extern float x[ROOM], y[ROOM], expected[ROOM], w[8];

void find_sets(void);
/* Fills all arrays; `expected` becomes y. */
void fill(void);
/* Asserts that y is what was expected. */
void expect_equal(void);

#endif
