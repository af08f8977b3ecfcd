/* One layer with its data on a device. Data are small integers and every sum stays below 2^24, so
 * float32 results are exact and the identities hold to the last bit. */
#ifndef TEST_LAYER_H
#define TEST_LAYER_H

#include "common/array.h"
#include "common/case.h"
#include "common/random.h"

typedef struct layer {
  convoy_context *context;
  const char *device;
  test_case problem;
  test_random random;
  int64_t x_count, w_count, y_count;
} layer;

layer layer_make(convoy_context *context, const char *device, const test_case *problem,
                 uint64_t seed);

/* A new array with random integers. */
test_array layer_data(layer *l, int64_t count);

/* Results of the three operations in new arrays, poisoned first. A failed call fails the running
 * cmocka test; so does one that ran elsewhere or more than once. */
test_array layer_forward(const layer *l, const float *x, const float *w);
test_array layer_backward_data(const layer *l, const float *dy, const float *w);
test_array layer_backward_weights(const layer *l, const float *x, const float *dy);

/* Fails the running test with what broke and the line that reproduces it. */
void layer_fail(const layer *l, const char *what, int64_t index, double got, double expected);

#endif
