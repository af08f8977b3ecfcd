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

/* --------------------------------------------------------------------------- concatenations */

static convoy_status read_concatenation(const char *text, operation *out) {
  int32_t count = 0;
  convoy_status status = convoy_parse_concatenate(text, &count, out->dtype, out->shape);
  if (status != CONVOY_OK) return status;
  out->inputs = count;
  for (int i = 0; i <= count; i++) out->dims[i] = 2;
  out->shape[count][0] = out->shape[0][0];
  out->shape[count][1] = 0;
  for (int i = 0; i < count; i++) out->shape[count][1] += out->shape[i][1];
  return CONVOY_OK;
}

static convoy_status concatenate(convoy_context *context, const operation *what,
                                 convoy_tensor *const *tensors, convoy_run *run) {
  const convoy_tensor *in[CONVOY_MAX_OPERANDS] = {NULL};
  for (int i = 0; i < what->inputs; i++) in[i] = tensors[i];
  return convoy_concatenate(context, 1, what->inputs, in, tensors[what->inputs], run);
}

static ref_value element_of_concatenation(const operation *what, int64_t index) {
  return ref_concatenate(what->inputs, what->dtype, (const int64_t(*)[CONVOY_MAX_DIMS])what->shape,
                         (const void *const *)what->host, index);
}

static const char *const concatenations[] = {"concatenate ", NULL};
const family family_concatenations = {concatenations, "concatenations",         read_concatenation,
                                      concatenate,    element_of_concatenation, one_term,
                                      family_no_flops};
