/* Losses of elements: one program each, with its reduction. */
#include "api_check.h"
#include "nn/composition.h"

/* A loss's tensors, in the order of its program. */
typedef struct loss_call {
  cvy_nn_program first; /* of its reductions */
  convoy_reduction reduction;
  const char *name; /* of the first tensor */
  const convoy_tensor *x, *target;
  convoy_tensor *loss;
} loss_call;

static convoy_status begin(cvy_composition *c, convoy_context *context, const loss_call *call,
                           convoy_run *run) {
  const cvy_pointer given[] = {
      {call->name, call->x}, {"target", call->target}, {"loss", call->loss}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status && (unsigned)call->reduction >= CONVOY_REDUCTIONS)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "reduction is %d, legal are 0 to %d",
                      (int)call->reduction, CONVOY_REDUCTIONS - 1);
  return status ? status : cvy_composition_begin(c, context, run);
}

static bool check_extents(cvy_composition *c, const loss_call *call) {
  bool each = call->reduction == CONVOY_REDUCE_NONE;
  return cvy_compose_check_like(c, call->name, call->x, call->x) &&
         cvy_compose_check_like(c, "target", call->target, call->x) &&
         (each ? cvy_compose_check_like(c, "loss", call->loss, call->x)
               : cvy_compose_check_number(c, "loss", call->loss));
}

/* With up to two more operands between target and loss. */
static void compose(cvy_composition *c, const loss_call *call, int more, const cvy_view *extra) {
  cvy_view operands[5];
  int count = 0;
  if (!check_extents(c, call)) return;
  operands[count++] = cvy_view_of(call->x);
  operands[count++] = cvy_view_of(call->target);
  for (int i = 0; i < more; i++) operands[count++] = extra[i];
  operands[count++] = cvy_view_of(cvy_compose_output(c, call->loss));
  cvy_compose(c, call->first + call->reduction, operands);
}

static const convoy_tensor *or_one(cvy_composition *c, const convoy_tensor *tensor) {
  return tensor ? tensor : cvy_compose_number(c, 1.0);
}

convoy_status convoy_bce_with_logits(convoy_context *context, convoy_reduction reduction,
                                     const convoy_tensor *logits, const convoy_tensor *target,
                                     const convoy_tensor *weight, const convoy_tensor *positive,
                                     convoy_tensor *loss, convoy_run *run) {
  const loss_call call = {CVY_NN_BCE, reduction, "logits", logits, target, loss};
  cvy_composition c;
  convoy_status status = begin(&c, context, &call, run);
  if (status) return status;
  const cvy_view extra[] = {cvy_view_of(or_one(&c, weight)), cvy_view_of(or_one(&c, positive))};
  compose(&c, &call, 2, extra);
  return cvy_composition_end(&c);
}

convoy_status convoy_mse(convoy_context *context, convoy_reduction reduction,
                         const convoy_tensor *x, const convoy_tensor *target, convoy_tensor *loss,
                         convoy_run *run) {
  const loss_call call = {CVY_NN_SQUARED_ERROR, reduction, "x", x, target, loss};
  cvy_composition c;
  convoy_status status = begin(&c, context, &call, run);
  if (status) return status;
  compose(&c, &call, 0, NULL);
  return cvy_composition_end(&c);
}

convoy_status convoy_smooth_l1(convoy_context *context, convoy_reduction reduction, double beta,
                               const convoy_tensor *x, const convoy_tensor *target,
                               convoy_tensor *loss, convoy_run *run) {
  bool smooth = (float)beta != 0.0f;
  cvy_composition c;
  const loss_call call = {smooth ? CVY_NN_SMOOTH_L1 : CVY_NN_L1, reduction, "x", x, target, loss};
  if (!(beta >= 0.0)) return cvy_fail(CONVOY_ERR_ARGUMENT, "beta is %g, legal is >= 0", beta);
  convoy_status status = begin(&c, context, &call, run);
  if (status) return status;
  const cvy_view extra[] = {cvy_view_of(cvy_compose_number(&c, beta))};
  compose(&c, &call, smooth, extra);
  return cvy_composition_end(&c);
}
