/* What items of cl/reach.cl can do, see there. */
#include "ocl/reach.h"

/* Taps of a row that are unrolled together; source positions of a row that an item holds; source rows
 * that are unrolled. */
#define TAPS_AT_ONCE 16
#define MOST_REACH 64
#define MOST_ROWS 16

/* About the source positions of one axis that `results` neighbours meet. */
static int64_t reach(const cvy_problem *problem, int axis, int64_t results, int64_t taps) {
  const int64_t stride = problem->stride[axis], far = (taps - 1) * problem->dilation[axis];
  if (problem->direction == CONVOY_FORWARD) return (results - 1) * stride + far + 1;
  return (results + far) / stride + 2;
}

bool cvy_ocl_reach_fits(const cvy_problem *problem, int64_t rows, int64_t columns) {
  const int64_t *stride = problem->stride, *filter = problem->filter;
  const int64_t at_once = filter[2] < TAPS_AT_ONCE ? filter[2] : TAPS_AT_ONCE;
  if (reach(problem, 2, columns, at_once) > MOST_REACH) return false;
  if (rows > 1 && reach(problem, 1, rows, filter[1]) > MOST_ROWS) return false;
  if (problem->direction == CONVOY_FORWARD) return true;
  if (filter[2] > at_once && at_once * problem->dilation[2] % stride[2] != 0) return false;
  return rows % stride[1] == 0 && columns % stride[2] == 0;
}

int64_t cvy_ocl_reach_items(const cvy_problem *problem, int64_t rows, int64_t columns) {
  const int64_t *extent = problem->direction == CONVOY_FORWARD ? problem->out : problem->in;
  return extent[0] * cvy_ocl_ceil_div(extent[1], rows) * cvy_ocl_ceil_div(extent[2], columns);
}
