/* Monotonic time. */
#include <time.h>

#include "os/os.h"

double cvy_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
