/* The family of resampling: elements of y from near elements of x along 1 to 3 axes, and the
 * gradients.
 *
 * Where an element of y lies in x is computed in float32, as PyTorch does, and each operation of it
 * rounds once, so that every engine finds the same elements and weights. The functions are for
 * problems of this family only. */
#ifndef CVY_RESAMPLING_H
#define CVY_RESAMPLING_H

#include <math.h>

#include "problem/operation.h"

extern const cvy_operation cvy_resampling_nearest, cvy_resampling_nearest_backward,
    cvy_resampling_linear, cvy_resampling_linear_backward;

#define CVY_RESAMPLING_ALL                                                                         \
  (CVY_OPERATION_BIT(CVY_RESAMPLING_NEAREST) |                                                     \
   CVY_OPERATION_BIT(CVY_RESAMPLING_NEAREST_BACKWARD) | CVY_OPERATION_BIT(CVY_RESAMPLING_LINEAR) | \
   CVY_OPERATION_BIT(CVY_RESAMPLING_LINEAR_BACKWARD))

static inline bool cvy_resampling_is_backward(const cvy_problem *problem) {
  return problem->operation == CVY_RESAMPLING_NEAREST_BACKWARD ||
         problem->operation == CVY_RESAMPLING_LINEAR_BACKWARD;
}
static inline bool cvy_resampling_is_linear(const cvy_problem *problem) {
  return problem->operation == CVY_RESAMPLING_LINEAR ||
         problem->operation == CVY_RESAMPLING_LINEAR_BACKWARD;
}

/* making.c: of a public call and the extents of x and y, ERR_ARGUMENT or ERR_SHAPE with the
 * numbers. */
convoy_status cvy_resampling_make(bool backward, const convoy_resampling *how,
                                  const int64_t *x_shape, const int64_t *y_shape, cvy_problem *out);
/* The public call that a problem stands for; shapes have rank + 2 entries. */
void cvy_resampling_spell(const cvy_problem *problem, convoy_resampling *how, int64_t *x_shape,
                          int64_t *y_shape);
bool cvy_resampling_legal(const cvy_problem *problem);
/* The step that goes with the extents, in elements of x. */
float cvy_resampling_usual_step(int32_t mode, int64_t in, int64_t out);

/* Elements of a map of x and of one of y. */
int64_t cvy_resampling_in_volume(const cvy_problem *problem);
int64_t cvy_resampling_out_volume(const cvy_problem *problem);
/* Elements from image to image of each, or of its gradient, and where map `map` of all images lies
 * in one of such a pitch and volume of maps. */
int64_t cvy_resampling_x_pitch(const cvy_problem *problem);
int64_t cvy_resampling_y_pitch(const cvy_problem *problem);
static inline int64_t cvy_resampling_map(const cvy_problem *problem, int64_t pitch, int64_t volume,
                                         int64_t map) {
  return map / problem->resampling.c * pitch + map % problem->resampling.c * volume;
}
void cvy_resampling_set_apart(cvy_problem *problem);
/* Whether each element of x becomes two of y along the axis, which engines make faster. */
bool cvy_resampling_doubles(const cvy_problem *problem, int axis);

/* ---------------------------------------------------------------------------------- positions */

/* What element `o` of y is made of along an axis: element `low` of x, and where it is linear
 * `weight` of element `high` and the rest of `low`. */
typedef struct cvy_resampling_place {
  int64_t low, high;
  float weight;
} cvy_resampling_place;

static inline float cvy_resampling_position(int32_t mode, float step, int64_t o) {
  float at = (float)o;
  if (mode == CONVOY_NEAREST_EXACT) return (at + 0.5f) * step;
  if (mode != CONVOY_LINEAR) return at * step;
  float position = fmaf(step, at + 0.5f, -0.5f);
  return position > 0.0f ? position : 0.0f;
}

static inline cvy_resampling_place cvy_resampling_place_of(const cvy_resampling_problem *p,
                                                           int axis, int64_t o) {
  int64_t last = p->in[axis] - 1;
  float position = cvy_resampling_position(p->mode, p->step[axis], o);
  bool inside = position < (float)last;
  int64_t low = inside ? (int64_t)position : last;
  if (low > last) low = last; /* which float32 may have rounded up */
  float weight = position - (float)low;
  return (cvy_resampling_place){low, low < last ? low + 1 : last, weight < 1.0f ? weight : 1.0f};
}

/* The first element of y whose `low` is `target` or behind it. */
int64_t cvy_resampling_first(const cvy_resampling_problem *p, int axis, int64_t target);

/* What an element of x is a part of along an axis: elements [begin, end) of y. */
typedef struct cvy_resampling_range {
  int64_t begin, end;
} cvy_resampling_range;
cvy_resampling_range cvy_resampling_reach(const cvy_problem *problem, int axis, int64_t i);

/* ------------------------------------------------------------------------------------ the rows */

/* element.c */
cvy_element cvy_resampling_element(const cvy_problem *problem, const cvy_values *from,
                                   int32_t output, int64_t index);
/* The most values that any element of the result is made of. */
int64_t cvy_resampling_terms(const cvy_problem *problem);

/* text.c: the grammar of convoy_parse_resample. */
void cvy_resampling_print(const cvy_problem *problem, char *text, size_t size);
bool cvy_resampling_parse(const char *text, cvy_problem *out);
convoy_status cvy_resampling_read(const char *text, cvy_problem *out);

#endif
