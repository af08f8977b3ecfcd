/* The sum of two arrays, whatever their extents are. */
#include "problem/gradient.h"
#include "problem/program/bind.h"

/* As [c], or as [n][c] where they are more than one extent may be. */
static bool find_extents(int64_t count, cvy_shape *shape) {
  enum { MOST_IMAGES = 1 << 16 };
  *shape = (cvy_shape){.dtype = CONVOY_FLOAT32, .dims = 2, .extent = {1, count, 1, 1, 1}};
  while (shape->extent[1] > INT32_MAX && shape->extent[0] < MOST_IMAGES) {
    shape->extent[0]++;
    if (count % shape->extent[0] == 0) shape->extent[1] = count / shape->extent[0];
  }
  return shape->extent[0] * shape->extent[1] == count && shape->extent[1] <= INT32_MAX;
}

convoy_status cvy_problem_sum(int64_t count, cvy_problem *out) {
  cvy_shape shape;
  if (!find_extents(count, &shape))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "two arrays of %lld elements cannot be added",
                    (long long)count);
  const cvy_shape inputs[] = {shape, shape};
  return cvy_program_bind(cvy_program_common(CVY_COMMON_ADD), inputs, &shape, out);
}
