/* The family of moves: results whose elements are elements of an operand, in another order.
 *
 * A copy takes a box of x, whose axes lie anyhow in it, to a box of y: permuted, sliced, turned
 * round, repeated, with gaps and something around it. So the gradient of a copy is a copy, and a
 * sum of what was repeated. Elements are moved to the bit; integers become float32 as in programs.
 * The functions are for problems of this family only. */
#ifndef CVY_MOVE_H
#define CVY_MOVE_H

#include "problem/operation.h"

extern const cvy_operation cvy_move_copy_operation, cvy_move_concatenate_operation;

/* copy.c: the problem of a public call on an x of this type and so many elements, with as few axes
 * as can be. ERR_ARGUMENT or ERR_SHAPE with the numbers. */
convoy_status cvy_move_copy_make(const convoy_box *how, convoy_dtype dtype, int64_t elements,
                                 cvy_problem *out);
/* The same with the axes as they are given. */
convoy_status cvy_move_copy_take(const convoy_box *how, convoy_dtype dtype, int64_t elements,
                                 cvy_problem *out);
/* The public call that a problem stands for. */
void cvy_move_copy_spell(const cvy_problem *problem, convoy_box *how);
bool cvy_move_copy_legal(const cvy_problem *problem);
/* What does not matter gets its usual number. */
void cvy_move_copy_simplify(cvy_move_copy *p);

/* Of a legal copy. */
int64_t cvy_move_copy_results(const cvy_move_copy *p);
/* Whether all of y is taken from x, to neighbouring places, so that nothing of it is `fill`. */
bool cvy_move_copy_is_full(const cvy_move_copy *p);
static inline bool cvy_move_axis_is_full(const cvy_move_copy *p, int32_t axis) {
  return p->count[axis] == p->extent[axis];
}

/* concatenate.c: the problem of putting inputs side by side along an axis. ERR_ARGUMENT or
 * ERR_SHAPE with the numbers; y's extents are checked. */
convoy_status cvy_move_concatenate_make(int32_t axis, int32_t count, const cvy_shape *inputs,
                                        const cvy_shape *y, cvy_problem *out);
/* Elements of an image of y. */
int64_t cvy_move_concatenate_width(const cvy_move_concatenate *p);
/* ERR_ARGUMENT with the place of what is wrong, or with the numbers: convoy_parse_concatenate. */
convoy_status cvy_move_concatenate_read(const char *text, cvy_problem *out);

/* An element of an array of this type as float32. */
static inline float cvy_move_value(const void *array, int32_t dtype, int64_t index) {
  switch (dtype) {
    case CONVOY_INT32:
      return (float)((const int32_t *)array)[index];
    case CONVOY_UINT8:
      return (float)((const uint8_t *)array)[index];
    default:
      return ((const float *)array)[index];
  }
}

/* views.c: the calls that make a y of other extents of an x. ERR_ARGUMENT or ERR_SHAPE with the
 * numbers. `axes`, `begin` and `step` have an entry for each extent of x; y has as many. */
convoy_status cvy_move_permute(const cvy_shape *x, const int32_t *axes, convoy_box *out);
convoy_status cvy_move_slice(const cvy_shape *x, const cvy_shape *y, const int64_t *begin,
                             const int64_t *step, convoy_box *out);
convoy_status cvy_move_pad(const cvy_shape *x, const cvy_shape *y, const int64_t *begin, float fill,
                           convoy_box *out);

/* ERR_SHAPE unless a tensor has the box's extents. */
convoy_status cvy_move_check_extents(const char *what, const convoy_box *box, const cvy_shape *y);

/* copy_gradient.c: the row's gradient. ERR_UNSUPPORTED where several elements of y are one of x,
 * and not all along an axis that has stride 0. */
convoy_status cvy_move_copy_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                     cvy_gradient *out);
/* Adds the step that copies an operand of so many elements, which then is its result; none where
 * that would have the same elements in the same order. */
convoy_status cvy_move_add_copy(const convoy_box *how, int64_t elements, cvy_gradient_operand *from,
                                cvy_gradient *out);

/* copy_text.c: the grammar of convoy_parse_copy. */
void cvy_move_copy_print(const cvy_problem *problem, char *text, size_t size);
bool cvy_move_copy_readable(const cvy_problem *problem);
bool cvy_move_copy_parse(const char *text, cvy_problem *out);
/* ERR_ARGUMENT with the place of what is wrong. What is made of it is for cvy_move_copy_make. */
convoy_status cvy_move_copy_read(const char *text, convoy_box *how, convoy_dtype *dtype,
                                 int64_t *elements);

#endif
