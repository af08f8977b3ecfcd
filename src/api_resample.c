/* Public functions on resampling. */
#include "api_check.h"
#include "core/operation.h"
#include "problem/resampling/resampling.h"

/* `x` and `y` are on the sides of the call's formula, whichever is made; they have these names. */
typedef struct resample_call {
  bool backward;
  const convoy_resampling *how;
  const convoy_tensor *x, *y;
  const char *x_name, *y_name;
  const convoy_tensor *in;
  convoy_tensor *out;
} resample_call;

/* A rank that is illegal is for the problem's check. */
static convoy_status check_dims(const resample_call *call) {
  int32_t rank = call->how->rank;
  if (rank < 1 || rank > CONVOY_MAX_RANK) return CONVOY_OK;
  convoy_status status = cvy_check_dims(call->x_name, call->x, rank + 2);
  return status ? status : cvy_check_dims(call->y_name, call->y, rank + 2);
}

static convoy_status carry_out(convoy_context *context, const resample_call *call,
                               convoy_run *run) {
  const convoy_tensor *const all[] = {call->x, call->y}, *const in[] = {call->in};
  convoy_tensor *const out[] = {call->out};
  cvy_problem problem;
  convoy_status status = cvy_check_owners(context, all, CVY_COUNT(all));
  if (!status) status = check_dims(call);
  if (!status)
    status =
        cvy_resampling_make(call->backward, call->how, call->x->shape, call->y->shape, &problem);
  if (!status) status = cvy_check_operands(&problem, in, out);
  return status ? status : cvy_operate_tensors(context, &problem, in, out, run);
}

static convoy_status resample(convoy_context *context, const resample_call *call, convoy_run *run) {
  const cvy_pointer given[] = {{call->x_name, call->x}, {call->y_name, call->y}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("how", call->how, sizeof *call->how, false);
  if (!status) status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, carry_out(context, call, run));
}

convoy_status convoy_resample(convoy_context *context, const convoy_resampling *how,
                              const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  return resample(context, &(resample_call){false, how, x, y, "x", "y", x, y}, run);
}

convoy_status convoy_resample_backward(convoy_context *context, const convoy_resampling *how,
                                       const convoy_tensor *dy, convoy_tensor *dx,
                                       convoy_run *run) {
  return resample(context, &(resample_call){true, how, dx, dy, "dx", "dy", dy, dx}, run);
}

convoy_status convoy_parse_resample(const char *text, int32_t *backward, convoy_resampling *how,
                                    int64_t *x_shape, int64_t *y_shape) {
  const cvy_pointer given[] = {{"text", text},
                               {"backward", backward},
                               {"how", how},
                               {"x_shape", x_shape},
                               {"y_shape", y_shape}};
  cvy_problem problem;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_resampling_read(text, &problem);
  if (status) return status;
  cvy_resampling_spell(&problem, how, x_shape, y_shape);
  *backward = cvy_resampling_is_backward(&problem);
  return CONVOY_OK;
}
