/* Random elements for a program, and what its definition makes of them. */
#ifndef TEST_PROGRAM_ELEMENTS_H
#define TEST_PROGRAM_ELEMENTS_H

#include "program/random_program.h"

enum { TEST_ELEMENTS = 2048 };

/* Types as in cpu/program/run.h. */
enum { TEST_FLOAT32, TEST_INT32, TEST_UINT8 };

/* Of each element, so that nothing here needs an engine's types. Inputs that are one number have it
 * as often as there are elements. */
typedef struct test_elements {
  int count;
  uint8_t type[CVY_PROGRAM_INPUTS];
  bool single[CVY_PROGRAM_INPUTS];
  union {
    float real[TEST_ELEMENTS];
    int32_t whole[TEST_ELEMENTS];
    uint8_t byte[TEST_ELEMENTS];
  } input[CVY_PROGRAM_INPUTS];
  uint64_t first;
  int64_t extent[CVY_PROGRAM_AXES];
  cvy_program_stream stream;
  float expected[CVY_PROGRAM_RESULTS][TEST_ELEMENTS];
  bool plain[TEST_ELEMENTS]; /* no denormal number was met */
} test_elements;

/* `mixed`: integers and single numbers among the inputs; else arrays of floats. */
void test_elements_fill(test_random *random, const cvy_program *program, int count, bool mixed,
                        test_elements *out);

/* How many plain elements of a result differ, `first` is the first of them. */
int test_elements_differs(const test_elements *all, int result, const float *got, int *first);

#endif
