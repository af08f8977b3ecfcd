/* What the tests of this folder say of calls and tensors. */
#ifndef TESTS_NETS_TENSORS_H
#define TESTS_NETS_TENSORS_H

#include <stdlib.h>

#include "common/cmocka.h"
#include "convoy/convoy.h"

/* A failure ends the test. */
static inline void good(convoy_status status) {
  if (status) fail_msg("%s: %s", convoy_status_name(status), convoy_last_error());
}

/* Its elements. */
static inline int64_t count_of(convoy_tensor *tensor) {
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  int32_t dims;
  good(convoy_tensor_shape(tensor, shape, &dims));
  for (int i = 0; i < dims; i++) count *= shape[i];
  return count;
}

/* Numbers between -size and size, the same each time. */
static inline void fill(convoy_tensor *tensor, float size) {
  int64_t count = count_of(tensor);
  float *values = malloc((size_t)count * sizeof *values);
  uint32_t random = 12345;
  for (int64_t i = 0; i < count; i++) {
    random = random * 1664525u + 1013904223u;
    values[i] = size * ((float)(random >> 8) / (1 << 23) - 1.0f);
  }
  good(convoy_tensor_write(tensor, values, count));
  free(values);
}

#endif
