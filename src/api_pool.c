/* Average pooling, a composition: windows are the filters of a depthwise convolution, whose weights
 * are all one over the elements of a window. Where padding does not count they are 1, and each
 * result is multiplied by one over the elements that its window has in the input. The gradient is
 * the same backwards. So it has the convolutions' algorithms, bound and safety net. */
#include <stdlib.h>
#include <string.h>

#include "api_check.h"
#include "core/contents.h"
#include "core/operation.h"
#include "problem/conv/conv.h"
#include "problem/program/bind.h"

enum { SPATIAL = 2 /* first axis behind n and c */ };

typedef struct pooling {
  convoy_context *context;
  const convoy_window *window;
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
  convoy_tensor *weights;
  convoy_tensor *shares; /* of the elements that each window has; NULL: all have as many */
} pooling;

/* --------------------------------------------------------------------------------- legality */

static convoy_status check_axis(const convoy_window *window, int axis) {
  int64_t extent = window->extent[axis], begin = window->pad_begin[axis],
          end = window->pad_end[axis];
  if (extent < 1 || window->stride[axis] < 1) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "window: extent %lld and stride %lld of axis %d",
                    (long long)extent, (long long)window->stride[axis], axis);
  }
  if (begin < 0 || end < 0 || begin >= extent || end >= extent) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "window: padding %lld and %lld of axis %d, whose windows have %lld elements",
                    (long long)begin, (long long)end, axis, (long long)extent);
  }
  return CONVOY_OK;
}

static convoy_status check_window(const convoy_window *window) {
  convoy_status status = cvy_check_struct("window", window, sizeof *window, false);
  if (status) return status;
  if (window->rank < 1 || window->rank > CONVOY_MAX_RANK) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "window: rank is %d; it may be 1 to %d", (int)window->rank,
                    CONVOY_MAX_RANK);
  }
  for (int axis = 0; axis < window->rank && !status; axis++) status = check_axis(window, axis);
  return status;
}

/* A filter of its own for each channel. */
static convoy_status set_geometry(pooling *p, const convoy_tensor *x) {
  const convoy_window *window = p->window;
  p->conv = (convoy_conv)CONVOY_CONV_INIT(window->rank);
  p->conv.groups = x->shape[1];
  p->w[0] = x->shape[1];
  p->w[1] = 1;
  for (int axis = 0; axis < window->rank; axis++) {
    p->conv.stride[axis] = window->stride[axis];
    p->conv.pad_begin[axis] = window->pad_begin[axis];
    p->conv.pad_end[axis] = window->pad_end[axis];
    p->w[SPATIAL + axis] = window->extent[axis];
  }
  memcpy(p->x, x->shape, sizeof p->x);
  return cvy_output_shape(&p->conv, p->x, p->w, p->y);
}

/* ------------------------------------------------------------------- weights and shares */

/* A tensor of `count` values that `value` gives for their places. */
static convoy_status make_tensor(const pooling *p, const int64_t *shape,
                                 float (*value)(const pooling *p, int64_t place),
                                 convoy_tensor **out) {
  convoy_status status =
      cvy_tensor_new(p->context, CONVOY_FLOAT32, p->window->rank + SPATIAL, shape, out);
  if (status) return status;
  int64_t count = (*out)->count;
  float *values = malloc((size_t)count * sizeof *values);
  if (!values)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %lld weights", (long long)count);
  for (int64_t i = 0; i < count; i++) values[i] = value(p, i);
  status = cvy_tensor_write(*out, values, count);
  free(values);
  return status;
}

static float one(const pooling *p, int64_t place) {
  (void)p, (void)place;
  return 1.0f;
}

static float weight(const pooling *p, int64_t place) {
  double elements = 1.0;
  (void)place;
  for (int axis = 0; axis < p->window->rank; axis++) elements *= (double)p->window->extent[axis];
  return (float)(1.0 / elements);
}

/* Elements of the input in window `o` of an axis; there is at least one, for padding is shorter
 * than the window. */
static int64_t elements_in(const pooling *p, int axis, int64_t o) {
  int64_t first = o * p->window->stride[axis] - p->window->pad_begin[axis];
  int64_t last = first + p->window->extent[axis], end = p->x[SPATIAL + axis];
  return (last < end ? last : end) - (first > 0 ? first : 0);
}

static float share(const pooling *p, int64_t place) {
  double elements = 1.0;
  for (int axis = p->window->rank - 1; axis >= 0; axis--) {
    int64_t extent = p->y[SPATIAL + axis];
    elements *= (double)elements_in(p, axis, place % extent);
    place /= extent;
  }
  return (float)(1.0 / elements);
}

static bool is_padded(const convoy_window *window) {
  for (int axis = 0; axis < window->rank; axis++)
    if (window->pad_begin[axis] || window->pad_end[axis]) return true;
  return false;
}

static convoy_status make_weights(pooling *p) {
  int64_t maps[CONVOY_MAX_DIMS];
  bool shared = is_padded(p->window) && !p->window->count_padding;
  convoy_status status = make_tensor(p, p->w, shared ? one : weight, &p->weights);
  if (status || !shared) return status;
  memcpy(maps, p->y, sizeof maps);
  maps[0] = maps[1] = 1;
  return make_tensor(p, maps, share, &p->shares);
}

