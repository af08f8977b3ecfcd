/* Random programs, and values that are hard to compute with. */
#ifndef TEST_RANDOM_PROGRAM_H
#define TEST_RANDOM_PROGRAM_H

#include "common/random.h"
#include "program/program.h"

typedef enum test_program_kind {
  TEST_SMOOTH, /* sums, products and functions that have derivatives */
  TEST_TAME,   /* everything, with constants of moderate size */
  TEST_ANY     /* everything */
} test_program_kind;

/* At most so many instructions; dead and equal ones are gone, so there are mostly fewer. 1 to 5
 * inputs, 1 to 4 results. */
void test_random_program(test_random *random, test_program_kind kind, int instructions,
                         cvy_program *out);

/* Bytes that cvy_program_check accepts and no text gives: dead and equal instructions, constants
 * alone, inputs that are not read, results that are the same. */
void test_raw_program(test_random *random, cvy_program *out);

/* Zeros, infinities, NaN, the ends of the range, neighbours of powers of two, small integers,
 * numbers of every size; no denormal numbers. */
float test_hostile(test_random *random);

/* A random place with extents of at most 1000. */
cvy_program_place test_random_place(test_random *random);

/* Whether two floats are the same bits; any NaN is like any other. */
bool test_same_bits(float a, float b);

#endif
