/* From a public call and the extents of x and y to a problem, and back. */
#include <float.h>

#include "problem/resampling/resampling.h"

typedef long long ll;

enum { SPATIAL = 2 /* first axis behind n and c */ };

static const int32_t operations[2][CONVOY_INTERPOLATIONS] = {
    {CVY_RESAMPLING_NEAREST, CVY_RESAMPLING_NEAREST, CVY_RESAMPLING_LINEAR, CVY_RESAMPLING_LINEAR},
    {CVY_RESAMPLING_NEAREST_BACKWARD, CVY_RESAMPLING_NEAREST_BACKWARD,
     CVY_RESAMPLING_LINEAR_BACKWARD, CVY_RESAMPLING_LINEAR_BACKWARD},
};

float cvy_resampling_usual_step(int32_t mode, int64_t in, int64_t out) {
  if (mode != CONVOY_LINEAR_ALIGNED) return (float)in / (float)out;
  return out > 1 ? (float)(in - 1) / (float)(out - 1) : 0.0f;
}

static bool is_usable(float step) {
  return step >= FLT_MIN && step <= FLT_MAX;
}

static convoy_status find_step(const convoy_resampling *how, int axis, int64_t in, int64_t out,
                               float *step) {
  double scale = how->scale[axis];
  *step = cvy_resampling_usual_step(how->mode, in, out);
  if (scale == 0.0 || how->mode == CONVOY_LINEAR_ALIGNED) return CONVOY_OK;
  *step = (float)(1.0 / scale);
  if (is_usable(*step)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "resample: scale %g of axis %d; it must be above 0, or 0 for "
                  "the ratio of the extents",
                  scale, axis);
}

static convoy_status check_extents(const char *name, const int64_t *shape, int32_t rank) {
  int64_t bytes = sizeof(float);
  for (int axis = 0; axis < rank + SPATIAL; axis++) {
    if (shape[axis] < (axis > 0) || shape[axis] > INT32_MAX)
      return cvy_fail(CONVOY_ERR_SHAPE, "resample: extent %d of %s is %lld; legal are %d to %d",
                      axis, name, (ll)shape[axis], axis > 0, INT32_MAX);
    if (__builtin_mul_overflow(bytes, shape[axis] ? shape[axis] : 1, &bytes))
      return cvy_fail(CONVOY_ERR_SHAPE, "resample: the bytes of %s overflow int64", name);
  }
  return CONVOY_OK;
}

static convoy_status check_shapes(int32_t rank, const int64_t *x_shape, const int64_t *y_shape) {
  convoy_status status = check_extents("x", x_shape, rank);
  if (!status) status = check_extents("y", y_shape, rank);
  for (int axis = 0; axis < SPATIAL && !status; axis++) {
    if (x_shape[axis] != y_shape[axis])
      status = cvy_fail(CONVOY_ERR_SHAPE, "resample: extent %d of x is %lld, of y %lld", axis,
                        (ll)x_shape[axis], (ll)y_shape[axis]);
  }
  return status;
}

static convoy_status check_how(const convoy_resampling *given, convoy_resampling *out) {
  *out = (convoy_resampling)CONVOY_RESAMPLING_INIT(2);
  if (!cvy_struct_in(out, sizeof *out, given, sizeof *out))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "how->struct_size is %u, at least %zu are needed",
                    given->struct_size, sizeof *out);
  if (out->rank < 1 || out->rank > CONVOY_MAX_RANK)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "resample: rank is %d; it may be 1 to %d", (int)out->rank,
                    CONVOY_MAX_RANK);
  if (out->mode < 0 || out->mode >= CONVOY_INTERPOLATIONS)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "resample: mode is %d; legal are 0 to %d", (int)out->mode,
                    CONVOY_INTERPOLATIONS - 1);
  return CONVOY_OK;
}

