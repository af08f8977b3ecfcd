/* Moves as operations of the tool. */
#include <string.h>

#include "common/family.h"
#include "ref/move.h"

/* ------------------------------------------------------------------------------------ copies */

static convoy_status read_copy(const char *text, operation *out) {
  int64_t results = 1;
  out->inputs = 1;
  convoy_status status = convoy_parse_copy(text, &out->box, &out->dtype[0], &out->shape[0][0]);
  if (status != CONVOY_OK) return status;
  for (int axis = 0; axis < out->box.axes; axis++) results *= out->box.extent[axis];
  out->dims[0] = out->dims[1] = 1;
  out->shape[1][0] = results;
  return CONVOY_OK;
}

static convoy_status copy(convoy_context *context, const operation *what,
                          convoy_tensor *const *tensors, convoy_run *run) {
  return convoy_copy(context, &what->box, tensors[0], tensors[1], run);
}

static ref_value element_of_copy(const operation *what, int64_t index) {
  return ref_copy(&what->box, what->dtype[0], what->host[0], index);
}

static int64_t one_term(const operation *what) {
  (void)what;
  return 1;
}

static const char *const copies[] = {"copy ", NULL};
const family family_copies = {copies,          "copies", read_copy,      copy,
                              element_of_copy, one_term, family_no_flops};
