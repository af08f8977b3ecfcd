/* The last numbers that were asked for: hyperparameters, of which a program has few. */
#include "core/constants.h"

#include <string.h>

static convoy_status make(convoy_context *context, float number, convoy_tensor **out) {
  const int64_t one = 1;
  cvy_store *store = cvy_store_copy(context, &number, sizeof number);
  if (!store) return CONVOY_ERR_MEMORY;
  convoy_status status = cvy_tensor_new(context, CONVOY_FLOAT32, 1, &one, out);
  if (status)
    cvy_store_drop(store);
  else
    cvy_tensor_swap(*out, store);
  return status;
}

/* By their bits: 0 is not -0, and a NaN is itself. */
static bool is(const convoy_tensor *tensor, float number) {
  return tensor && !memcmp(tensor->store->host, &number, sizeof number);
}

convoy_status cvy_constant(convoy_context *context, float number, convoy_tensor **out) {
  cvy_constants *all = &context->constants;
  for (int32_t i = 0; i < CVY_CONSTANTS; i++) {
    *out = all->tensor[i];
    if (is(*out, number)) return CONVOY_OK;
  }
  convoy_status status = make(context, number, out);
  if (status) return status;
  cvy_tensor_drop(all->tensor[all->next]);
  all->tensor[all->next] = *out;
  all->next = (all->next + 1) % CVY_CONSTANTS;
  return CONVOY_OK;
}

void cvy_constants_drop(convoy_context *context) {
  for (int32_t i = 0; i < CVY_CONSTANTS; i++) {
    cvy_tensor_drop(context->constants.tensor[i]);
    context->constants.tensor[i] = NULL;
  }
}
