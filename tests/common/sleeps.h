/* How often a thread was woken, for tests of what shall sleep. */
#ifndef TEST_SLEEPS_H
#define TEST_SLEEPS_H

#include <stdio.h>

/* How often the thread of a `status` file in /proc went to sleep; -1: there is no such thread. */
static inline long test_sleeps(const char *status) {
  char line[256];
  long count = -1;
  FILE *file = fopen(status, "re");
  while (file && count < 0 && fgets(line, sizeof line, file))
    sscanf(line, "voluntary_ctxt_switches: %ld", &count);
  if (file) fclose(file);
  return count;
}

#endif
