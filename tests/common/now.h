/* Time that passes, whatever happens to the clock of the day. */
#ifndef TESTS_COMMON_NOW_H
#define TESTS_COMMON_NOW_H

#include <time.h>

/* In seconds, since some moment. */
static inline double test_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