/* ---------------------------------------------------------------------------- carrying it out */

/* to = from * shares, each place of a map. */
static convoy_status multiply(const pooling *p, const convoy_tensor *from, convoy_tensor *to,
                              convoy_run *run) {
  const convoy_program *program = cvy_program_common(CVY_COMMON_MULTIPLY);
  cvy_problem problem;
  const convoy_tensor *in[] = {from, p->shares};
  const cvy_shape shapes[] = {cvy_tensor_shape(from), cvy_tensor_shape(p->shares)};
  convoy_status status = cvy_program_bind(program, shapes, shapes, &problem);
  return status ? status : cvy_operate_tensors(p->context, &problem, in, &to, run);
}

static convoy_status convolve(const pooling *p, convoy_direction direction,
                              const convoy_tensor *from, convoy_tensor *to, convoy_run *run) {
  cvy_problem problem;
  const convoy_tensor *in[] = {from, p->weights};
  convoy_status status =
      cvy_conv_make(&p->conv, direction, p->x, p->w, 0.0f, false, NULL, &problem);
  return status ? status : cvy_operate_tensors(p->context, &problem, in, &to, run);
}

/* A new tensor for what one step gives the next: a call that fails leaves its output alone. */
static convoy_status make_between(const pooling *p, const convoy_tensor *like,
                                  convoy_tensor **out) {
  return cvy_tensor_new(p->context, CONVOY_FLOAT32, like->dims, like->shape, out);
}

static convoy_status forward(const pooling *p, const convoy_tensor *x, convoy_tensor *y,
                             convoy_run *run) {
  convoy_tensor *sums = NULL;
  if (!p->shares) return convolve(p, CONVOY_FORWARD, x, y, run);
  convoy_status status = make_between(p, y, &sums);
  if (!status) status = convolve(p, CONVOY_FORWARD, x, sums, NULL);
  if (!status) status = multiply(p, sums, y, run);
  cvy_tensor_drop(sums);
  return status;
}

static convoy_status backward(const pooling *p, const convoy_tensor *dy, convoy_tensor *dx,
                              convoy_run *run) {
  convoy_tensor *scaled = NULL;
  if (!p->shares) return convolve(p, CONVOY_BACKWARD_DATA, dy, dx, run);
  convoy_status status = make_between(p, dy, &scaled);
  if (!status) status = multiply(p, dy, scaled, NULL);
  if (!status) status = convolve(p, CONVOY_BACKWARD_DATA, scaled, dx, run);
  cvy_tensor_drop(scaled);
  return status;
}

/* ---------------------------------------------------------------------------- public functions */

/* `x` is on the side of the windows' elements, `y` on that of their means; they have these names.
 */
typedef struct pool_call {
  const convoy_tensor *x, *y;
  const char *x_name, *y_name;
} pool_call;

static convoy_status check_call(convoy_context *context, const convoy_window *window,
                                const pool_call *call, const convoy_run *run) {
  const cvy_pointer given[] = {{call->x_name, call->x}, {call->y_name, call->y}};
  const convoy_tensor *const tensors[] = {call->x, call->y};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = check_window(window);
  if (!status) status = cvy_check_owners(context, tensors, CVY_COUNT(tensors));
  if (!status) status = cvy_check_dims(call->x_name, call->x, window->rank + SPATIAL);
  return status ? status : cvy_check_dims(call->y_name, call->y, window->rank + SPATIAL);
}

static convoy_status prepare(pooling *p, const pool_call *call) {
  convoy_status status = set_geometry(p, call->x);
  if (!status) status = cvy_check_shape(call->y_name, call->y, call->y->dims, p->y);
  return status ? status : make_weights(p);
}

static convoy_status finish(pooling *p, convoy_status status) {
  cvy_tensor_drop(p->weights);
  cvy_tensor_drop(p->shares);
  return cvy_leave(p->context, status);
}

convoy_status convoy_average_pool(convoy_context *context, const convoy_window *window,
                                  const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  const pool_call call = {x, y, "x", "y"};
  pooling p = {.context = context, .window = window};
  convoy_status status = cvy_enter(context);
  if (status) return status;
  status = check_call(context, window, &call, run);
  if (!status) status = prepare(&p, &call);
  if (!status) status = forward(&p, x, y, run);
  return finish(&p, status);
}

convoy_status convoy_average_pool_backward(convoy_context *context, const convoy_window *window,
                                           const convoy_tensor *dy, convoy_tensor *dx,
                                           convoy_run *run) {
  const pool_call call = {dx, dy, "dx", "dy"};
  pooling p = {.context = context, .window = window};
  convoy_status status = cvy_enter(context);
  if (status) return status;
  status = check_call(context, window, &call, run);
  if (!status) status = prepare(&p, &call);
  if (!status) status = backward(&p, dy, dx, run);
  return finish(&p, status);
}
