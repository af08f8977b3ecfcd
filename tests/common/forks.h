/* What tests that fork may expect of the C library. */
#ifndef TEST_FORKS_H
#define TEST_FORKS_H

#define SKIPPED 77 /* exit status that CTest counts as skipped */

/* The C library's malloc works in a child whatever other threads were doing at the fork.
 * AddressSanitizer's does not: its locks stay taken in the child if another thread was inside. */
#if defined(__SANITIZE_ADDRESS__)
#define FORKS_WITHIN_MALLOC false
#else
#define FORKS_WITHIN_MALLOC true
#endif

#endif
