/* The family of pooling: the maximum or the mean of windows, and their gradients.
 *
 * The maximum is one of the window's elements, to the bit: the first of the largest in row-major
 * order, or the last NaN if there is any. Its gradient finds that place again in x, so that no
 * indices leave an operation. The functions are for problems of this family only. */
#ifndef CVY_POOLING_H
#define CVY_POOLING_H

#include "problem/operation.h"

extern const cvy_operation cvy_pooling_max, cvy_pooling_max_backward, cvy_pooling_average,
    cvy_pooling_average_backward;

#define CVY_POOLING_ALL                                                               \
  (CVY_OPERATION_BIT(CVY_POOLING_MAX) | CVY_OPERATION_BIT(CVY_POOLING_MAX_BACKWARD) | \
   CVY_OPERATION_BIT(CVY_POOLING_AVERAGE) | CVY_OPERATION_BIT(CVY_POOLING_AVERAGE_BACKWARD))

static inline bool cvy_pooling_is_max(const cvy_problem *problem) {
  return problem->operation == CVY_POOLING_MAX || problem->operation == CVY_POOLING_MAX_BACKWARD;
}
static inline bool cvy_pooling_is_backward(const cvy_problem *problem) {
  return problem->operation == CVY_POOLING_MAX_BACKWARD ||
         problem->operation == CVY_POOLING_AVERAGE_BACKWARD;
}

/* making.c. Both take a window of a public call and x's extents, and fail with ERR_ARGUMENT or
 * ERR_SHAPE and the numbers. */
convoy_status cvy_pooling_make(int32_t operation, const convoy_window *window,
                               const int64_t *x_shape, cvy_problem *out);
convoy_status cvy_pooling_shape(const convoy_window *window, const int64_t *x_shape,
                                int64_t *y_shape);
/* The public call that a problem stands for. */
void cvy_pooling_spell(const cvy_problem *problem, convoy_window *window, int64_t *x_shape);
/* Extents of y in the public call (rank + 2 entries). */
void cvy_pooling_y_shape(const cvy_problem *problem, int64_t *y_shape);
bool cvy_pooling_legal(const cvy_problem *problem);

/* Elements from image to image of an operand: of x and dx, whose maps are alike, and of y. */
int64_t cvy_pooling_x_pitch(const cvy_problem *problem);
int64_t cvy_pooling_dx_pitch(const cvy_problem *problem);
int64_t cvy_pooling_y_pitch(const cvy_problem *problem);
/* Where map `map` of all images lies in an operand of that pitch, whose maps have `volume`
 * elements. */
static inline int64_t cvy_pooling_map(const cvy_problem *problem, int64_t pitch, int64_t volume,
                                      int64_t map) {
  return map / problem->pooling.c * pitch + map % problem->pooling.c * volume;
}
/* Elements of a window, of a map of x and of one of y. */
int64_t cvy_pooling_taps(const cvy_problem *problem);
int64_t cvy_pooling_in_volume(const cvy_problem *problem);
int64_t cvy_pooling_out_volume(const cvy_problem *problem);

/* A float's bits in the order of their values, as whole numbers, so that it does not depend on what
 * a processor makes of denormal numbers. 0 and -0 are the same, any NaN is CVY_POOLING_NAN. */
#define CVY_POOLING_NAN INT32_MAX
static inline int32_t cvy_pooling_key(int32_t bits) {
  int32_t magnitude = bits & INT32_MAX;
  if (magnitude > 0x7f800000) return CVY_POOLING_NAN;
  return bits < 0 ? -magnitude : magnitude;
}
/* Whether an element is taken in the place of one with a key that came before it. */
static inline bool cvy_pooling_takes(int32_t key, int32_t before) {
  return key > before || key == CVY_POOLING_NAN;
}
/* Of a window that lies in the padding. */
#define CVY_POOLING_NOTHING INT32_MIN

/* What a mean of window `o` of an axis counts along it. */
static inline int64_t cvy_pooling_counted(const cvy_pooling_problem *p, int axis, int64_t o) {
  int64_t begin = o * p->stride[axis] - p->pad[axis], end = begin + p->window[axis];
  int64_t most = p->in[axis] + (p->count_padding ? p->pad_end[axis] : 0);
  if (begin < 0 && !p->count_padding) begin = 0;
  return (end < most ? end : most) - begin;
}

/* gradient.c: the rows' gradients. */
convoy_status cvy_pooling_max_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                       cvy_gradient *out);
convoy_status cvy_pooling_max_backward_gradient(const cvy_problem *problem, uint32_t wanted,
                                                uint32_t given, cvy_gradient *out);
convoy_status cvy_pooling_average_gradient(const cvy_problem *problem, uint32_t wanted,
                                           uint32_t given, cvy_gradient *out);

/* element.c */
cvy_element cvy_pooling_element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                                int64_t index);
/* The most values that are added up for any element of the result, and that are looked at. */
int64_t cvy_pooling_summed(const cvy_problem *problem);
int64_t cvy_pooling_terms(const cvy_problem *problem);

/* text.c: the grammar of convoy_parse_pool, and which operands are parts of larger tensors, as
 * "max_pool n1c3h8w8 r2s2 stride2, y 640 apart by 4". */
void cvy_pooling_print(const cvy_problem *problem, char *text, size_t size);
bool cvy_pooling_parse(const char *text, cvy_problem *out);
convoy_status cvy_pooling_read(const char *text, convoy_pool *what, convoy_window *window,
                               int64_t *x_shape, cvy_problem *out);

#endif
