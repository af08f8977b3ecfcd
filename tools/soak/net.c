/* `convoy soak` trains this network on tensors of the device. Two pairs of layers follow each other
 * on the device without the host seeing what is between them; elsewhere the host applies the
 * activation's gradient, as a trainer does. */
#include "soak/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

const float soak_slope = 0.1f;

enum { STRIDE = 0, PAD, DILATION, GROUPS, NUMBERS };
static const struct {
  int rank;
  int64_t w_shape[4];
  int64_t number[NUMBERS];
  bool leaky, linked;
} specs[SOAK_LAYERS] = {
    {2, {8, 3, 3, 3}, {2, 1, 1, 1}, true, false},  {2, {8, 4, 3, 3}, {1, 1, 1, 2}, false, false},
    {2, {12, 8, 1, 1}, {1, 0, 1, 1}, false, true}, {2, {8, 12, 3, 3}, {1, 2, 2, 1}, true, true},
    {1, {4, 8, 5}, {2, 2, 1, 1}, false, false},
};
static const int64_t x_shape[4] = {2, 3, 21, 18};

float soak_number(uint64_t a, uint64_t b) {
  uint64_t mixed = (a * UINT64_C(0x9E3779B97F4A7C15)) ^ (b + UINT64_C(0x632BE59BD9B4E019));
  mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (float)((double)(mixed >> 40) / 0x1p23 - 1.0 + 0x1p-25);
}

/* ------------------------------------------------------------------------------- making */

/* From rank 2 to rank 1 the positions of an image become a line. */
static void take_input(problem *about, const soak_layer *before) {
  const int64_t *y = before->about.y_shape;
  memcpy(about->x_shape, y, sizeof about->x_shape);
  if (about->conv.rank == 1 && before->about.conv.rank == 2) about->x_shape[2] = y[2] * y[3];
}

static bool make_problem(soak_net *net, int index) {
  soak_layer *layer = &net->layer[index];
  problem *about = &layer->about;
  about->conv = (convoy_conv)CONVOY_CONV_INIT(specs[index].rank);
  about->conv.groups = specs[index].number[GROUPS];
  for (int axis = 0; axis < specs[index].rank; axis++) {
    about->conv.stride[axis] = specs[index].number[STRIDE];
    about->conv.pad_begin[axis] = about->conv.pad_end[axis] = specs[index].number[PAD];
    about->conv.dilation[axis] = specs[index].number[DILATION];
  }
  memcpy(about->w_shape, specs[index].w_shape, sizeof specs[index].w_shape);
  if (index == 0)
    memcpy(about->x_shape, x_shape, sizeof x_shape);
  else
    take_input(about, layer - 1);
  layer->leaky = specs[index].leaky;
  layer->linked = specs[index].linked;
  return convoy_output_shape(&about->conv, about->x_shape, about->w_shape, about->y_shape) ==
         CONVOY_OK;
}

static const array kinds[SOAK_ARRAYS] = {
    [SOAK_X] = ARRAY_X,  [SOAK_W] = ARRAY_W,  [SOAK_B] = ARRAY_BIAS,  [SOAK_Y] = ARRAY_Y,
    [SOAK_DX] = ARRAY_X, [SOAK_DW] = ARRAY_W, [SOAK_DB] = ARRAY_BIAS, [SOAK_DY] = ARRAY_Y,
};

/* A linked layer's input is its predecessor's output, and so are their gradients. */
static bool make_arrays(soak_net *net, int index) {
  soak_layer *layer = &net->layer[index];
  for (int i = 0; i < SOAK_ARRAYS; i++) {
    int64_t shape[CONVOY_MAX_DIMS];
    layer->count[i] = array_count(&layer->about, kinds[i]);
    if (layer->linked && (i == SOAK_X || i == SOAK_DX)) {
      soak_layer *before = layer - 1;
      soak_array theirs = i == SOAK_X ? SOAK_Y : SOAK_DY;
      layer->host[i] = before->host[theirs];
      layer->tensor[i] = before->tensor[theirs];
      continue;
    }
    layer->host[i] = calloc((size_t)layer->count[i], sizeof(float));
    int dims = array_shape(&layer->about, kinds[i], shape);
    if (!layer->host[i] ||
        convoy_tensor_new(net->device, dims, shape, &layer->tensor[i]) != CONVOY_OK)
      return false;
  }
  return true;
}

