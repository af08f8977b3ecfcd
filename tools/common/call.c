/* Finds the function of a direction in one of two tables. */
#include "common/call.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct host_call {
  convoy_context *context;
  const problem *about;
  operands *data;
  float beta;
  const convoy_epilogue *epilogue;
  convoy_run *run;
} host_call;

static convoy_status host_forward(const host_call *c) {
  return convoy_forward_host(c->context, &c->about->conv, c->about->x_shape, c->data->a,
                             c->about->w_shape, c->data->b, c->data->bias, c->epilogue,
                             c->data->out, c->run);
}

static convoy_status host_backward_data(const host_call *c) {
  return convoy_backward_data_host(c->context, &c->about->conv, c->about->x_shape, c->data->a,
                                   c->about->w_shape, c->data->b, c->beta, c->data->out, c->run);
}

static convoy_status host_backward_weights(const host_call *c) {
  return convoy_backward_weights_host(c->context, &c->about->conv, c->about->x_shape, c->data->a,
                                      c->about->w_shape, c->data->b, c->beta, c->data->out, c->run);
}

static convoy_status host_backward_bias(const host_call *c) {
  return convoy_backward_bias_host(c->context, &c->about->conv, c->about->x_shape,
                                   c->about->w_shape, c->data->a, c->beta, c->data->out, c->run);
}

static convoy_status (*const host_calls[CONVOY_DIRECTIONS])(const host_call *) = {
    [CONVOY_FORWARD] = host_forward,
    [CONVOY_BACKWARD_DATA] = host_backward_data,
    [CONVOY_BACKWARD_WEIGHTS] = host_backward_weights,
    [CONVOY_BACKWARD_BIAS] = host_backward_bias,
};

convoy_status call_host(convoy_context *context, const problem *about, operands *data, float beta,
                        const convoy_epilogue *epilogue, convoy_run *run) {
  host_call call = {context, about, data, beta, epilogue, run};
  return host_calls[about->direction](&call);
}

static convoy_status forward(convoy_context *context, const convoy_conv *conv, tensors *data,
                             convoy_run *run) {
  return convoy_forward(context, conv, data->a, data->b, NULL, NULL, data->out, run);
}

static convoy_status backward_data(convoy_context *context, const convoy_conv *conv, tensors *data,
                                   convoy_run *run) {
  return convoy_backward_data(context, conv, data->a, data->b, 0.0f, data->out, run);
}

static convoy_status backward_weights(convoy_context *context, const convoy_conv *conv,
                                      tensors *data, convoy_run *run) {
  return convoy_backward_weights(context, conv, data->a, data->b, 0.0f, data->out, run);
}

static convoy_status backward_bias(convoy_context *context, const convoy_conv *conv, tensors *data,
                                   convoy_run *run) {
  return convoy_backward_bias(context, conv, data->a, 0.0f, data->out, run);
}

static convoy_status (*const tensor_calls[CONVOY_DIRECTIONS])(convoy_context *, const convoy_conv *,
                                                              tensors *, convoy_run *) = {
    [CONVOY_FORWARD] = forward,
    [CONVOY_BACKWARD_DATA] = backward_data,
    [CONVOY_BACKWARD_WEIGHTS] = backward_weights,
    [CONVOY_BACKWARD_BIAS] = backward_bias,
};

convoy_status call_tensors(convoy_context *context, const problem *about, tensors *data,
                           convoy_run *run) {
  return tensor_calls[about->direction](context, &about->conv, data, run);
}

static convoy_status make_tensor(convoy_context *context, const problem *about, array which,
                                 const float *values, convoy_tensor **out) {
  int64_t shape[CONVOY_MAX_DIMS];
  int dims = array_shape(about, which, shape);
  if (dims == 0) return CONVOY_OK;
  convoy_status status = convoy_tensor_new(context, dims, shape, out);
  if (status != CONVOY_OK || !values) return status;
  return convoy_tensor_write(*out, values, array_count(about, which));
}

convoy_status tensors_make(convoy_context *context, const problem *about, const operands *data,
                           tensors *out) {
  const roles *role = &direction_roles[about->direction];
  *out = (tensors){NULL, NULL, NULL};
  convoy_status status = make_tensor(context, about, role->a, data->a, &out->a);
  if (status == CONVOY_OK) status = make_tensor(context, about, role->b, data->b, &out->b);
  if (status == CONVOY_OK) status = make_tensor(context, about, role->out, NULL, &out->out);
  if (status != CONVOY_OK) tensors_free(out);
  return status;
}

void tensors_free(tensors *data) {
  convoy_tensor_free(data->a);
  convoy_tensor_free(data->b);
  convoy_tensor_free(data->out);
  *data = (tensors){NULL, NULL, NULL};
}

bool call_as_asked(const convoy_run *run, const char *device, const char *algorithm, char *why,
                   size_t why_size) {
  snprintf(why, why_size, "ran on %s by %s, attempts %d, first fault %s %.150s", run->device,
           run->algorithm, (int)run->attempts, convoy_status_name((convoy_status)run->first_fault),
           run->fault);
  return run->attempts == 1 && run->first_fault == CONVOY_OK && strcmp(run->device, device) == 0 &&
         (!algorithm || strcmp(run->algorithm, algorithm) == 0);
}
