/* See operation.h. */
#include "operation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOPE 0.25f /* a power of two keeps integer data exact */

const operation operations[] = {
    {"forward", CONVOY_FORWARD, 0, 0, CONVOY_IDENTITY},
    {"forward_bias", CONVOY_FORWARD, 0, 1, CONVOY_IDENTITY},
    {"forward_relu", CONVOY_FORWARD, 0, 0, CONVOY_RELU},
    {"forward_bias_relu", CONVOY_FORWARD, 0, 1, CONVOY_RELU},
    {"forward_bias_leaky_relu", CONVOY_FORWARD, 0, 1, CONVOY_LEAKY_RELU},
    {"backward_data", CONVOY_BACKWARD_DATA, 0, 0, CONVOY_IDENTITY},
    {"backward_data_add", CONVOY_BACKWARD_DATA, 1, 0, CONVOY_IDENTITY},
    {"backward_weights", CONVOY_BACKWARD_WEIGHTS, 0, 0, CONVOY_IDENTITY},
    {"backward_weights_add", CONVOY_BACKWARD_WEIGHTS, 1, 0, CONVOY_IDENTITY},
    {"backward_bias", CONVOY_BACKWARD_BIAS, 0, 0, CONVOY_IDENTITY},
    {"backward_bias_add", CONVOY_BACKWARD_BIAS, 1, 0, CONVOY_IDENTITY},
};
const int operation_count = (int)(sizeof operations / sizeof operations[0]);

static convoy_epilogue epilogue_of(const operation *op) {
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  epilogue.activation = (int32_t)op->activation;
  epilogue.slope = SLOPE;
  return epilogue;
}

convoy_status call_on_host(convoy_context *context, const test_case *problem, const operation *op,
                           const operands *with, convoy_run *run) {
  const convoy_conv *conv = &problem->conv;
  const int64_t *x = problem->x_shape, *w = problem->w_shape;
  const float beta = (float)op->beta;
  const convoy_epilogue epilogue = epilogue_of(op);
  switch (op->direction) {
    case CONVOY_FORWARD:
      return convoy_forward_host(context, conv, x, with->a, w, with->b,
                                 op->bias ? with->bias : NULL, op->activation ? &epilogue : NULL,
                                 with->out, run);
    case CONVOY_BACKWARD_DATA:
      return convoy_backward_data_host(context, conv, x, with->a, w, with->b, beta, with->out, run);
    case CONVOY_BACKWARD_WEIGHTS:
      return convoy_backward_weights_host(context, conv, x, with->a, w, with->b, beta, with->out,
                                          run);
    default:
      return convoy_backward_bias_host(context, conv, x, w, with->a, beta, with->out, run);
  }
}

/* The tensors of one call, with their host values. */
enum { A, B, BIAS, OUT, ROLES };
typedef struct tensors {
  convoy_tensor *of[ROLES];
  int64_t count[ROLES];
} tensors;

static convoy_status add_tensor(convoy_context *context, tensors *all, int role, int32_t dims,
                                const int64_t *shape, const float *values) {
  all->count[role] = test_count(shape, dims - 2);
  const convoy_status status = convoy_tensor_new(context, dims, shape, &all->of[role]);
  return status ? status : convoy_tensor_write(all->of[role], values, all->count[role]);
}

static convoy_status make_tensors(convoy_context *context, const test_case *problem,
                                  const operation *op, const operands *with, tensors *all) {
  const int32_t dims = problem->conv.rank + 2;
  const int64_t *x = problem->x_shape, *w = problem->w_shape, *y = problem->y_shape;
  const int64_t *const shapes[CONVOY_DIRECTIONS][ROLES] = {
      {x, w, NULL, y}, {y, w, NULL, x}, {x, y, NULL, w}, {y, NULL, NULL, NULL}};
  const int64_t *const *shape = shapes[op->direction];
  convoy_status status = add_tensor(context, all, A, dims, shape[A], with->a);
  if (!status && shape[B]) status = add_tensor(context, all, B, dims, shape[B], with->b);
  if (!status && op->bias) status = add_tensor(context, all, BIAS, 1, y + 1, with->bias);
  if (status) return status;
  return shape[OUT] ? add_tensor(context, all, OUT, dims, shape[OUT], with->out)
                    : add_tensor(context, all, OUT, 1, y + 1, with->out);
}

static convoy_status enqueue(convoy_context *context, const test_case *problem, const operation *op,
                             const tensors *all, convoy_run *run) {
  const convoy_conv *conv = &problem->conv;
  convoy_tensor *const *t = all->of;
  const float beta = (float)op->beta;
  const convoy_epilogue epilogue = epilogue_of(op);
  switch (op->direction) {
    case CONVOY_FORWARD:
      return convoy_forward(context, conv, t[A], t[B], t[BIAS], op->activation ? &epilogue : NULL,
                            t[OUT], run);
    case CONVOY_BACKWARD_DATA:
      return convoy_backward_data(context, conv, t[A], t[B], beta, t[OUT], run);
    case CONVOY_BACKWARD_WEIGHTS:
      return convoy_backward_weights(context, conv, t[A], t[B], beta, t[OUT], run);
    default:
      return convoy_backward_bias(context, conv, t[A], beta, t[OUT], run);
  }
}

static convoy_status expect_unchanged(convoy_tensor *tensor, const float *values, int64_t count) {
  const size_t bytes = (size_t)count * sizeof *values;
  float *now = malloc(bytes);
  if (tensor == NULL || now == NULL) {
    free(now);
    return tensor == NULL ? CONVOY_OK : CONVOY_ERR_MEMORY;
  }
  convoy_status status = convoy_tensor_read(tensor, now, count);
  if (!status && memcmp(now, values, bytes) != 0) status = CONVOY_ERR_IO;
  free(now);
  return status;
}

convoy_status call_on_tensors(convoy_context *context, const test_case *problem,
                              const operation *op, const operands *with, convoy_run *run) {
  tensors all = {0};
  const float *const inputs[OUT] = {with->a, with->b, with->bias};
  convoy_status status = make_tensors(context, problem, op, with, &all);
  if (!status) status = enqueue(context, problem, op, &all, run);
  if (!status) status = convoy_tensor_read(all.of[OUT], with->out, all.count[OUT]);
  for (int role = A; role < OUT && !status; role++)
    status = expect_unchanged(all.of[role], inputs[role], all.count[role]);
  for (int role = A; role < ROLES; role++) convoy_tensor_free(all.of[role]);
  return status;
}

static double activate(convoy_activation activation, double v) {
  if (activation == CONVOY_IDENTITY || v > 0.0) return v;
  return activation == CONVOY_RELU ? 0.0 : SLOPE * v;
}

void expect_after(const operation *op, const float *before, const float *bias, int64_t channels,
                  int64_t volume, int64_t count, ref_value *reference) {
  for (int64_t i = 0; i < count; i++) {
    ref_value *e = &reference[i];
    double added = op->beta ? (double)before[i] : 0.0;
    if (op->bias) added = (double)bias[i / volume % channels];
    e->terms += op->beta || op->bias;
    e->magnitude += fabs(added);
    e->value = activate(op->activation, e->value + added);
  }
}
