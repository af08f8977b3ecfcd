/* Dropout: one program with random numbers, which its gradient draws again. */
#include "api_check.h"
#include "nn/composition.h"

convoy_status convoy_dropout(convoy_context *context, double p, const convoy_tensor *x,
                             convoy_tensor *y, convoy_run *run) {
  const cvy_pointer given[] = {{"x", x}, {"y", y}};
  cvy_composition c;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status && !(p >= 0.0 && p <= 1.0))
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "p is %g, legal are 0 to 1", p);
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  if (cvy_compose_check_like(&c, "x", x, x) && cvy_compose_check_like(&c, "y", y, x))
    cvy_compose(&c, CVY_NN_DROPOUT,
                (const cvy_view[]){cvy_view_of(cvy_compose_number(&c, 1.0 - p)), cvy_view_of(x),
                                   cvy_view_of(cvy_compose_output(&c, y))});
  return cvy_composition_end(&c);
}
