/* Seeded data. Integers are small enough that every partial sum of the test problems is exact in
 * float32, in whatever order it is formed; then any difference is a bug. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

#define TEST_INTEGER_LIMIT 4 /* fill_integers gives -4..4 */

typedef struct test_random {
  uint64_t state;
} test_random;

uint64_t test_next(test_random *random);
/* Uniform in low..high. */
int64_t test_between(test_random *random, int64_t low, int64_t high);

void test_fill_integers(test_random *random, float *values, int64_t count);
/* Uniform in [-1, 1). */
void test_fill_reals(test_random *random, float *values, int64_t count);
/* NaN, for outputs: what is not written shows. */
void test_fill_nan(float *values, int64_t count);

#endif
