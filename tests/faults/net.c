#include "faults/net.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"

#define SEED_VALUES 1 /* -1..1: sums stay below 2^24 through all layers, forward and backward */

typedef struct layer {
  int64_t w_shape[4];
  int64_t stride, pad, dilation, groups;
} layer;

static const layer layers[NET_LAYERS] = {
    {{6, 3, 3, 3}, 2, 1, 1, 1},
    {{6, 1, 3, 3}, 1, 2, 2, 6},
    {{8, 6, 1, 1}, 1, 0, 1, 1},
    {{4, 4, 3, 3}, 1, 1, 1, 2},
};
static const int64_t x_shape[4] = {2, 3, 13, 10};

static convoy_conv conv_of(int index) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  conv.groups = layers[index].groups;
  for (int axis = 0; axis < 2; axis++) {
    conv.stride[axis] = layers[index].stride;
    conv.dilation[axis] = layers[index].dilation;
    conv.pad_begin[axis] = conv.pad_end[axis] = layers[index].pad;
  }
  return conv;
}

/* Shape of the input of layer `index`, by going through those before it. */
static void input_shape(int index, int64_t *shape) {
  memcpy(shape, x_shape, sizeof x_shape);
  for (int i = 0; i < index; i++) {
    const convoy_conv conv = conv_of(i);
    int64_t y_shape[4];
    assert_int_equal(convoy_output_shape(&conv, shape, layers[i].w_shape, y_shape), CONVOY_OK);
    memcpy(shape, y_shape, sizeof y_shape);
  }
}

/* a lies as [rows][terms], c as [columns][terms]. */
static int32_t matrix_shape(int array, int64_t *shape) {
  enum { ROWS = 9, COLUMNS = 6, TERMS = 21 };
  shape[0] = array == NET_C ? COLUMNS : ROWS;
  shape[1] = array == NET_AC ? COLUMNS : TERMS;
  return 2;
}

/* Of windows of 3 x 3, 2 apart, with padding of 1. */
static int32_t pool_shape(int array, int64_t *shape) {
  memcpy(shape, x_shape, sizeof x_shape);
  if (array != NET_DI) {
    shape[2] = (shape[2] - 1) / 2 + 1;
    shape[3] = (shape[3] - 1) / 2 + 1;
  }
  return 4;
}

/* Of what programs have beside layers. */
static int32_t program_shape(int array, int64_t *shape) {
  shape[0] = 1;
  if (array < NET_EPSILON) shape[0] = layers[NET_LAYERS - 1].w_shape[0];
  if (array < NET_Z) return 1;
  if (array == NET_V)
    memcpy(shape, layers[0].w_shape, sizeof layers[0].w_shape);
  else
    input_shape(NET_LAYERS, shape);
  return 4;
}

static int32_t shape_of(int array, int64_t *shape) {
  if (array >= NET_P) return pool_shape(array, shape);
  if (array >= NET_A) return matrix_shape(array, shape);
  if (array >= NET_MEAN) return program_shape(array, shape);
  const int same = array < NET_DX ? array : array - NET_DX;
  if (same >= NET_B) {
    shape[0] = layers[same - NET_B].w_shape[0];
    return 1;
  }
  if (same >= NET_W)
    memcpy(shape, layers[same - NET_W].w_shape, sizeof layers[0].w_shape);
  else
    input_shape(same, shape);
  return 4;
}

static int64_t count_of(int array) {
  int64_t shape[4], count = 1;
  for (int32_t i = shape_of(array, shape); i > 0; i--) count *= shape[i - 1];
  return count;
}

static bool is_given(int array) {
  return array == NET_X || (array >= NET_W && array < NET_DX) || array == NET_DX + NET_LAYERS ||
         (array >= NET_DW && array < NET_DB) || array == NET_GAMMA || array == NET_BETA ||
         (array >= NET_EPSILON && array <= NET_MOMENTUM) || array == NET_DZ ||
         (array >= NET_V && array <= NET_C) || array == NET_DP;
}

static void fill(float *values, int64_t count, bool given, test_random *random) {
  if (!given) test_fill_nan(values, count);
  for (int64_t i = 0; given && i < count; i++)
    values[i] = (float)test_between(random, -SEED_VALUES, SEED_VALUES);
}

/* What is a number by itself is one that its program is for. */
static void fill_numbers(struct net *net) {
  net->host[NET_EPSILON][0] = 1e-3f;
  net->host[NET_RATE][0] = 0.1f;
  net->host[NET_MOMENTUM][0] = 0.9f;
}

static void make_tensor(struct net *net, int array) {
  int64_t shape[4];
  const int32_t dims = shape_of(array, shape);
  assert_int_equal(convoy_tensor_new(net->context, dims, shape, &net->tensor[array]), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(net->tensor[array], net->host[array], count_of(array)),
                   CONVOY_OK);
}

