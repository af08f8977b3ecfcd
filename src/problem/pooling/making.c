/* From a window and the extents of x to a problem, and back. */
#include "problem/pooling/pooling.h"

#include "problem/conv/conv.h"

typedef long long ll;

enum { SPATIAL = 2 /* first axis behind n and c */ };

static convoy_status check_axis(const convoy_window *w, int axis, bool dilates) {
  ll extent = w->extent[axis], begin = w->pad_begin[axis], end = w->pad_end[axis];
  if (extent < 1 || extent > INT32_MAX || w->stride[axis] < 1 || w->stride[axis] > INT32_MAX) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "window: extent %lld and stride %lld of axis %d; legal are 1 to %d", extent,
                    (ll)w->stride[axis], axis, INT32_MAX);
  }
  if (w->dilation[axis] < 1 || w->dilation[axis] > INT32_MAX ||
      (!dilates && w->dilation[axis] != 1)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "window: dilation %lld of axis %d; legal are %s",
                    (ll)w->dilation[axis], axis, dilates ? "1 and more" : "1 for an average");
  }
  ll reach = (extent - 1) * w->dilation[axis] + 1;
  if (begin < 0 || end < 0 || begin >= reach || end >= reach) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "window: padding %lld and %lld of axis %d, whose windows have %lld elements",
                    begin, end, axis, reach);
  }
  return CONVOY_OK;
}

static convoy_status check_switch(const char *name, int32_t value) {
  if (value == 0 || value == 1) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "window: %s is %d, legal are 0 and 1", name, (int)value);
}

static convoy_status check_window(const convoy_window *given, bool dilates, convoy_window *out) {
  int64_t taps = 1;
  *out = (convoy_window)CONVOY_WINDOW_INIT(2);
  if (!cvy_struct_in(out, sizeof *out, given, sizeof *out)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "window->struct_size is %u, at least %zu are needed",
                    given->struct_size, sizeof *out);
  }
  if (out->rank < 1 || out->rank > CONVOY_MAX_RANK) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "window: rank is %d; it may be 1 to %d", (int)out->rank,
                    CONVOY_MAX_RANK);
  }
  convoy_status status = check_switch("count_padding", out->count_padding);
  if (!status) status = check_switch("ceil_mode", out->ceil_mode);
  for (int axis = 0; axis < out->rank && !status; axis++) {
    status = check_axis(out, axis, dilates);
    if (!status && (__builtin_mul_overflow(taps, out->extent[axis], &taps) || taps > INT32_MAX)) {
      status = cvy_fail(CONVOY_ERR_ARGUMENT, "window: more than %d elements up to axis %d",
                        INT32_MAX, axis);
    }
  }
  return status;
}

/* Extents are those of a convolution. Rounded up they are those with more padding, but no window
 * may begin in it: there would be nothing in such a one. */
static convoy_status y_extents(const convoy_window *w, const int64_t *x, int64_t *y) {
  convoy_conv conv = CONVOY_CONV_INIT(w->rank);
  int64_t filter[CONVOY_MAX_DIMS] = {x[1], 1};
  conv.groups = x[1] > 0 ? x[1] : 1;
  for (int axis = 0; axis < w->rank; axis++) {
    conv.stride[axis] = w->stride[axis];
    conv.dilation[axis] = w->dilation[axis];
    conv.pad_begin[axis] = w->pad_begin[axis];
    conv.pad_end[axis] = w->pad_end[axis] + (w->ceil_mode ? w->stride[axis] - 1 : 0);
    filter[SPATIAL + axis] = w->extent[axis];
  }
  convoy_status status = cvy_output_shape(&conv, x, filter, y);
  for (int axis = 0; axis < w->rank && !status; axis++) {
    int64_t last = (y[SPATIAL + axis] - 1) * w->stride[axis];
    if (last >= x[SPATIAL + axis] + w->pad_begin[axis]) y[SPATIAL + axis]--;
  }
  return status;
}

convoy_status cvy_pooling_shape(const convoy_window *window, const int64_t *x_shape,
                                int64_t *y_shape) {
  convoy_window checked;
  convoy_status status = check_window(window, true, &checked);
  return status ? status : y_extents(&checked, x_shape, y_shape);
}

/* The axes of a call are the last of a problem's three; what is missing in front gets `missing`. */
static void fill_axes(int64_t to[3], const int64_t *from, int rank, int64_t missing) {
  for (int i = 0; i < 3; i++) to[i] = i < 3 - rank ? missing : from[i - (3 - rank)];
}

static void fill(const convoy_window *w, const int64_t *x, const int64_t *y,
                 cvy_pooling_problem *p) {
  p->rank = w->rank;
  p->count_padding = w->count_padding;
  p->ceil = w->ceil_mode;
  p->n = x[0];
  p->c = x[1];
  fill_axes(p->in, x + SPATIAL, w->rank, 1);
  fill_axes(p->out, y + SPATIAL, w->rank, 1);
  fill_axes(p->window, w->extent, w->rank, 1);
  fill_axes(p->stride, w->stride, w->rank, 1);
  fill_axes(p->dilation, w->dilation, w->rank, 1);
  fill_axes(p->pad, w->pad_begin, w->rank, 0);
  fill_axes(p->pad_end, w->pad_end, w->rank, 0);
}

