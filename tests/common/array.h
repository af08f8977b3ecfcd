/* A host array between canaries. Its address is a multiple of 4 bytes and of nothing more: code that
 * assumes more alignment than the header asks for fails here. */
#ifndef TEST_ARRAY_H
#define TEST_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct test_array {
  float *values;
  int64_t count;
  unsigned char *block;
  uint64_t seal;
} test_array;

/* Ends the test program when memory is exhausted. */
test_array test_array_new(int64_t count);
void test_array_free(test_array *array);

/* Whether nothing was written in front or behind. */
bool test_array_intact(const test_array *array);

/* Remembers the values as they are; unchanged then says whether every bit is still the same. */
void test_array_seal(test_array *array);
bool test_array_unchanged(const test_array *array);

#endif
