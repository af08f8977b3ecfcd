/* One convolution operation with its extents, and its arrays in host memory. */
#ifndef COMMON_PROBLEM_H
#define COMMON_PROBLEM_H

#include <stdbool.h>

#include "convoy/convoy.h"

typedef struct problem {
  convoy_conv conv;
  convoy_direction direction;
  int64_t x_shape[CONVOY_MAX_DIMS], w_shape[CONVOY_MAX_DIMS], y_shape[CONVOY_MAX_DIMS];
} problem;

/* Which arrays a direction reads (a, b) and writes (out). */
typedef enum array { ARRAY_NONE, ARRAY_X, ARRAY_W, ARRAY_Y, ARRAY_BIAS } array;
typedef struct roles {
  const char *name; /* as in the problem grammar */
  array a, b, out;
} roles;
extern const roles direction_roles[CONVOY_DIRECTIONS];

/* Returns the direction of that name, or -1. */
int direction_find(const char *name);

/* Writes the extents of an array, 5 at most, and returns how many there are. */
int array_shape(const problem *about, array which, int64_t *shape);
int64_t array_count(const problem *about, array which);
/* Returns the bytes of all arrays, each once, which is the least that any algorithm moves. */
double problem_bytes(const problem *about);
double problem_flops(const problem *about);

/* bias is NULL unless asked for; b is NULL for backward_bias. */
typedef struct operands {
  float *a, *b, *bias, *out;
  int64_t a_count, b_count, bias_count, out_count;
} operands;

typedef float fill(uint64_t number);
float fill_real(uint64_t number);    /* in (-1, 1), never 0 */
float fill_integer(uint64_t number); /* -3 .. 3, never 0: sums are exact */

/* Allocates all arrays and fills the inputs. Returns false if memory is exhausted. */
bool operands_make(const problem *about, fill *value, bool with_bias, operands *out);
void operands_free(operands *data);
/* Overwrites the output with NaN, so that what a call does not write is seen. */
void operands_poison(operands *data);

#endif
