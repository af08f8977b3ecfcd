/* What tests that fork may expect of the C library. */
#ifndef TEST_FORKS_H
#define TEST_FORKS_H

#include <stdlib.h>

#define SKIPPED 77 /* exit status that CTest counts as skipped */

/* The C library's malloc works in a child whatever other threads were doing at the fork.
 * AddressSanitizer's does not: its locks stay taken in the child if another thread was inside. */
#if defined(__SANITIZE_ADDRESS__)
#define FORKS_WITHIN_MALLOC false
#else
#define FORKS_WITHIN_MALLOC true
#endif

/* ThreadSanitizer ends a forked child that starts a thread: there everything is computed by the
 * thread that calls, without one that watches it. */
static inline void start_no_threads(void) {
#if defined(__SANITIZE_THREAD__)
  setenv("CONVOY_THREADS", "1", 1);
  setenv("CONVOY_CPU_STALL", "0", 1);
#endif
}

#endif
