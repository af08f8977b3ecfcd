/* What items can be compiled with cl/reach.cl. */
#include "ocl/reach.h"

/* So many taps of a row are unrolled together at most, so many source positions of a row are held
 * by an item, and so many source rows are unrolled. */
#define TAPS_AT_ONCE 16
#define MOST_REACH 64
#define MOST_ROWS 16

/* About how many source positions of one axis `results` neighbours meet. */
static int64_t reach(const cvy_problem *problem, int axis, int64_t results, int64_t taps) {
  int64_t stride = problem->conv.stride[axis], far = (taps - 1) * problem->conv.dilation[axis];
  if (problem->operation == CONVOY_FORWARD) return (results - 1) * stride + far + 1;
  return (results + far) / stride + 2;
}

bool cvy_ocl_reach_fits(const cvy_problem *problem, int64_t rows, int64_t columns) {
  const int64_t *stride = problem->conv.stride, *filter = problem->conv.filter;
  int64_t at_once = filter[2] < TAPS_AT_ONCE ? filter[2] : TAPS_AT_ONCE;
  if (reach(problem, 2, columns, at_once) > MOST_REACH) return false;
  if (rows > 1 && reach(problem, 1, rows, filter[1]) > MOST_ROWS) return false;
  if (problem->operation == CONVOY_FORWARD) return true;
  if (filter[2] > at_once && at_once * problem->conv.dilation[2] % stride[2] != 0) return false;
  return rows % stride[1] == 0 && columns % stride[2] == 0;
}

int64_t cvy_ocl_reach_items(const cvy_problem *problem, int64_t rows, int64_t columns) {
  const int64_t *extent =
      problem->operation == CONVOY_FORWARD ? problem->conv.out : problem->conv.in;
  return extent[0] * cvy_ocl_ceil_div(extent[1], rows) * cvy_ocl_ceil_div(extent[2], columns);
}
