/* The generator is splitmix64 (Steele, Lea, Flood 2014): one word of state, any seed is good. */
#include "common/random.h"

#include <math.h>

uint64_t test_next(test_random *random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int64_t test_between(test_random *random, int64_t low, int64_t high) {
  return low + (int64_t)(test_next(random) % (uint64_t)(high - low + 1));
}

void test_fill_integers(test_random *random, float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    values[i] = (float)test_between(random, -TEST_INTEGER_LIMIT, TEST_INTEGER_LIMIT);
}

void test_fill_reals(test_random *random, float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    values[i] = (float)test_between(random, -(1 << 23), (1 << 23) - 1) / (float)(1 << 23);
}

void test_fill_nan(float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) values[i] = NAN;
}
