/* See move.h. */
#include "move.h"

#include <stdbool.h>

static double value_of(convoy_dtype dtype, const void *x, int64_t index) {
  if (dtype == CONVOY_INT32) return (double)(float)((const int32_t *)x)[index];
  if (dtype == CONVOY_UINT8) return (double)((const uint8_t *)x)[index];
  return (double)((const float *)x)[index];
}

/* Which of the copied elements is at a place along an axis; -1: none. */
static int64_t element_at(const convoy_box *box, int axis, int64_t place) {
  int64_t behind = place - box->begin[axis];
  int64_t k = behind / box->step[axis];
  bool there = behind >= 0 && behind == k * box->step[axis] && k < box->count[axis];
  return there ? k : -1;
}

ref_value ref_copy(const convoy_box *box, convoy_dtype dtype, const void *x, int64_t index) {
  int64_t pitch = 1, at = box->offset;
  for (int axis = 1; axis < box->axes; axis++) pitch *= box->extent[axis];
  for (int axis = 0; axis < box->axes; axis++) {
    int64_t k = element_at(box, axis, index / pitch);
    if (k < 0) return (ref_value){(double)box->fill, 0.0, 0};
    at += k * box->stride[axis];
    index %= pitch;
    if (axis + 1 < box->axes) pitch /= box->extent[axis + 1];
  }
  return (ref_value){value_of(dtype, x, at), 0.0, 0};
}

ref_value ref_concatenate(int32_t count, const convoy_dtype *dtypes,
                          const int64_t shapes[][CONVOY_MAX_DIMS], const void *const *inputs,
                          int64_t index) {
  int64_t width = 0, image;
  int32_t i = 0;
  for (int32_t each = 0; each < count; each++) width += shapes[each][1];
  image = index / width;
  index %= width;
  while (index >= shapes[i][1]) {
    index -= shapes[i][1];
    i++;
  }
  return (ref_value){value_of(dtypes[i], inputs[i], image * shapes[i][1] + index), 0.0, 0};
}
