/* What the tests of this folder say of calls and tensors. */
#ifndef TESTS_NETS_TENSORS_H
#define TESTS_NETS_TENSORS_H

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

#endif
