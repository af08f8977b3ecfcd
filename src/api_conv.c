/* Public functions on convolutions: shapes and text, operations on host memory and on tensors. */
#include "api_check.h"
#include "core/operation.h"
#include "problem/conv/conv.h"

/* ------------------------------------------------------------------------ shapes and text */

convoy_status convoy_output_shape(const convoy_conv *conv, const int64_t *x_shape,
                                  const int64_t *w_shape, int64_t *y_shape) {
  const cvy_pointer given[] = {
      {"conv", conv}, {"x_shape", x_shape}, {"w_shape", w_shape}, {"y_shape", y_shape}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  return status ? status : cvy_output_shape(conv, x_shape, w_shape, y_shape);
}

double convoy_flops(const convoy_conv *conv, convoy_direction direction, const int64_t *x_shape,
                    const int64_t *w_shape) {
  const cvy_pointer given[] = {{"conv", conv}, {"x_shape", x_shape}, {"w_shape", w_shape}};
  cvy_problem problem;
  if (cvy_check_pointers(given, CVY_COUNT(given))) return 0.0;
  if (cvy_conv_make(conv, direction, x_shape, w_shape, 0.0f, false, NULL, &problem)) {
    return 0.0;
  }
  return cvy_problem_flops(&problem);
}

convoy_status convoy_parse_problem(const char *text, convoy_conv *conv, int64_t *x_shape,
                                   int64_t *w_shape, convoy_direction *direction) {
  const cvy_pointer given[] = {{"text", text},
                               {"conv", conv},
                               {"x_shape", x_shape},
                               {"w_shape", w_shape},
                               {"direction", direction}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  return status ? status : cvy_parse_problem(text, conv, x_shape, w_shape, direction);
}

convoy_status convoy_format_problem(const convoy_conv *conv, const int64_t *x_shape,
                                    const int64_t *w_shape, convoy_direction direction, char *text,
                                    size_t size) {
  const cvy_pointer given[] = {
      {"conv", conv}, {"x_shape", x_shape}, {"w_shape", w_shape}, {"text", text}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  return status ? status : cvy_format_problem(conv, x_shape, w_shape, direction, text, size);
}

/* -------------------------------------------------------------- operations on host memory */

/* `second` of the operation is NULL where the direction has none; the others must be there. */
static convoy_status run_host(convoy_context *context, const cvy_host_operation *o,
                              const char *names[3], convoy_run *run) {
  const cvy_pointer given[] = {{"conv", o->conv},
                               {"x_shape", o->x_shape},
                               {"w_shape", o->w_shape},
                               {names[0], o->first},
                               {names[1], names[1] ? o->second : o->first},
                               {names[2], o->out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("run", run, sizeof(*run), true);
  if (!status) status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_operate_host(context, o, run));
}

convoy_status convoy_forward_host(convoy_context *context, const convoy_conv *conv,
                                  const int64_t *x_shape, const float *x, const int64_t *w_shape,
                                  const float *w, const float *bias,
                                  const convoy_epilogue *epilogue, float *y, convoy_run *run) {
  const cvy_host_operation operation = {.direction = CONVOY_FORWARD,
                                        .conv = conv,
                                        .x_shape = x_shape,
                                        .w_shape = w_shape,
                                        .first = x,
                                        .second = w,
                                        .bias = bias,
                                        .epilogue = epilogue,
                                        .out = y};
  return run_host(context, &operation, (const char *[]){"x", "w", "y"}, run);
}

convoy_status convoy_backward_data_host(convoy_context *context, const convoy_conv *conv,
                                        const int64_t *x_shape, const float *dy,
                                        const int64_t *w_shape, const float *w, float beta,
                                        float *dx, convoy_run *run) {
  const cvy_host_operation operation = {.direction = CONVOY_BACKWARD_DATA,
                                        .conv = conv,
                                        .x_shape = x_shape,
                                        .w_shape = w_shape,
                                        .first = dy,
                                        .second = w,
                                        .beta = beta,
                                        .out = dx};
  return run_host(context, &operation, (const char *[]){"dy", "w", "dx"}, run);
}

convoy_status convoy_backward_weights_host(convoy_context *context, const convoy_conv *conv,
                                           const int64_t *x_shape, const float *x,
                                           const int64_t *w_shape, const float *dy, float beta,
                                           float *dw, convoy_run *run) {
  const cvy_host_operation operation = {.direction = CONVOY_BACKWARD_WEIGHTS,
                                        .conv = conv,
                                        .x_shape = x_shape,
                                        .w_shape = w_shape,
                                        .first = x,
                                        .second = dy,
                                        .beta = beta,
                                        .out = dw};
  return run_host(context, &operation, (const char *[]){"x", "dy", "dw"}, run);
}

convoy_status convoy_backward_bias_host(convoy_context *context, const convoy_conv *conv,
                                        const int64_t *x_shape, const int64_t *w_shape,
                                        const float *dy, float beta, float *db, convoy_run *run) {
  const cvy_host_operation operation = {.direction = CONVOY_BACKWARD_BIAS,
                                        .conv = conv,
                                        .x_shape = x_shape,
                                        .w_shape = w_shape,
                                        .first = dy,
                                        .beta = beta,
                                        .out = db};
  return run_host(context, &operation, (const char *[]){"dy", NULL, "db"}, run);
}

/* ------------------------------------------------------------------ operations on tensors */

static convoy_status run_tensors(convoy_context *context, const cvy_tensor_operation *o,
                                 const char *names[3], convoy_run *run) {
  const cvy_pointer given[] = {{"conv", o->conv},
                               {names[0], o->first},
                               {names[1], names[1] ? o->second : o->first},
                               {names[2], o->out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("run", run, sizeof(*run), true);
  if (!status) status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_operate_tensors(context, o, run));
}

convoy_status convoy_forward(convoy_context *context, const convoy_conv *conv,
                             const convoy_tensor *x, const convoy_tensor *w,
                             const convoy_tensor *bias, const convoy_epilogue *epilogue,
                             convoy_tensor *y, convoy_run *run) {
  const cvy_tensor_operation operation = {.direction = CONVOY_FORWARD,
                                          .conv = conv,
                                          .first = x,
                                          .second = w,
                                          .bias = bias,
                                          .epilogue = epilogue,
                                          .out = y};
  return run_tensors(context, &operation, (const char *[]){"x", "w", "y"}, run);
}

convoy_status convoy_backward_data(convoy_context *context, const convoy_conv *conv,
                                   const convoy_tensor *dy, const convoy_tensor *w, float beta,
                                   convoy_tensor *dx, convoy_run *run) {
  const cvy_tensor_operation operation = {.direction = CONVOY_BACKWARD_DATA,
                                          .conv = conv,
                                          .first = dy,
                                          .second = w,
                                          .beta = beta,
                                          .out = dx};
  return run_tensors(context, &operation, (const char *[]){"dy", "w", "dx"}, run);
}

convoy_status convoy_backward_weights(convoy_context *context, const convoy_conv *conv,
                                      const convoy_tensor *x, const convoy_tensor *dy, float beta,
                                      convoy_tensor *dw, convoy_run *run) {
  const cvy_tensor_operation operation = {.direction = CONVOY_BACKWARD_WEIGHTS,
                                          .conv = conv,
                                          .first = x,
                                          .second = dy,
                                          .beta = beta,
                                          .out = dw};
  return run_tensors(context, &operation, (const char *[]){"x", "dy", "dw"}, run);
}

convoy_status convoy_backward_bias(convoy_context *context, const convoy_conv *conv,
                                   const convoy_tensor *dy, float beta, convoy_tensor *db,
                                   convoy_run *run) {
  const cvy_tensor_operation operation = {
      .direction = CONVOY_BACKWARD_BIAS, .conv = conv, .first = dy, .beta = beta, .out = db};
  return run_tensors(context, &operation, (const char *[]){"dy", NULL, "db"}, run);
}