void net_open(struct net *net, const char *device, bool tensors, uint64_t seed) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  test_random random = {seed};
  options.device = device;
  options.failover = CONVOY_ON;
  memset(net, 0, sizeof *net);
  net->tensors = tensors;
  if (convoy_open(&options, &net->context)) fail_msg("open %s: %s", device, convoy_last_error());
  for (int array = 0; array < NET_ARRAYS; array++) {
    const int64_t count = count_of(array);
    net->host[array] = malloc((size_t)count * sizeof(float));
    fill(net->host[array], count, is_given(array), &random);
  }
  fill_numbers(net);
  for (int array = 0; tensors && array < NET_ARRAYS; array++) make_tensor(net, array);
}

void net_learn_nothing(struct net *net) {
  net->host[NET_RATE][0] = 0;
  if (convoy_tensor_write(net->tensor[NET_RATE], net->host[NET_RATE], 1))
    fail_msg("rate: %s", convoy_last_error());
}

void net_close(struct net *net) {
  for (int array = 0; array < NET_ARRAYS; array++) {
    convoy_tensor_free(net->tensor[array]);
    free(net->host[array]);
  }
  convoy_close(net->context);
}

/* ---------------------------------------------------------------------------- calls */

static convoy_status call_host(struct net *net, int index, convoy_direction direction,
                               convoy_run *run) {
  const convoy_conv conv = conv_of(index);
  const int64_t *w_shape = layers[index].w_shape;
  float *const *host = net->host;
  int64_t shape[4];
  input_shape(index, shape);
  const float *x = host[NET_X + index], *w = host[NET_W + index];
  const float *dy = host[NET_DX + index + 1];
  switch (direction) {
    case CONVOY_FORWARD:
      return convoy_forward_host(net->context, &conv, shape, x, w_shape, w, host[NET_B + index],
                                 NULL, host[NET_X + index + 1], run);
    case CONVOY_BACKWARD_WEIGHTS:
      return convoy_backward_weights_host(net->context, &conv, shape, x, w_shape, dy, 1.0f,
                                          host[NET_DW + index], run);
    case CONVOY_BACKWARD_BIAS:
      return convoy_backward_bias_host(net->context, &conv, shape, w_shape, dy, 0.0f,
                                       host[NET_DB + index], run);
    default:
      return convoy_backward_data_host(net->context, &conv, shape, dy, w_shape, w, 0.0f,
                                       host[NET_DX + index], run);
  }
}

static convoy_status call_tensors(struct net *net, int index, convoy_direction direction,
                                  convoy_run *run) {
  const convoy_conv conv = conv_of(index);
  convoy_tensor *const *tensor = net->tensor;
  const convoy_tensor *x = tensor[NET_X + index], *w = tensor[NET_W + index];
  const convoy_tensor *dy = tensor[NET_DX + index + 1];
  switch (direction) {
    case CONVOY_FORWARD:
      return convoy_forward(net->context, &conv, x, w, tensor[NET_B + index], NULL,
                            tensor[NET_X + index + 1], run);
    case CONVOY_BACKWARD_WEIGHTS:
      return convoy_backward_weights(net->context, &conv, x, dy, 1.0f, tensor[NET_DW + index], run);
    case CONVOY_BACKWARD_BIAS:
      return convoy_backward_bias(net->context, &conv, dy, 0.0f, tensor[NET_DB + index], run);
    default:
      return convoy_backward_data(net->context, &conv, dy, w, 0.0f, tensor[NET_DX + index], run);
  }
}

/* ------------------------------------------------------------------------------- the others */

/* Operands are inputs, then results. */
enum { OPERANDS = 10 };
typedef struct other_call {
  convoy_status (*carry_out)(convoy_context *context, const struct other_call *what,
                             const convoy_tensor *const *in, convoy_tensor *const *out,
                             convoy_run *run);
  const char *name; /* of a program */
  int inputs, results;
  uint8_t operand[OPERANDS];
} other_call;

static convoy_status apply(convoy_context *context, const other_call *what,
                           const convoy_tensor *const *in, convoy_tensor *const *out,
                           convoy_run *run) {
  convoy_program *program;
  convoy_status status = convoy_program_named(what->name, &program);
  if (!status) status = convoy_apply(context, program, in, out, run);
  convoy_program_free(program);
  return status;
}

static convoy_status multiply(convoy_context *context, const other_call *what,
                              const convoy_tensor *const *in, convoy_tensor *const *out,
                              convoy_run *run) {
  (void)what;
  return convoy_matmul(context, CONVOY_MATMUL_TRANSPOSE_B, in[0], in[1], out[0], run);
}

static convoy_window window_of_pool(void) {
  convoy_window window = CONVOY_WINDOW_INIT(2);
  for (int axis = 0; axis < 2; axis++) {
    window.extent[axis] = 3;
    window.stride[axis] = 2;
    window.pad_begin[axis] = window.pad_end[axis] = 1;
  }
  return window;
}

