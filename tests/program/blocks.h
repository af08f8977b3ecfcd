/* Blocks of random data for a program, and what its definition makes of them. */
#ifndef TEST_PROGRAM_BLOCKS_H
#define TEST_PROGRAM_BLOCKS_H

#include "program/random_program.h"

enum { TEST_BLOCK = 2048 };

/* Types as in cpu/program/run.h. */
enum { TEST_FLOAT32, TEST_INT32, TEST_UINT8 };

/* Of each element, so that nothing here needs an engine's types. Inputs that are one number have it
 * as often as there are elements. */
typedef struct test_block {
  int count;
  uint8_t type[CVY_PROGRAM_INPUTS];
  bool single[CVY_PROGRAM_INPUTS];
  union {
    float real[TEST_BLOCK];
    int32_t whole[TEST_BLOCK];
    uint8_t byte[TEST_BLOCK];
  } input[CVY_PROGRAM_INPUTS];
  uint64_t first;
  int64_t extent[CVY_PROGRAM_AXES];
  cvy_program_stream stream;
  float expected[CVY_PROGRAM_RESULTS][TEST_BLOCK];
  bool plain[TEST_BLOCK]; /* no denormal number was met */
} test_block;

/* `mixed`: integers and single numbers among the inputs; else arrays of floats. */
void test_block_fill(test_random *random, const cvy_program *program, int count, bool mixed,
                     test_block *out);

/* How many plain elements of a result differ, `first` is the first of them. */
int test_block_differs(const test_block *block, int result, const float *got, int *first);

#endif
