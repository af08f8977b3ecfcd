/* Public operations: problem, shapes of the operands, their order after relabelling, N = 0. */
#include "core/operation.h"

#include <string.h>

#include "core/exec/run.h"
#include "problem/conv/conv.h"

/* A transposed convolution's problem maps y to x, so what the public call names x is its y. Only
 * where both are read does that change the order. */
static bool swapped(const convoy_conv *conv, convoy_direction direction) {
  return conv->transposed && direction == CONVOY_BACKWARD_WEIGHTS;
}

/* With N = 0 nothing is computed; what is summed over N becomes 0. */
static bool zeroes_output(const cvy_problem *problem) {
  cvy_conv_array out = cvy_conv_operands_of(problem).out;
  return (out == CVY_W || out == CVY_BIAS) && !problem->accumulate;
}

/* --------------------------------------------------------------------------- host memory */

convoy_status cvy_operate_host(convoy_context *context, const cvy_host_operation *o,
                               convoy_run *run) {
  cvy_problem problem;
  convoy_status status = cvy_conv_make(o->conv, o->direction, o->x_shape, o->w_shape, o->beta,
                                       o->bias != NULL, o->epilogue, &problem);
  if (status) return status;
  if (problem.conv.n == 0) {
    size_t count = (size_t)cvy_conv_count(&problem, cvy_conv_operands_of(&problem).out);
    if (zeroes_output(&problem)) memset(o->out, 0, count * sizeof(float));
  } else {
    bool swap = swapped(o->conv, o->direction);
    status = cvy_perform_host(context, &problem, swap ? o->second : o->first,
                              swap ? o->first : o->second, o->bias, o->out);
  }
  if (!status && run) cvy_fill_run(context, run);
  return status;
}

/* ------------------------------------------------------------------------------- tensors */

enum { FIRST, SECOND, OUT };

/* Which operand of a direction is x, w and y, and what the public call names them. */
static const struct {
  int x, w, y;
  const char *names[3];
} roles[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = {FIRST, SECOND, OUT, {"x", "w", "y"}},
    [CONVOY_BACKWARD_DATA] = {OUT, SECOND, FIRST, {"dy", "w", "dx"}},
    [CONVOY_BACKWARD_WEIGHTS] = {FIRST, OUT, SECOND, {"x", "dy", "dw"}},
    [CONVOY_BACKWARD_BIAS] = {OUT, OUT, FIRST, {"dy", NULL, "db"}}, /* has neither x nor w */
};

static convoy_status check_dims(const char *name, const convoy_tensor *tensor, int32_t dims) {
  if (tensor->dims == dims) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "%s has %d extents, not %d", name, (int)tensor->dims,
                  (int)dims);
}

static convoy_status check_shape(const char *name, const convoy_tensor *tensor, int32_t dims,
                                 const int64_t *shape) {
  convoy_status status = check_dims(name, tensor, dims);
  if (status) return status;
  for (int32_t i = 0; i < dims; i++) {
    if (tensor->shape[i] != shape[i]) {
      return cvy_fail(CONVOY_ERR_SHAPE, "extent %d of %s is %lld, not %lld", (int)i, name,
                      (long long)tensor->shape[i], (long long)shape[i]);
    }
  }
  return CONVOY_OK;
}

static convoy_status check_owner(convoy_context *context, const convoy_tensor *tensor) {
  if (!tensor || tensor->context == context) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "a tensor belongs to another context");
}

static convoy_status check_owners(convoy_context *context, const cvy_tensor_operation *o) {
  const convoy_tensor *const all[] = {o->first, o->second, o->bias, o->out};
  for (size_t i = 0; i < CVY_COUNT(all); i++) {
    convoy_status status = check_owner(context, all[i]);
    if (status) return status;
  }
  return CONVOY_OK;
}

/* Before shapes are looked at: a wrong number of extents would give puzzling sentences. An illegal
 * rank is left to the problem's own check. */
