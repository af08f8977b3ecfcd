/* Permutations, slices and padding as copies. */
#include "problem/move/move.h"

typedef long long ll;

static void set_strides(const cvy_shape *x, int64_t *stride) {
  int64_t next = 1;
  for (int32_t axis = x->dims - 1; axis >= 0; axis--) {
    stride[axis] = next;
    next *= x->extent[axis];
  }
}

static convoy_status check_permutation(const int32_t *axes, int32_t dims) {
  uint32_t found = 0;
  for (int32_t axis = 0; axis < dims; axis++)
    if (axes[axis] >= 0 && axes[axis] < dims) found |= 1u << axes[axis];
  if (found == (1u << dims) - 1) return CONVOY_OK;
  char list[64];
  cvy_text text = cvy_text_in(list, sizeof list);
  for (int32_t axis = 0; axis < dims; axis++) cvy_text_add(&text, " %d", (int)axes[axis]);
  return cvy_fail(CONVOY_ERR_ARGUMENT, "permute: the axes are%s; each of 0 to %d must come once",
                  list, (int)dims - 1);
}

convoy_status cvy_move_permute(const cvy_shape *x, const int32_t *axes, convoy_box *out) {
  int64_t stride[CONVOY_MAX_DIMS];
  convoy_status status = check_permutation(axes, x->dims);
  if (status) return status;
  *out = (convoy_box)CONVOY_BOX_INIT(x->dims);
  set_strides(x, stride);
  for (int32_t axis = 0; axis < x->dims; axis++) {
    out->extent[axis] = out->count[axis] = x->extent[axes[axis]];
    out->stride[axis] = stride[axes[axis]];
  }
  return CONVOY_OK;
}

static convoy_status check_dims(const char *what, const cvy_shape *x, const cvy_shape *y) {
  if (x->dims == y->dims) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "%s: x has %d extents, y has %d", what, (int)x->dims,
                  (int)y->dims);
}

convoy_status cvy_move_check_extents(const char *what, const convoy_box *box, const cvy_shape *y) {
  if (y->dims != box->axes)
    return cvy_fail(CONVOY_ERR_SHAPE, "%s: y has %d extents, not %d", what, (int)y->dims,
                    (int)box->axes);
  for (int32_t axis = 0; axis < y->dims; axis++) {
    if (y->extent[axis] != box->extent[axis])
      return cvy_fail(CONVOY_ERR_SHAPE, "%s: extent %d of y is %lld, not %lld", what, (int)axis,
                      (ll)y->extent[axis], (ll)box->extent[axis]);
  }
  return CONVOY_OK;
}

/* Whether place begin + step k of an axis is in x for all k < count. */
static bool is_inside(int64_t extent, int64_t begin, int64_t step, int64_t count) {
  int64_t last;
  if (count == 0) return true;
  if (__builtin_mul_overflow(step, count - 1, &last) || __builtin_add_overflow(last, begin, &last))
    return false;
  return begin >= 0 && begin < extent && last >= 0 && last < extent;
}

convoy_status cvy_move_slice(const cvy_shape *x, const cvy_shape *y, const int64_t *begin,
                             const int64_t *step, convoy_box *out) {
  int64_t stride[CONVOY_MAX_DIMS];
  convoy_status status = check_dims("slice", x, y);
  *out = (convoy_box)CONVOY_BOX_INIT(x->dims);
  set_strides(x, stride);
  for (int32_t axis = 0; axis < x->dims && !status; axis++) {
    int64_t count = y->extent[axis];
    if (!is_inside(x->extent[axis], begin[axis], step[axis], count)) {
      return cvy_fail(
          CONVOY_ERR_SHAPE,
          "slice: along axis %d x has extent %lld, and not all places %lld + %lld k for "
          "%lld elements",
          (int)axis, (ll)x->extent[axis], (ll)begin[axis], (ll)step[axis], (ll)count);
    }
    out->extent[axis] = out->count[axis] = count;
    if (count == 0) continue;
    out->offset += begin[axis] * stride[axis];
    out->stride[axis] = count > 1 ? step[axis] * stride[axis] : 0;
  }
  return status;
}

/* Where x is in y, from `first` on, and with which of its elements it begins there. */
static void pad_axis(int64_t x, int64_t y, int64_t begin, int64_t *first, int64_t *from,
                     int64_t *count) {
  *first = begin > 0 ? begin : 0;
  *from = begin < 0 ? -begin : 0;
  int64_t room = y - *first, left = x - *from;
  *count = room < left ? room : left;
  if (*count > 0) return;
  *first = *from = *count = 0;
}

convoy_status cvy_move_pad(const cvy_shape *x, const cvy_shape *y, const int64_t *begin, float fill,
                           convoy_box *out) {
  int64_t stride[CONVOY_MAX_DIMS];
  convoy_status status = check_dims("pad", x, y);
  *out = (convoy_box)CONVOY_BOX_INIT(x->dims);
  out->fill = fill;
  set_strides(x, stride);
  for (int32_t axis = 0; axis < x->dims && !status; axis++) {
    int64_t from;
    if (begin[axis] <= -INT64_MAX || begin[axis] == INT64_MAX)
      return cvy_fail(CONVOY_ERR_ARGUMENT, "pad: begin of axis %d is %lld", (int)axis,
                      (ll)begin[axis]);
    out->extent[axis] = y->extent[axis];
    pad_axis(x->extent[axis], y->extent[axis], begin[axis], &out->begin[axis], &from,
             &out->count[axis]);
    out->offset += from * stride[axis];
    out->stride[axis] = stride[axis];
  }
  return status;
}
