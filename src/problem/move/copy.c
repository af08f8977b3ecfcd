/* From a public call to a copy, and what is legal. */
#include "problem/move/move.h"

typedef long long ll;

/* --------------------------------------------------------------------------------- legality */

static bool is_nothing(const cvy_move_copy *p) {
  for (int32_t axis = 0; axis < p->axes; axis++)
    if (p->count[axis] == 0) return true;
  return false;
}

/* Whether an axis' elements have places in y. */
static bool places_fit(const cvy_move_copy *p, int32_t axis) {
  int64_t count = p->count[axis], begin = p->begin[axis], step = p->step[axis], reach;
  if (p->extent[axis] < 0 || count < 0 || begin < 0 || step < 1) return false;
  if (count == 0) return begin <= p->extent[axis];
  if (__builtin_mul_overflow(step, count - 1, &reach)) return false;
  return reach < p->extent[axis] && begin < p->extent[axis] - reach;
}

/* The first and the last element of x that is taken; false: they are not even numbers. */
static bool find_reach(const cvy_move_copy *p, int64_t *first, int64_t *last) {
  *first = *last = p->offset;
  for (int32_t axis = 0; axis < p->axes; axis++) {
    int64_t *end = p->stride[axis] < 0 ? first : last, reach;
    if (p->count[axis] == 0) continue;
    if (__builtin_mul_overflow(p->stride[axis], p->count[axis] - 1, &reach) ||
        __builtin_add_overflow(*end, reach, end))
      return false;
  }
  return true;
}

static bool source_fits(const cvy_move_copy *p) {
  int64_t first, last;
  if (is_nothing(p)) return p->offset == 0;
  return find_reach(p, &first, &last) && first >= 0 && last < p->elements;
}

static bool elements_fit(const cvy_move_copy *p) {
  return p->elements >= 0 && p->elements <= INT64_MAX / (int64_t)sizeof(float);
}

static bool rest_is_zero(const cvy_move_copy *p) {
  for (int32_t i = p->axes; i < CVY_MOVE_AXES; i++)
    if (p->extent[i] || p->count[i] || p->begin[i] || p->step[i] || p->stride[i]) return false;
  return true;
}

static bool axes_legal(const cvy_move_copy *p) {
  bool nothing = is_nothing(p);
  for (int32_t axis = 0; axis < p->axes; axis++) {
    bool moves = p->step[axis] != 1 || p->stride[axis] != 0;
    if (!places_fit(p, axis) || (p->count[axis] <= 1 && moves)) return false;
    if (nothing && (p->count[axis] || p->begin[axis])) return false;
  }
  return true;
}

bool cvy_move_copy_legal(const cvy_problem *problem) {
  const cvy_move_copy *p = &problem->move.copy;
  if (problem->accumulate || p->axes < 1 || p->axes > CVY_MOVE_AXES || p->reserved) return false;
  if (p->dtype < 0 || p->dtype >= CONVOY_DTYPES) return false;
  return elements_fit(p) && rest_is_zero(p) && axes_legal(p) && cvy_bytes_fit(p->extent, p->axes) &&
         source_fits(p);
}

/* ----------------------------------------------------------------------------- fewest axes */

void cvy_move_copy_simplify(cvy_move_copy *p) {
  bool nothing = is_nothing(p);
  if (nothing) p->offset = 0;
  for (int32_t axis = 0; axis < p->axes; axis++) {
    if (nothing) p->count[axis] = p->begin[axis] = 0;
    if (p->count[axis] > 1) continue;
    p->step[axis] = 1;
    p->stride[axis] = 0;
  }
}

static void set_axis(cvy_move_copy *p, int32_t axis, int64_t extent, int64_t count, int64_t begin,
                     int64_t step, int64_t stride) {
  p->extent[axis] = extent;
  p->count[axis] = count;
  p->begin[axis] = begin;
  p->step[axis] = step;
  p->stride[axis] = stride;
}

/* One axis in place of `a` and the one behind it, if there is such a one: where either has a single
 * element, or the inner one is whole and x goes on from one end of it to the next. */
static bool merge(cvy_move_copy *p, int32_t a) {
  int32_t b = a + 1;
  int64_t inner = p->extent[b];
  bool whole = cvy_move_axis_is_full(p, b), single = p->count[b] == 1;
  bool goes_on = p->step[a] == 1 && (p->count[a] == 1 || p->stride[a] == p->stride[b] * inner);
  if (is_nothing(p))
    set_axis(p, a, p->extent[a] * inner, 0, 0, 1, 0);
  else if (single)
    set_axis(p, a, p->extent[a] * inner, p->count[a], p->begin[a] * inner + p->begin[b],
             p->count[a] > 1 ? p->step[a] * inner : 1, p->stride[a]);
  else if (whole && goes_on)
    set_axis(p, a, p->extent[a] * inner, p->count[a] * inner, p->begin[a] * inner, 1, p->stride[b]);
  else
    return false;
  for (int32_t axis = b; axis + 1 < p->axes; axis++)
    set_axis(p, axis, p->extent[axis + 1], p->count[axis + 1], p->begin[axis + 1],
             p->step[axis + 1], p->stride[axis + 1]);
  set_axis(p, --p->axes, 0, 0, 0, 0, 0);
  return true;
}