static bool make_sums(soak_layer *layer) {
  size_t weights = (size_t)layer->count[SOAK_DW], biases = (size_t)layer->count[SOAK_DB];
  layer->dw = calloc(weights, sizeof *layer->dw);
  layer->db = calloc(biases, sizeof *layer->db);
  layer->dw_bound = calloc(weights, sizeof *layer->dw_bound);
  layer->db_bound = calloc(biases, sizeof *layer->db_bound);
  return layer->dw && layer->db && layer->dw_bound && layer->db_bound;
}

static void fill_weights(soak_net *net, int index) {
  soak_layer *layer = &net->layer[index];
  int64_t fan_in = layer->count[SOAK_W] / layer->about.w_shape[0];
  float scale = 1.2f / sqrtf((float)fan_in);
  for (int64_t i = 0; i < layer->count[SOAK_W]; i++)
    layer->host[SOAK_W][i] = scale * soak_number(net->seed + (uint64_t)index, (uint64_t)i);
}

bool soak_net_make(soak_net *net, convoy_context *device, convoy_context *cpu, uint64_t seed) {
  *net = (soak_net){.device = device, .cpu = cpu, .seed = seed};
  for (int i = 0; i < SOAK_LAYERS; i++) {
    if (!make_problem(net, i) || !make_arrays(net, i) || !make_sums(&net->layer[i])) return false;
    fill_weights(net, i);
  }
  soak_layer *last = &net->layer[SOAK_LAYERS - 1];
  last->target = malloc((size_t)last->count[SOAK_Y] * sizeof *last->target);
  for (int64_t i = 0; last->target && i < last->count[SOAK_Y]; i++)
    last->target[i] = soak_number(~seed, (uint64_t)i);
  return last->target != NULL;
}

void soak_net_free(soak_net *net) {
  for (int index = 0; index < SOAK_LAYERS; index++) {
    soak_layer *layer = &net->layer[index];
    for (int i = 0; i < SOAK_ARRAYS; i++) {
      if (layer->linked && (i == SOAK_X || i == SOAK_DX)) continue;
      convoy_tensor_free(layer->tensor[i]);
      free(layer->host[i]);
    }
    free(layer->target);
    free(layer->dw);
    free(layer->db);
    free(layer->dw_bound);
    free(layer->db_bound);
  }
}

/* --------------------------------------------------------------------- on the device */

convoy_status soak_timed(soak_net *net, double start, convoy_status status) {
  double seconds = seconds_now() - start;
  if (seconds > net->longest) net->longest = seconds;
  if (status) snprintf(net->why, sizeof net->why, "%s", convoy_last_error());
  return status;
}

static convoy_status write_array(soak_net *net, soak_layer *layer, soak_array which) {
  double start = seconds_now();
  return soak_timed(
      net, start,
      convoy_tensor_write(layer->tensor[which], layer->host[which], layer->count[which]));
}

static convoy_status read_array(soak_net *net, soak_layer *layer, soak_array which) {
  double start = seconds_now();
  return soak_timed(
      net, start,
      convoy_tensor_read(layer->tensor[which], layer->host[which], layer->count[which]));
}

static convoy_status forward(soak_net *net, soak_layer *layer) {
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  convoy_tensor *const *t = layer->tensor;
  epilogue.activation = layer->leaky ? CONVOY_LEAKY_RELU : CONVOY_IDENTITY;
  epilogue.slope = soak_slope;
  double start = seconds_now();
  return soak_timed(net, start,
                    convoy_forward(net->device, &layer->about.conv, t[SOAK_X], t[SOAK_W], t[SOAK_B],
                                   &epilogue, t[SOAK_Y], NULL));
}

static convoy_status backward(soak_net *net, soak_layer *layer, bool first_part) {
  convoy_tensor *const *t = layer->tensor;
  const convoy_conv *conv = &layer->about.conv;
  float beta = first_part ? 0.0f : 1.0f;
  double start = seconds_now();
  convoy_status status = soak_timed(
      net, start,
      convoy_backward_weights(net->device, conv, t[SOAK_X], t[SOAK_DY], beta, t[SOAK_DW], NULL));
  start = seconds_now();
  if (!status) {
    status = soak_timed(
        net, start, convoy_backward_bias(net->device, conv, t[SOAK_DY], beta, t[SOAK_DB], NULL));
  }
  start = seconds_now();
  if (!status && layer != net->layer) {
    status = soak_timed(
        net, start,
        convoy_backward_data(net->device, conv, t[SOAK_DY], t[SOAK_W], 0.0f, t[SOAK_DX], NULL));
  }
  start = seconds_now();
  if (!status) status = soak_timed(net, start, convoy_commit(t[SOAK_DW]));
  return status;
}

