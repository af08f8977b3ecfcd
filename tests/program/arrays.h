/* Random problems of programs over arrays: extents, classes, element types, strides, memory, and
 * what the definition makes of them. */
#ifndef TEST_PROGRAM_ARRAYS_H
#define TEST_PROGRAM_ARRAYS_H

#include "program/random_program.h"
#include "program/reduce.h"

enum {
  TEST_ARRAY_FLOATS = 1 << 16, /* of one operand's memory */
  TEST_ARRAY_EDGE = 16         /* elements in front of an operand and behind, that nobody touches */
};

typedef struct test_operand {
  int64_t offset; /* of its first element, in elements; 0 to TEST_ARRAY_EDGE - 1, and the edge */
  int64_t count;  /* elements of its memory, edges included */
  union {
    float real[TEST_ARRAY_FLOATS];
    int32_t whole[TEST_ARRAY_FLOATS];
    uint8_t byte[4 * TEST_ARRAY_FLOATS];
  } memory;
} test_operand;

typedef struct test_arrays {
  cvy_program_problem problem;
  cvy_reduce_problem reduction; /* of it, if it has axes; then the results are the reduction's */
  int results;
  test_operand input[CVY_PROGRAM_INPUTS];
  test_operand result[CVY_PROGRAM_RESULTS];               /* all a guard's value */
  float expected[CVY_PROGRAM_RESULTS][TEST_ARRAY_FLOATS]; /* of memory, guards where none is */
  bool undefined[CVY_PROGRAM_RESULTS][TEST_ARRAY_FLOATS]; /* a denormal number was met */
  int64_t elements, plain;
} test_arrays;

/* Extents whose product is mostly at most `most`; odd ones, short rows, long rows, single elements,
 * now and then a long n. */
void test_random_extents(test_random *random, int64_t most, int64_t *extent);
/* A random class, or strides: a slice of channels, permuted axes, every other position. */
cvy_program_view test_random_view(test_random *random, convoy_dtype type, const int64_t *extent);
/* Of results: full, a slice of channels, permuted axes. */
cvy_program_view test_random_result(test_random *random, const int64_t *extent);

/* `aligned`: all offsets are multiples of four and most extents too, as engines like it. `tame`: no
 * infinities, no NaN, moderate sizes. */
void test_arrays_views(test_random *random, const cvy_program *program, bool aligned,
                       test_arrays *out);
void test_arrays_memory(test_random *random, bool aligned, bool tame, test_arrays *out);
/* A random reduction of the program: axes, kinds, values, pieces of every length. */
void test_arrays_reduction(test_random *random, const cvy_program *program, bool aligned,
                           test_arrays *out);
/* What the definition makes of them, into `expected`. */
void test_arrays_expect(test_arrays *out);

const void *test_operand_at(const test_operand *operand, int32_t type);

/* The inputs' memory from their first elements on. */
void test_arrays_inputs(const test_arrays *all, const void **inputs);

/* Elements of a result's memory that are not as expected; the first is told with the problem. */
int test_arrays_wrong(const test_arrays *all, int result, const float *memory, const char *who);

#endif