static void merge_all(cvy_move_copy *p) {
  for (int32_t axis = 0; axis + 1 < p->axes;) {
    if (!merge(p, axis))
      axis++;
    else if (axis > 0)
      axis--;
  }
}

/* ------------------------------------------------------------------------------------ making */

static convoy_status check_axis(const cvy_move_copy *p, int32_t axis) {
  if (places_fit(p, axis)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "copy: along axis %d, of extent %lld, there are no places %lld + %lld k for %lld "
                  "elements",
                  (int)axis, (ll)p->extent[axis], (ll)p->begin[axis], (ll)p->step[axis],
                  (ll)p->count[axis]);
}

static convoy_status check_source(const cvy_move_copy *p) {
  int64_t first = 0, last = 0;
  if (source_fits(p)) return CONVOY_OK;
  if (!find_reach(p, &first, &last)) {
    return cvy_fail(CONVOY_ERR_SHAPE, "copy: the places in x overflow, from offset %lld",
                    (ll)p->offset);
  }
  return cvy_fail(CONVOY_ERR_SHAPE, "copy: elements %lld to %lld of x are taken, it has %lld",
                  (ll)first, (ll)last, (ll)p->elements);
}

static convoy_status check(const cvy_move_copy *p) {
  convoy_status status = CONVOY_OK;
  for (int32_t axis = 0; axis < p->axes && !status; axis++) status = check_axis(p, axis);
  if (!status && !cvy_bytes_fit(p->extent, p->axes))
    status = cvy_fail(CONVOY_ERR_SHAPE, "copy: the bytes of y overflow int64");
  if (!status && !elements_fit(p))
    status = cvy_fail(CONVOY_ERR_SHAPE, "copy: x has %lld elements", (ll)p->elements);
  return status;
}

static void take(const convoy_box *how, cvy_move_copy *p) {
  p->axes = how->axes;
  p->fill = how->fill;
  p->offset = how->offset;
  for (int32_t axis = 0; axis < how->axes; axis++)
    set_axis(p, axis, how->extent[axis], how->count[axis], how->begin[axis], how->step[axis],
             how->stride[axis]);
}

convoy_status cvy_move_copy_take(const convoy_box *how, convoy_dtype dtype, int64_t elements,
                                 cvy_problem *out) {
  convoy_box given = CONVOY_BOX_INIT(1);
  cvy_move_copy *p = &out->move.copy;
  if (!cvy_struct_in(&given, sizeof given, how, sizeof given))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "box->struct_size is %u, at least %zu are needed",
                    how->struct_size, sizeof given);
  if (given.axes < 1 || given.axes > CONVOY_BOX_AXES)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "copy: there are %d axes; legal are 1 to %d",
                    (int)given.axes, CONVOY_BOX_AXES);
  memset(out, 0, CVY_PROBLEM_HEAD + sizeof *p);
  out->operation = CVY_MOVE_COPY;
  p->dtype = (int32_t)dtype;
  p->elements = elements;
  take(&given, p);
  convoy_status status = check(p);
  if (status) return status;
  cvy_move_copy_simplify(p);
  return check_source(p);
}

convoy_status cvy_move_copy_make(const convoy_box *how, convoy_dtype dtype, int64_t elements,
                                 cvy_problem *out) {
  convoy_status status = cvy_move_copy_take(how, dtype, elements, out);
  if (!status) merge_all(&out->move.copy);
  return status;
}

void cvy_move_copy_spell(const cvy_problem *problem, convoy_box *how) {
  const cvy_move_copy *p = &problem->move.copy;
  *how = (convoy_box)CONVOY_BOX_INIT(p->axes);
  how->fill = p->fill;
  how->offset = p->offset;
  for (int32_t axis = 0; axis < p->axes; axis++) {
    how->extent[axis] = p->extent[axis];
    how->count[axis] = p->count[axis];
    how->begin[axis] = p->begin[axis];
    how->step[axis] = p->step[axis];
    how->stride[axis] = p->stride[axis];
  }
}

int64_t cvy_move_copy_results(const cvy_move_copy *p) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < p->axes; axis++) count *= p->extent[axis];
  return count;
}

bool cvy_move_copy_is_full(const cvy_move_copy *p) {
  for (int32_t axis = 0; axis < p->axes; axis++)
    if (!cvy_move_axis_is_full(p, axis)) return false;
  return true;
}
