/* Public functions on pooling. */
#include "api_check.h"
#include "core/contents.h"
#include "core/operation.h"
#include "problem/pooling/pooling.h"

/* `x` is on the side of the windows' elements, `y` on that of what is made of them; they have these
 * names. `in` and `out` are the operands of the operation. */
typedef struct pool_call {
  int32_t operation;
  const convoy_tensor *x, *y;
  const char *x_name, *y_name;
  const convoy_tensor *in[2];
  convoy_tensor *out;
} pool_call;

/* A rank that is illegal is for the window's check. */
static convoy_status check_dims(const convoy_window *window, const pool_call *call) {
  if (window->rank < 1 || window->rank > CONVOY_MAX_RANK) return CONVOY_OK;
  convoy_status status = cvy_check_dims(call->x_name, call->x, window->rank + 2);
  return status ? status : cvy_check_dims(call->y_name, call->y, window->rank + 2);
}

static convoy_status make_problem(const convoy_window *window, const pool_call *call,
                                  cvy_problem *problem) {
  int64_t y_shape[CONVOY_MAX_DIMS] = {0};
  convoy_status status = check_dims(window, call);
  if (!status) status = cvy_pooling_make(call->operation, window, call->x->shape, problem);
  if (status) return status;
  cvy_pooling_y_shape(problem, y_shape);
  status = cvy_check_shape(call->y_name, call->y, call->y->dims, y_shape);
  if (!status && call->operation == CVY_POOLING_MAX_BACKWARD)
    status = cvy_check_shape("dx", call->out, call->x->dims, call->x->shape);
  return status ? status : cvy_check_operands(problem, call->in, &call->out);
}

static convoy_status carry_out(convoy_context *context, const convoy_window *window,
                               const pool_call *call, convoy_run *run) {
  const convoy_tensor *const all[] = {call->in[0], call->in[1], call->out};
  cvy_problem problem;
  convoy_status status = cvy_check_owners(context, all, CVY_COUNT(all));
  if (!status) status = make_problem(window, call, &problem);
  return status ? status : cvy_operate_tensors(context, &problem, call->in, &call->out, run);
}

static convoy_status pool(convoy_context *context, const convoy_window *window,
                          const pool_call *call, convoy_run *run) {
  const cvy_pointer given[] = {{call->x_name, call->x}, {call->y_name, call->y}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("window", window, sizeof *window, false);
  if (!status) status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, carry_out(context, window, call, run));
}

convoy_status convoy_max_pool(convoy_context *context, const convoy_window *window,
                              const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  return pool(context, window, &(pool_call){CVY_POOLING_MAX, x, y, "x", "y", {x, NULL}, y}, run);
}

convoy_status convoy_max_pool_backward(convoy_context *context, const convoy_window *window,
                                       const convoy_tensor *x, const convoy_tensor *dy,
                                       convoy_tensor *dx, convoy_run *run) {
  if (!dx) return cvy_fail(CONVOY_ERR_ARGUMENT, "dx is NULL");
  const pool_call call = {CVY_POOLING_MAX_BACKWARD, x, dy, "x", "dy", {x, dy}, dx};
  return pool(context, window, &call, run);
}

convoy_status convoy_average_pool(convoy_context *context, const convoy_window *window,
                                  const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  return pool(context, window, &(pool_call){CVY_POOLING_AVERAGE, x, y, "x", "y", {x, NULL}, y},
              run);
}

convoy_status convoy_average_pool_backward(convoy_context *context, const convoy_window *window,
                                           const convoy_tensor *dy, convoy_tensor *dx,
                                           convoy_run *run) {
  const pool_call call = {CVY_POOLING_AVERAGE_BACKWARD, dx, dy, "dx", "dy", {dy, NULL}, dx};
  return pool(context, window, &call, run);
}

convoy_status convoy_pool_shape(const convoy_window *window, const int64_t *x_shape,
                                int64_t *y_shape) {
  const cvy_pointer given[] = {{"window", window}, {"x_shape", x_shape}, {"y_shape", y_shape}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  return status ? status : cvy_pooling_shape(window, x_shape, y_shape);
}

convoy_status convoy_parse_pool(const char *text, convoy_pool *what, convoy_window *window,
                                int64_t *x_shape, int64_t *y_shape) {
  const cvy_pointer given[] = {{"text", text},
                               {"what", what},
                               {"window", window},
                               {"x_shape", x_shape},
                               {"y_shape", y_shape}};
  cvy_problem problem;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_pooling_read(text, what, window, x_shape, &problem);
  if (!status) cvy_pooling_y_shape(&problem, y_shape);
  return status;
}
