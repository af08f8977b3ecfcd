/* The CPU context that all tests of a program share, opened before the first and closed after the last. */
#ifndef TEST_SHARED_CONTEXT_H
#define TEST_SHARED_CONTEXT_H

#include "expect.h"

static convoy_context *context;

static int open_context(void **state) {
  (void)state;
  context = open_cpu();
  return 0;
}

static int close_context(void **state) {
  (void)state;
  convoy_close(context);
  return 0;
}

#endif