convoy_status cvy_pooling_make(int32_t operation, const convoy_window *window,
                               const int64_t *x_shape, cvy_problem *out) {
  convoy_window checked;
  int64_t y_shape[CONVOY_MAX_DIMS] = {0};
  memset(out, 0, CVY_PROBLEM_HEAD + sizeof out->pooling);
  out->operation = operation;
  convoy_status status = check_window(window, cvy_pooling_is_max(out), &checked);
  if (!status) status = y_extents(&checked, x_shape, y_shape);
  if (status) return status;
  if (cvy_pooling_is_max(out)) checked.count_padding = 0; /* it divides by nothing */
  fill(&checked, x_shape, y_shape, &out->pooling);
  return CONVOY_OK;
}

void cvy_pooling_spell(const cvy_problem *problem, convoy_window *window, int64_t *x_shape) {
  const cvy_pooling_problem *p = &problem->pooling;
  *window = (convoy_window)CONVOY_WINDOW_INIT(p->rank);
  window->count_padding = p->count_padding;
  window->ceil_mode = p->ceil;
  x_shape[0] = p->n;
  x_shape[1] = p->c;
  for (int i = 0, at = 3 - p->rank; at < 3; i++, at++) {
    x_shape[SPATIAL + i] = p->in[at];
    window->extent[i] = p->window[at];
    window->stride[i] = p->stride[at];
    window->dilation[i] = p->dilation[at];
    window->pad_begin[i] = p->pad[at];
    window->pad_end[i] = p->pad_end[at];
  }
}

void cvy_pooling_y_shape(const cvy_problem *problem, int64_t *y_shape) {
  const cvy_pooling_problem *p = &problem->pooling;
  y_shape[0] = p->n;
  y_shape[1] = p->c;
  for (int i = 0; i < p->rank; i++) y_shape[SPATIAL + i] = p->out[3 - p->rank + i];
}

/* An average's gradient reads no x, and what is no gradient makes no dx. */
static bool views_legal(const cvy_problem *problem) {
  const cvy_pooling_problem *p = &problem->pooling;
  int64_t in = p->c * cvy_pooling_in_volume(problem), out = p->c * cvy_pooling_out_volume(problem);
  if (problem->operation == CVY_POOLING_AVERAGE_BACKWARD && cvy_array_view_is_part(&p->x))
    return false;
  if (!cvy_pooling_is_backward(problem) && cvy_array_view_is_part(&p->dx)) return false;
  return cvy_array_view_legal(&p->x, p->n, in) && cvy_array_view_legal(&p->y, p->n, out) &&
         cvy_array_view_legal(&p->dx, p->n, in);
}

/* It is what its call makes, but for where its operands lie, and for gradients that are added to
 * others. */
bool cvy_pooling_legal(const cvy_problem *problem) {
  convoy_window window = CONVOY_WINDOW_INIT(1);
  cvy_problem made;
  int64_t x_shape[CONVOY_MAX_DIMS] = {0};
  if (problem->accumulate && !cvy_pooling_is_backward(problem)) return false;
  if (problem->pooling.rank < 1 || problem->pooling.rank > CONVOY_MAX_RANK) return false;
  cvy_pooling_spell(problem, &window, x_shape);
  if (cvy_pooling_make(problem->operation, &window, x_shape, &made)) return false;
  made.accumulate = problem->accumulate;
  made.pooling.x = problem->pooling.x;
  made.pooling.y = problem->pooling.y;
  made.pooling.dx = problem->pooling.dx;
  return cvy_problem_equal(problem, &made) && views_legal(problem);
}

int64_t cvy_pooling_x_pitch(const cvy_problem *problem) {
  const cvy_pooling_problem *p = &problem->pooling;
  return cvy_array_view_pitch(&p->x, p->c * cvy_pooling_in_volume(problem));
}

int64_t cvy_pooling_dx_pitch(const cvy_problem *problem) {
  const cvy_pooling_problem *p = &problem->pooling;
  return cvy_array_view_pitch(&p->dx, p->c * cvy_pooling_in_volume(problem));
}

int64_t cvy_pooling_y_pitch(const cvy_problem *problem) {
  const cvy_pooling_problem *p = &problem->pooling;
  return cvy_array_view_pitch(&p->y, p->c * cvy_pooling_out_volume(problem));
}

int64_t cvy_pooling_taps(const cvy_problem *problem) {
  const int64_t *window = problem->pooling.window;
  return window[0] * window[1] * window[2];
}

int64_t cvy_pooling_in_volume(const cvy_problem *problem) {
  const int64_t *in = problem->pooling.in;
  return in[0] * in[1] * in[2];
}

int64_t cvy_pooling_out_volume(const cvy_problem *problem) {
  const int64_t *out = problem->pooling.out;
  return out[0] * out[1] * out[2];
}
