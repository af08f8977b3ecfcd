/* Softmax and its logarithm along any axis: all before it are n, all behind it h. */
#include "api_check.h"
#include "nn/composition.h"

static void along(cvy_composition *c, cvy_nn_program last, int32_t axis, const convoy_tensor *x,
                  convoy_tensor *output) {
  int64_t before = 1, behind = 1;
  if (axis < 0 || axis >= x->dims) {
    cvy_composition_fail(c, CONVOY_ERR_ARGUMENT, "axis is %d, x has %d extents", (int)axis,
                         (int)x->dims);
    return;
  }
  if (!cvy_compose_check_like(c, "x", x, x) || !cvy_compose_check_like(c, "y", output, x)) return;
  for (int32_t i = 0; i < x->dims; i++)
    *(i < axis ? &before : &behind) *= i == axis ? 1 : x->shape[i];

  const int64_t kept[] = {before, 1, behind, 1};
  cvy_view all = cvy_view_as(x, before, x->shape[axis], behind, 1);
  cvy_view m = cvy_view_of(cvy_compose_new(c, 4, kept));
  cvy_view s = cvy_view_of(cvy_compose_new(c, 4, kept));
  cvy_compose(c, CVY_NN_MAXIMUM, (const cvy_view[]){all, m});
  cvy_compose_detach(c, m.tensor); /* the gradients through it add up to 0 */
  cvy_compose(c, CVY_NN_EXPONENTIALS, (const cvy_view[]){all, m, s});
  cvy_view y = all;
  y.tensor = cvy_compose_output(c, output);
  cvy_compose(c, last, (const cvy_view[]){all, m, s, y});
}

static convoy_status compose(convoy_context *context, cvy_nn_program last, int32_t axis,
                             const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  const cvy_pointer given[] = {{"x", x}, {"y", y}};
  cvy_composition c;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  along(&c, last, axis, x, y);
  return cvy_composition_end(&c);
}

convoy_status convoy_softmax(convoy_context *context, int32_t axis, const convoy_tensor *x,
                             convoy_tensor *y, convoy_run *run) {
  return compose(context, CVY_NN_SOFTMAX, axis, x, y, run);
}

convoy_status convoy_log_softmax(convoy_context *context, int32_t axis, const convoy_tensor *x,
                                 convoy_tensor *y, convoy_run *run) {
  return compose(context, CVY_NN_LOG_SOFTMAX, axis, x, y, run);
}