convoy_status cvy_resampling_make(bool backward, const convoy_resampling *how,
                                  const int64_t *x_shape, const int64_t *y_shape,
                                  cvy_problem *out) {
  convoy_resampling checked;
  cvy_resampling_problem *p = &out->resampling;
  memset(out, 0, CVY_PROBLEM_HEAD + sizeof *p);
  convoy_status status = check_how(how, &checked);
  if (!status) status = check_shapes(checked.rank, x_shape, y_shape);
  if (status) return status;
  out->operation = operations[backward][checked.mode];
  p->rank = checked.rank;
  p->mode = checked.mode;
  p->n = x_shape[0];
  p->c = x_shape[1];
  for (int axis = 0; axis < 3 && !status; axis++) {
    int at = axis - (3 - checked.rank);
    p->in[axis] = at < 0 ? 1 : x_shape[SPATIAL + at];
    p->out[axis] = at < 0 ? 1 : y_shape[SPATIAL + at];
    p->step[axis] = cvy_resampling_usual_step(p->mode, 1, 1);
    if (at >= 0) status = find_step(&checked, at, p->in[axis], p->out[axis], &p->step[axis]);
  }
  return status;
}

/* The scale of a step, from which the same step is made. */
void cvy_resampling_spell(const cvy_problem *problem, convoy_resampling *how, int64_t *x_shape,
                          int64_t *y_shape) {
  const cvy_resampling_problem *p = &problem->resampling;
  *how = (convoy_resampling)CONVOY_RESAMPLING_INIT(p->rank);
  how->mode = p->mode;
  x_shape[0] = y_shape[0] = p->n;
  x_shape[1] = y_shape[1] = p->c;
  for (int i = 0, axis = 3 - p->rank; axis < 3; i++, axis++) {
    x_shape[SPATIAL + i] = p->in[axis];
    y_shape[SPATIAL + i] = p->out[axis];
    if (p->step[axis] != cvy_resampling_usual_step(p->mode, p->in[axis], p->out[axis]))
      how->scale[i] = 1.0 / (double)p->step[axis];
  }
}

static bool steps_usable(const cvy_resampling_problem *p) {
  for (int axis = 0; axis < 3; axis++)
    if (p->mode != CONVOY_LINEAR_ALIGNED && !is_usable(p->step[axis])) return false;
  return true;
}

static bool views_legal(const cvy_problem *problem) {
  const cvy_resampling_problem *p = &problem->resampling;
  return cvy_array_view_legal(&p->x, p->n, p->c * cvy_resampling_in_volume(problem)) &&
         cvy_array_view_legal(&p->y, p->n, p->c * cvy_resampling_out_volume(problem));
}

/* It is what its call makes, but for places. */
bool cvy_resampling_legal(const cvy_problem *problem) {
  const cvy_resampling_problem *p = &problem->resampling;
  convoy_resampling how;
  int64_t x_shape[CONVOY_MAX_DIMS] = {0}, y_shape[CONVOY_MAX_DIMS] = {0};
  cvy_problem made, apart;
  if (problem->accumulate || p->rank < 1 || p->rank > CONVOY_MAX_RANK) return false;
  if (p->mode < 0 || p->mode >= CONVOY_INTERPOLATIONS || !steps_usable(p)) return false;
  cvy_resampling_spell(problem, &how, x_shape, y_shape);
  cvy_problem_copy(&apart, problem);
  cvy_resampling_set_apart(&apart);
  return cvy_resampling_make(cvy_resampling_is_backward(problem), &how, x_shape, y_shape, &made) ==
             CONVOY_OK &&
         cvy_problem_equal(&apart, &made) && views_legal(problem);
}

int64_t cvy_resampling_in_volume(const cvy_problem *problem) {
  const int64_t *in = problem->resampling.in;
  return in[0] * in[1] * in[2];
}

int64_t cvy_resampling_out_volume(const cvy_problem *problem) {
  const int64_t *out = problem->resampling.out;
  return out[0] * out[1] * out[2];
}

int64_t cvy_resampling_x_pitch(const cvy_problem *problem) {
  const cvy_resampling_problem *p = &problem->resampling;
  return cvy_array_view_pitch(&p->x, p->c * cvy_resampling_in_volume(problem));
}

int64_t cvy_resampling_y_pitch(const cvy_problem *problem) {
  const cvy_resampling_problem *p = &problem->resampling;
  return cvy_array_view_pitch(&p->y, p->c * cvy_resampling_out_volume(problem));
}

void cvy_resampling_set_apart(cvy_problem *problem) {
  problem->resampling.x = problem->resampling.y = (cvy_array_view){0, 0};
}

bool cvy_resampling_doubles(const cvy_problem *problem, int axis) {
  const cvy_resampling_problem *p = &problem->resampling;
  return !cvy_resampling_is_linear(problem) && p->out[axis] == 2 * p->in[axis] &&
         p->step[axis] == 0.5f;
}