static convoy_status check_ranks(const cvy_tensor_operation *o) {
  const convoy_tensor *const operands[] = {o->first, o->second, o->out};
  bool bias = o->direction == CONVOY_BACKWARD_BIAS;
  if (o->conv->rank < 1 || o->conv->rank > CONVOY_MAX_RANK) return CONVOY_OK;
  for (int i = FIRST; i <= OUT; i++) {
    int32_t dims = bias && i == OUT ? 1 : o->conv->rank + 2;
    const char *name = roles[o->direction].names[i];
    convoy_status status = name ? check_dims(name, operands[i], dims) : CONVOY_OK;
    if (status) return status;
  }
  return CONVOY_OK;
}

static convoy_status bias_problem(const cvy_tensor_operation *o, cvy_problem *problem) {
  convoy_status status = cvy_conv_make_bias(o->conv, o->first->shape, o->beta, problem);
  return status ? status : check_shape("db", o->out, 1, &problem->conv.k);
}

/* Makes the problem and checks that every operand has the shape it implies. */
static convoy_status tensor_problem(const cvy_tensor_operation *o, cvy_problem *problem) {
  convoy_status status = check_ranks(o);
  if (status) return status;
  if (o->direction == CONVOY_BACKWARD_BIAS) return bias_problem(o, problem);

  const convoy_tensor *const operands[] = {o->first, o->second, o->out};
  int role = roles[o->direction].y;
  const convoy_tensor *x = operands[roles[o->direction].x], *w = operands[roles[o->direction].w];
  status = cvy_conv_make(o->conv, o->direction, x->shape, w->shape, o->beta, o->bias != NULL,
                         o->epilogue, problem);
  if (status) return status;
  int64_t y_shape[CONVOY_MAX_DIMS];
  int64_t channels = cvy_conv_count(problem, CVY_BIAS);
  status = cvy_output_shape(o->conv, x->shape, w->shape, y_shape);
  if (!status) {
    status =
        check_shape(roles[o->direction].names[role], operands[role], o->conv->rank + 2, y_shape);
  }
  if (!status && o->bias) status = check_shape("bias", o->bias, 1, &channels);
  return status;
}

static cvy_store *store_of(const convoy_tensor *tensor) {
  return tensor ? tensor->store : NULL;
}

static convoy_status operate(convoy_context *context, const cvy_tensor_operation *o,
                             const cvy_problem *problem, bool wait) {
  bool swap = swapped(o->conv, o->direction);
  cvy_op op = {.problem = *problem,
               .a = store_of(swap ? o->second : o->first),
               .b = store_of(swap ? o->first : o->second),
               .bias = store_of(o->bias),
               .prior = problem->accumulate ? o->out->store : NULL};
  if (problem->conv.n && cvy_may_overwrite(context, &op, o->out->store)) {
    return cvy_perform_over(context, &op, o->out->store);
  }
  cvy_store *out = cvy_store_new(context, o->out->store->bytes);
  if (!out) return CONVOY_ERR_MEMORY;
  convoy_status status = problem->conv.n ? cvy_perform(context, &op, out) : CONVOY_OK;
  if (!status && wait) status = cvy_settle(out);
  if (status) {
    cvy_store_drop(out);
    return status;
  }
  cvy_tensor_swap(o->out, out);
  return CONVOY_OK;
}

convoy_status cvy_operate_tensors(convoy_context *context, const cvy_tensor_operation *operation,
                                  convoy_run *run) {
  cvy_problem problem;
  convoy_status status = check_owners(context, operation);
  if (!status) status = tensor_problem(operation, &problem);
  if (status) return status;
  bool nothing = problem.conv.n == 0 && !zeroes_output(&problem);
  if (!nothing) status = operate(context, operation, &problem, run != NULL);
  if (!status && run) cvy_fill_run(context, run);
  return status;
}
