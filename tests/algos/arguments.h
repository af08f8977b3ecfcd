/* The command line of test_algos: everything, or the one case a failure names. */
#ifndef TEST_ARGUMENTS_H
#define TEST_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct arguments {
  const char *device;    /* see common/device.h; NULL: TEST_DEVICE, else cpu */
  const char *shapes;    /* file of problems */
  const char *shape;     /* one problem instead of the file */
  const char *algorithm; /* NULL: every row */
  const char *operation; /* NULL: every operation */
  uint64_t seed;
} arguments;

/* False, with the usage on stderr, if there is a word it does not know. */
bool arguments_read(int count, char **words, arguments *out);

#endif