/* Writes an input that the host gives: the batch, or the output of the layer before in another
 * shape. */
static convoy_status give_input(soak_net *net, int index) {
  soak_layer *layer = &net->layer[index];
  if (layer->linked) return CONVOY_OK;
  if (index > 0) {
    convoy_status status = read_array(net, layer - 1, SOAK_Y);
    if (status) return status;
    memcpy(layer->host[SOAK_X], layer[-1].host[SOAK_Y],
           (size_t)layer->count[SOAK_X] * sizeof(float));
  }
  return write_array(net, layer, SOAK_X);
}

/* Takes half the mean squared distance from the target for the loss, and its gradient. */
static void take_loss(soak_net *net) {
  soak_layer *last = &net->layer[SOAK_LAYERS - 1];
  int64_t count = last->count[SOAK_Y];
  net->loss = 0.0;
  for (int64_t i = 0; i < count; i++) {
    double distance = (double)last->host[SOAK_Y][i] - (double)last->target[i];
    net->loss += distance * distance / (2.0 * (double)count);
    last->host[SOAK_DY][i] = (float)(distance / (double)count);
  }
  net->total_loss += net->loss;
}

/* Writes the gradient of a layer's output where the host gives it, through the activation. */
static convoy_status give_gradient(soak_net *net, int index) {
  soak_layer *layer = &net->layer[index], *next = layer + 1;
  bool last = index == SOAK_LAYERS - 1;
  if (!last && next->linked) return CONVOY_OK;
  if (!last) {
    convoy_status status = read_array(net, next, SOAK_DX);
    if (status) return status;
  }
  for (int64_t i = 0; !last && i < layer->count[SOAK_DY]; i++) {
    bool damped = layer->leaky && !(layer->host[SOAK_Y][i] > 0.0f);
    layer->host[SOAK_DY][i] = next->host[SOAK_DX][i] * (damped ? soak_slope : 1.0f);
  }
  return write_array(net, layer, SOAK_DY);
}

/* Reads for the check what stayed on the device. After a fault it is computed anew from its
 * history. */
static convoy_status read_links(soak_net *net) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < SOAK_LAYERS && !status; i++) {
    soak_layer *layer = &net->layer[i];
    if (layer->linked) status = read_array(net, layer, SOAK_X);
    if (layer->linked && !status) status = read_array(net, layer, SOAK_DX);
  }
  return status;
}

static convoy_status give_parameters(soak_net *net) {
  convoy_status status = CONVOY_OK;
  net->total_loss = 0.0;
  for (int i = 0; i < SOAK_LAYERS && !status; i++) {
    status = write_array(net, &net->layer[i], SOAK_W);
    if (!status) status = write_array(net, &net->layer[i], SOAK_B);
  }
  return status;
}

convoy_status soak_net_part(soak_net *net, uint64_t step, int part) {
  soak_layer *first = &net->layer[0], *last = &net->layer[SOAK_LAYERS - 1];
  for (int64_t i = 0; i < first->count[SOAK_X]; i++) {
    first->host[SOAK_X][i] =
        soak_number(net->seed * 31 + step * SOAK_PARTS + (uint64_t)part, (uint64_t)i);
  }
  convoy_status status = part == 0 ? give_parameters(net) : CONVOY_OK;
  for (int i = 0; i < SOAK_LAYERS && !status; i++) {
    status = give_input(net, i);
    if (!status) status = forward(net, &net->layer[i]);
  }
  if (!status) status = read_array(net, last, SOAK_Y);
  if (!status) take_loss(net);
  for (int i = SOAK_LAYERS - 1; i >= 0 && !status; i--) {
    status = give_gradient(net, i);
    if (!status) status = backward(net, &net->layer[i], part == 0);
  }
  return status ? status : read_links(net);
}

convoy_status soak_net_gradients(soak_net *net) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < SOAK_LAYERS && !status; i++) {
    status = read_array(net, &net->layer[i], SOAK_DW);
    if (!status) status = read_array(net, &net->layer[i], SOAK_DB);
  }
  return status;
}

static void descend(float *values, const double *gradient, int64_t count) {
  double rate = 0.5;
  for (int64_t i = 0; i < count; i++) values[i] -= (float)(rate * gradient[i]);
}

void soak_net_learn(soak_net *net) {
  for (int i = 0; i < SOAK_LAYERS; i++) {
    soak_layer *layer = &net->layer[i];
    descend(layer->host[SOAK_W], layer->dw, layer->count[SOAK_W]);
    descend(layer->host[SOAK_B], layer->db, layer->count[SOAK_B]);
  }
}
