/* Public functions on convolutions: shapes and text, operations on host memory and on tensors. Each
 * operation makes its problem and puts its operands in the order of the problem. */
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

/* --------------------------------------------------------------------------------- operations */

/* What all four calls are given. The operands are in the order of the direction's row. */
typedef struct conv_call {
  convoy_direction direction;
  const convoy_conv *conv;
  const convoy_epilogue *epilogue;
  float beta;
  bool has_bias;
} conv_call;

static const cvy_operation *row_of(const conv_call *call) {
  return cvy_operations[call->direction];
}

/* A transposed convolution's problem maps y to x, so what the public call names x is its y. Only
 * where both are read does that change the order. */
static bool is_swapped(const conv_call *call) {
  return call->conv->transposed && call->direction == CONVOY_BACKWARD_WEIGHTS;
}

static convoy_status problem_of(const conv_call *call, const int64_t *x_shape,
                                const int64_t *w_shape, cvy_problem *problem) {
  return cvy_conv_make(call->conv, call->direction, x_shape, w_shape, call->beta, call->has_bias,
                       call->epilogue, problem);
}

/* Checks what both kinds of calls begin with: the pointers, of which the bias may be NULL. */
static convoy_status check_call(const conv_call *call, const void *const in[2], const void *out,
                                const convoy_run *run) {
  const cvy_operation *row = row_of(call);
  const cvy_pointer given[] = {{row->input_names[0], in[0]},
                               {row->input_names[1], row->input_names[1] ? in[1] : in[0]},
                               {row->output_names[0], out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  return status ? status : cvy_check_struct("run", run, sizeof(*run), true);
}

/* -------------------------------------------------------------- operations on host memory */

static convoy_status run_host(convoy_context *context, const conv_call *call,
                              const int64_t *x_shape, const int64_t *w_shape,
                              const float *const in[3], float *out, convoy_run *run) {
  const cvy_pointer given[] = {{"conv", call->conv}, {"x_shape", x_shape}, {"w_shape", w_shape}};
  cvy_problem problem;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = check_call(call, (const void *const[]){in[0], in[1]}, out, run);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  bool swap = is_swapped(call);
  const float *const order[3] = {in[swap], in[!swap], in[2]};
  status = problem_of(call, x_shape, w_shape, &problem);
  if (!status) status = cvy_operate_host(context, &problem, order, &out, run);
  return cvy_leave(context, status);
}

convoy_status convoy_forward_host(convoy_context *context, const convoy_conv *conv,
                                  const int64_t *x_shape, const float *x, const int64_t *w_shape,
                                  const float *w, const float *bias,
                                  const convoy_epilogue *epilogue, float *y, convoy_run *run) {
  const conv_call call = {CONVOY_FORWARD, conv, epilogue, 0.0f, bias != NULL};
  return run_host(context, &call, x_shape, w_shape, (const float *const[]){x, w, bias}, y, run);
}

convoy_status convoy_backward_data_host(convoy_context *context, const convoy_conv *conv,
                                        const int64_t *x_shape, const float *dy,
                                        const int64_t *w_shape, const float *w, float beta,
                                        float *dx, convoy_run *run) {
  const conv_call call = {CONVOY_BACKWARD_DATA, conv, NULL, beta, false};
  return run_host(context, &call, x_shape, w_shape, (const float *const[]){dy, w, NULL}, dx, run);
}

convoy_status convoy_backward_weights_host(convoy_context *context, const convoy_conv *conv,
                                           const int64_t *x_shape, const float *x,
                                           const int64_t *w_shape, const float *dy, float beta,
                                           float *dw, convoy_run *run) {
  const conv_call call = {CONVOY_BACKWARD_WEIGHTS, conv, NULL, beta, false};
  return run_host(context, &call, x_shape, w_shape, (const float *const[]){x, dy, NULL}, dw, run);
}

convoy_status convoy_backward_bias_host(convoy_context *context, const convoy_conv *conv,
                                        const int64_t *x_shape, const int64_t *w_shape,
                                        const float *dy, float beta, float *db, convoy_run *run) {
  const conv_call call = {CONVOY_BACKWARD_BIAS, conv, NULL, beta, false};
  return run_host(context, &call, x_shape, w_shape, (const float *const[]){dy, NULL, NULL}, db,
                  run);
}

/* ---------------------------------------------------------------------- operations on tensors */

/* The tensors of a call in the order of its row, the result behind them. */
enum { FIRST, SECOND, OUT, OPERANDS };

/* Which of them is x, w and y. */
static const struct {
  int x, w, y;
} roles[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = {FIRST, SECOND, OUT},
    [CONVOY_BACKWARD_DATA] = {OUT, SECOND, FIRST},
    [CONVOY_BACKWARD_WEIGHTS] = {FIRST, OUT, SECOND},
    [CONVOY_BACKWARD_BIAS] = {OUT, OUT, FIRST}, /* has neither x nor w */
};

static const char *name_of(const conv_call *call, int operand) {
  return operand == OUT ? row_of(call)->output_names[0] : row_of(call)->input_names[operand];
}

/* Before shapes are looked at: a wrong number of extents would give puzzling sentences. An illegal
 * rank is left to the problem's own check. */
static convoy_status check_ranks(const conv_call *call, const convoy_tensor *const all[OPERANDS]) {
  int32_t rank = call->conv->rank;
  bool bias = call->direction == CONVOY_BACKWARD_BIAS;
  convoy_status status = CONVOY_OK;
  if (rank < 1 || rank > CONVOY_MAX_RANK) return CONVOY_OK;
  for (int i = FIRST; i < OPERANDS && !status; i++) {
    const char *name = name_of(call, i);
    if (name) status = cvy_check_dims(name, all[i], bias && i == OUT ? 1 : rank + 2);
  }
  return status;
}

static convoy_status bias_problem(const conv_call *call, const convoy_tensor *const all[OPERANDS],
                                  cvy_problem *problem) {
  convoy_status status = cvy_conv_make_bias(call->conv, all[FIRST]->shape, call->beta, problem);
  return status ? status : cvy_check_shape("db", all[OUT], 1, &problem->conv.k);
}

/* Makes the problem and checks that every operand has the shape it implies. */
static convoy_status tensor_problem(const conv_call *call, const convoy_tensor *const all[OPERANDS],
                                    const convoy_tensor *bias, cvy_problem *problem) {
  convoy_status status = check_ranks(call, all);
  if (status) return status;
  if (call->direction == CONVOY_BACKWARD_BIAS) return bias_problem(call, all, problem);

  int role = roles[call->direction].y;
  const int64_t *x_shape = all[roles[call->direction].x]->shape;
  const int64_t *w_shape = all[roles[call->direction].w]->shape;
  int64_t y_shape[CONVOY_MAX_DIMS];
  status = problem_of(call, x_shape, w_shape, problem);
  if (status) return status;
  cvy_conv_y_shape(problem, y_shape);
  status = cvy_check_shape(name_of(call, role), all[role], call->conv->rank + 2, y_shape);
  if (!status && bias) {
    int64_t channels = cvy_conv_count(problem, CVY_BIAS);
    status = cvy_check_shape("bias", bias, 1, &channels);
  }
  return status;
}

static convoy_status run_tensors(convoy_context *context, const conv_call *call,
                                 const convoy_tensor *const in[3], convoy_tensor *out,
                                 convoy_run *run) {
  const cvy_pointer given[] = {{"conv", call->conv}};
  cvy_problem problem;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = check_call(call, (const void *const[]){in[0], in[1]}, out, run);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  bool swap = is_swapped(call);
  const convoy_tensor *const all[OPERANDS] = {in[0], in[1], out};
  const convoy_tensor *const order[3] = {in[swap], in[!swap], in[2]};
  status = cvy_check_owners(context, in, 3);
  if (!status) status = cvy_check_owners(context, &all[OUT], 1);
  if (!status) status = tensor_problem(call, all, in[2], &problem);
  if (!status) status = cvy_operate_tensors(context, &problem, order, &out, run);
  return cvy_leave(context, status);
}

convoy_status convoy_forward(convoy_context *context, const convoy_conv *conv,
                             const convoy_tensor *x, const convoy_tensor *w,
                             const convoy_tensor *bias, const convoy_epilogue *epilogue,
                             convoy_tensor *y, convoy_run *run) {
  const conv_call call = {CONVOY_FORWARD, conv, epilogue, 0.0f, bias != NULL};
  return run_tensors(context, &call, (const convoy_tensor *const[]){x, w, bias}, y, run);
}

convoy_status convoy_backward_data(convoy_context *context, const convoy_conv *conv,
                                   const convoy_tensor *dy, const convoy_tensor *w, float beta,
                                   convoy_tensor *dx, convoy_run *run) {
  const conv_call call = {CONVOY_BACKWARD_DATA, conv, NULL, beta, false};
  return run_tensors(context, &call, (const convoy_tensor *const[]){dy, w, NULL}, dx, run);
}

convoy_status convoy_backward_weights(convoy_context *context, const convoy_conv *conv,
                                      const convoy_tensor *x, const convoy_tensor *dy, float beta,
                                      convoy_tensor *dw, convoy_run *run) {
  const conv_call call = {CONVOY_BACKWARD_WEIGHTS, conv, NULL, beta, false};
  return run_tensors(context, &call, (const convoy_tensor *const[]){x, dy, NULL}, dw, run);
}

convoy_status convoy_backward_bias(convoy_context *context, const convoy_conv *conv,
                                   const convoy_tensor *dy, float beta, convoy_tensor *db,
                                   convoy_run *run) {
  const conv_call call = {CONVOY_BACKWARD_BIAS, conv, NULL, beta, false};
  return run_tensors(context, &call, (const convoy_tensor *const[]){dy, NULL, NULL}, db, run);
}
