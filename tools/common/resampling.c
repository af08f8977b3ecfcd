/* Resampling as operations of the tool. */
#include <string.h>

#include "common/family.h"
#include "ref/resample.h"

enum { X, Y }; /* which operand each side is, forward */

static int operand_of(const operation *what, int side) {
  return what->backward ? 1 - side : side;
}

static convoy_status read_resampling(const char *text, operation *out) {
  int64_t x[CONVOY_MAX_DIMS] = {1, 1, 1, 1, 1}, y[CONVOY_MAX_DIMS] = {1, 1, 1, 1, 1};
  convoy_status status = convoy_parse_resample(text, &out->backward, &out->resampling, x, y);
  if (status != CONVOY_OK) return status;
  out->inputs = 1;
  out->dims[0] = out->dims[1] = out->resampling.rank + 2;
  memcpy(out->shape[operand_of(out, X)], x, sizeof x);
  memcpy(out->shape[operand_of(out, Y)], y, sizeof y);
  return CONVOY_OK;
}

static convoy_status resample(convoy_context *context, const operation *what,
                              convoy_tensor *const *tensors, convoy_run *run) {
  if (what->backward)
    return convoy_resample_backward(context, &what->resampling, tensors[0], tensors[1], run);
  return convoy_resample(context, &what->resampling, tensors[0], tensors[1], run);
}

static ref_value element_of_resampling(const operation *what, int64_t index) {
  return ref_resample(what->backward, &what->resampling, what->shape[operand_of(what, X)],
                      what->shape[operand_of(what, Y)], what->host[0], index);
}

/* A gradient's element looks at all of y along each axis. */
static int64_t terms_of_resampling(const operation *what) {
  int64_t terms = 8;
  for (int axis = 2; axis < what->dims[0] && what->backward; axis++) terms += what->shape[0][axis];
  return terms;
}

static const char *const words[] = {"resample_nearest ", "resample_nearest_backward ",
                                    "resample_linear ", "resample_linear_backward ", NULL};
const family family_resampling = {words,          "resampling",          read_resampling,
                                  resample,       element_of_resampling, terms_of_resampling,
                                  family_no_flops};
