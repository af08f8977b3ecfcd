/* Batch norm in training with SiLU, both ways, as programs and reductions: what the speed programs
 * time, over the 62 maps of YOLOv8n at 640 x 640. */
#ifndef TEST_PROGRAM_PASSES_H
#define TEST_PROGRAM_PASSES_H

#include "program/reduce.h"

enum { TEST_PASSES = 4, TEST_MAPS = 13 };

typedef struct test_map {
  int times, channels, size; /* size x size */
} test_map;
extern const test_map test_maps[TEST_MAPS];
extern const char *const test_pass_names[TEST_PASSES];

/* The arrays that passes read and write, by the names that they have in the texts. */
typedef enum test_array {
  TEST_X,
  TEST_DY,
  TEST_Y,
  TEST_DX,
  TEST_LARGE, /* those above are full, those below have a number per channel */
  TEST_MEAN = TEST_LARGE,
  TEST_VARIANCE,
  TEST_GAMMA,
  TEST_BETA,
  TEST_A,
  TEST_B,
  TEST_DEVIATION,
  TEST_SCALE,
  TEST_SHIFT,
  TEST_CHANNELS,
  TEST_EPSILON = TEST_CHANNELS, /* one number */
  TEST_SHARE,
  TEST_ARRAYS
} test_array;

typedef struct test_pass {
  bool reduces;
  cvy_program_problem program;
  cvy_reduce_problem reduction;
  int inputs, results;
  test_array operand[CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS]; /* inputs, then results */
} test_pass;

/* `whole`: what is known per channel is computed where it is used; else the named programs that are
 * compiled ahead. */
void test_pass_of(const test_map *map, int batch, int pass, bool whole, test_pass *out);
/* The bytes it moves at least. */
double test_pass_bytes(const test_pass *pass);
/* The elements of the array, for the largest map. */
int64_t test_array_count(test_array array, int batch);

#endif
