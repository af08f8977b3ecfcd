/* The step: y1 = relu(conv1(x) + bias), y2 = conv2(y1), and the gradients for a given dy2. */
#include "core/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

static const int64_t x_shape[] = {2, 3, 9, 8}, w1_shape[] = {4, 3, 3, 3}, y1_shape[] = {2, 4, 9, 8};
static const int64_t w2_shape[] = {6, 4, 3, 2}, y2_shape[] = {2, 6, 4, 4}, bias_shape[] = {4};
static const int64_t db_shape[] = {6};
enum { X = 432, W1 = 108, BIAS = 4, W2 = 144, DY2 = 192 };

const int64_t step_counts[STEP_ARRAYS] = {576, 192, 144, 576, 108, 6};

typedef struct inputs {
  convoy_conv first, second;
  convoy_epilogue relu;
  float x[X], w1[W1], bias[BIAS], w2[W2], dy2[DY2];
} inputs;

static inputs make_inputs(void) {
  inputs in = {
      .first = CONVOY_CONV_INIT(2), .second = CONVOY_CONV_INIT(2), .relu = CONVOY_EPILOGUE_INIT};
  for (int i = 0; i < 2; i++) {
    in.first.pad_begin[i] = in.first.pad_end[i] = 1;
    in.second.stride[i] = 2;
  }
  in.relu.activation = CONVOY_RELU;
  test_random random = {7};
  test_fill_integers(&random, in.x, X);
  test_fill_integers(&random, in.w1, W1);
  test_fill_integers(&random, in.bias, BIAS);
  test_fill_integers(&random, in.w2, W2);
  test_fill_integers(&random, in.dy2, DY2);
  return in;
}

void step_poison(step_result *result) {
  test_fill_nan(&result->values[0][0], (int64_t)STEP_ARRAYS * STEP_MOST);
}

int step_difference(const step_result *a, const step_result *b) {
  for (int i = 0; i < STEP_ARRAYS; i++) {
    if (memcmp(a->values[i], b->values[i], (size_t)step_counts[i] * sizeof(float)) != 0) return i;
  }
  return -1;
}

convoy_status step_host(convoy_context *context, step_result *result) {
  inputs in = make_inputs();
  float(*v)[STEP_MOST] = result->values;
  convoy_status status = convoy_forward_host(context, &in.first, x_shape, in.x, w1_shape, in.w1,
                                             in.bias, &in.relu, v[STEP_Y1], NULL);
  if (status) return status;
  status = convoy_forward_host(context, &in.second, y1_shape, v[STEP_Y1], w2_shape, in.w2, NULL,
                               NULL, v[STEP_Y2], NULL);
  if (status) return status;
  status = convoy_backward_weights_host(context, &in.second, y1_shape, v[STEP_Y1], w2_shape, in.dy2,
                                        0, v[STEP_DW2], NULL);
  if (status) return status;
  status = convoy_backward_data_host(context, &in.second, y1_shape, in.dy2, w2_shape, in.w2, 0,
                                     v[STEP_DY1], NULL);
  if (status) return status;
  for (int beta = 0; beta < 2 && !status; beta++) {
    status = convoy_backward_weights_host(context, &in.first, x_shape, in.x, w1_shape, v[STEP_DY1],
                                          (float)beta, v[STEP_DW1], NULL);
    if (status) return status;
    status = convoy_backward_bias_host(context, &in.second, y1_shape, w2_shape, in.dy2, (float)beta,
                                       v[STEP_DB], NULL);
  }
  return status;
}

/* ------------------------------------------------------------------------------- tensors */

enum { T_X, T_W1, T_BIAS, T_W2, T_DY2, T_OUT, TENSORS = T_OUT + STEP_ARRAYS };

static convoy_status make_tensors(convoy_context *context, const inputs *in,
                                  convoy_tensor *tensors[TENSORS]) {
  const struct {
    int32_t dims;
    const int64_t *shape;
    const float *values;
    int64_t count;
  } rows[TENSORS] = {
      [T_X] = {4, x_shape, in->x, X},
      [T_W1] = {4, w1_shape, in->w1, W1},
      [T_BIAS] = {1, bias_shape, in->bias, 4},
      [T_W2] = {4, w2_shape, in->w2, W2},
      [T_DY2] = {4, y2_shape, in->dy2, DY2},
      [T_OUT + STEP_Y1] = {4, y1_shape, NULL, 0},
      [T_OUT + STEP_Y2] = {4, y2_shape, NULL, 0},
      [T_OUT + STEP_DW2] = {4, w2_shape, NULL, 0},
      [T_OUT + STEP_DY1] = {4, y1_shape, NULL, 0},
      [T_OUT + STEP_DW1] = {4, w1_shape, NULL, 0},
      [T_OUT + STEP_DB] = {1, db_shape, NULL, 0},
  };
  for (int i = 0; i < TENSORS; i++) {
    convoy_status status = convoy_tensor_new(context, rows[i].dims, rows[i].shape, &tensors[i]);
    if (!status && rows[i].values) {
      status = convoy_tensor_write(tensors[i], rows[i].values, rows[i].count);
    }
    if (status) return status;
  }
  return CONVOY_OK;
}

static convoy_status enqueue(convoy_context *context, const inputs *in, convoy_tensor **t) {
  convoy_tensor **o = t + T_OUT;
  convoy_status status =
      convoy_forward(context, &in->first, t[T_X], t[T_W1], t[T_BIAS], &in->relu, o[STEP_Y1], NULL);
  if (!status) {
    status =
        convoy_forward(context, &in->second, o[STEP_Y1], t[T_W2], NULL, NULL, o[STEP_Y2], NULL);
  }
  if (!status) {
    status =
        convoy_backward_weights(context, &in->second, o[STEP_Y1], t[T_DY2], 0, o[STEP_DW2], NULL);
  }
  if (!status) {
    status = convoy_backward_data(context, &in->second, t[T_DY2], t[T_W2], 0, o[STEP_DY1], NULL);
  }
  for (int beta = 0; beta < 2 && !status; beta++) {
    status = convoy_backward_weights(context, &in->first, t[T_X], o[STEP_DY1], (float)beta,
                                     o[STEP_DW1], NULL);
    if (status) return status;
    status = convoy_backward_bias(context, &in->second, t[T_DY2], (float)beta, o[STEP_DB], NULL);
  }
  return status;
}

convoy_status step_tensors(convoy_context *context, step_result *result) {
  inputs in = make_inputs();
  convoy_tensor *tensors[TENSORS] = {NULL};
  convoy_status status = make_tensors(context, &in, tensors);
  if (!status) status = enqueue(context, &in, tensors);
  for (int i = 0; i < STEP_ARRAYS && !status; i++) {
    status = convoy_tensor_read(tensors[T_OUT + i], result->values[i], step_counts[i]);
  }
  for (int i = 0; i < TENSORS; i++) convoy_tensor_free(tensors[i]);
  return status;
}

void step_expected(step_result *result) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "cpu";
  step_poison(result);
  if (convoy_open(&options, &context) || step_host(context, result)) abort();
  convoy_close(context);
}