static convoy_status pool(convoy_context *context, const other_call *what,
                          const convoy_tensor *const *in, convoy_tensor *const *out,
                          convoy_run *run) {
  convoy_window window = window_of_pool();
  (void)what;
  return convoy_max_pool(context, &window, in[0], out[0], run);
}

static convoy_status pool_backward(convoy_context *context, const other_call *what,
                                   const convoy_tensor *const *in, convoy_tensor *const *out,
                                   convoy_run *run) {
  convoy_window window = window_of_pool();
  (void)what;
  return convoy_max_pool_backward(context, &window, in[0], in[1], out[0], run);
}

static const other_call others[NET_OTHERS] = {
    {apply, "statistics", 1, 2, {NET_X + NET_LAYERS, NET_MEAN, NET_VARIANCE}},
    {apply,
     "normalise_numbers",
     3,
     2,
     {NET_VARIANCE, NET_EPSILON, NET_GAMMA, NET_DEVIATION, NET_SCALE}},
    {apply, "normalise_silu", 4, 1, {NET_X + NET_LAYERS, NET_MEAN, NET_SCALE, NET_BETA, NET_Z}},
    {apply,
     "normalise_silu_sums",
     6,
     2,
     {NET_X + NET_LAYERS, NET_MEAN, NET_DEVIATION, NET_GAMMA, NET_BETA, NET_DZ, NET_SUM,
      NET_SUM_H}},
    {apply,
     "normalise_silu_backward",
     9,
     1,
     {NET_X + NET_LAYERS, NET_MEAN, NET_DEVIATION, NET_GAMMA, NET_BETA, NET_DZ, NET_SUM, NET_SUM_H,
      NET_SCALE, NET_DN}},
    {apply, "momentum", 5, 2, {NET_MOMENTUM, NET_V, NET_DW, NET_W, NET_RATE, NET_V, NET_W}},
    {multiply, NULL, 2, 1, {NET_A, NET_C, NET_AC}},
    {pool, NULL, 1, 1, {NET_X, NET_P}},
    {pool_backward, NULL, 2, 1, {NET_X, NET_DP, NET_DI}},
};

/* The tensors of a call on a net in host memory. */
static void bring(struct net *net, const uint8_t *operand, int count) {
  for (int i = 0; i < count; i++)
    if (!net->tensor[operand[i]]) make_tensor(net, operand[i]); /* it may be there twice */
}

static convoy_status take_back(struct net *net, const uint8_t *operand, int count,
                               const uint8_t *results, convoy_status status) {
  for (const uint8_t *k = results; k < operand + count && !status; k++)
    status = convoy_tensor_read(net->tensor[*k], net->host[*k], count_of(*k));
  for (int i = 0; i < count; i++) {
    convoy_tensor_free(net->tensor[operand[i]]);
    net->tensor[operand[i]] = NULL;
  }
  return status;
}

static convoy_status call_other(struct net *net, const other_call *what, convoy_run *run) {
  const convoy_tensor *in[OPERANDS];
  convoy_tensor *out[OPERANDS];
  const int count = what->inputs + what->results;
  const uint8_t *results = what->operand + what->inputs;
  if (!net->tensors) bring(net, what->operand, count);
  for (int i = 0; i < what->inputs; i++) in[i] = net->tensor[what->operand[i]];
  for (int k = 0; k < what->results; k++) out[k] = net->tensor[results[k]];
  convoy_status status = what->carry_out(net->context, what, in, out, run);
  return net->tensors ? status : take_back(net, what->operand, count, results, status);
}

/* Forward through the layers, then backward from the last, three calls each. */
convoy_status net_call(struct net *net, int index, convoy_run *run) {
  if (index >= NET_CALLS) return call_other(net, &others[index - NET_CALLS], run);
  static const convoy_direction backward[] = {CONVOY_BACKWARD_WEIGHTS, CONVOY_BACKWARD_BIAS,
                                              CONVOY_BACKWARD_DATA};
  const int after = index - NET_LAYERS;
  const int at = after < 0 ? index : NET_LAYERS - 1 - after / 3;
  const convoy_direction direction = after < 0 ? CONVOY_FORWARD : backward[after % 3];
  return (net->tensors ? call_tensors : call_host)(net, at, direction, run);
}

/* What has been computed is committed first: the device copies it out while the first is being
 * read. */
void net_read(struct net *net) {
  for (int array = 0; net->tensors && array < NET_ARRAYS; array++)
    if (convoy_commit(net->tensor[array])) fail_msg("array %d: %s", array, convoy_last_error());
  for (int array = 0; net->tensors && array < NET_ARRAYS; array++)
    if (convoy_tensor_read(net->tensor[array], net->host[array], count_of(array)))
      fail_msg("array %d: %s", array, convoy_last_error());
}

int net_difference(const struct net *a, const struct net *b) {
  for (int array = 0; array < NET_ARRAYS; array++)
    if (memcmp(a->host[array], b->host[array], (size_t)count_of(array) * sizeof(float)) != 0)
      return array;
  return -1;
}
