#include "net.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "idx.h"

#define PEAK_RATE 0.05
#define WARM_UP_STEPS 100

struct layer {
  int64_t inputs, outputs, filter, stride, pad, groups;
  bool relu, pool;
};

static const struct layer layers[NET_LAYERS] = {
    {1, 16, 3, 1, 1, 1, true, false},        /* conv */
    {16, 32, 3, 2, 1, 1, true, false},       /* reduce */
    {32, 32, 3, 1, 1, 32, false, false},     /* depthwise */
    {32, 64, 1, 1, 0, 1, true, true},        /* pointwise */
    {64, CLASSES, 7, 1, 0, 1, false, false}, /* classes */
};

/* What is no convolution and no pool. 0.286 and 0.353 are mean and deviation of the 60,000 training
 * images. floor has no gradient, so that none is taken of the maximum, where they add up to 0. */
enum { NORMALISE, FOLLOW, PICK, TOTAL, LOSS, MEAN_LOSS, COUNT, SGD };
static const char *const texts[NET_PROGRAMS] = {
    [NORMALISE] = "x = (pixel / 255 - 0.286) / 0.353",
    [FOLLOW] = "input x, gate; y = gate > 0 ? x : 0",
    [PICK] =
        "input logits, label; top = maximum over c of logits;"
        "own = sum over c of index(c) == label ? logits : 0",
    [TOTAL] = "input logits, top; total = sum over c of exp(logits - floor(top))",
    [LOSS] =
        "input total, top, own; loss = mean over n of log(total) + (floor(top) - own);"
        "correct = sum over n of own == top",
    [MEAN_LOSS] = "input mean, loss; mean = mean < 0 ? loss : 0.98 * mean + 0.02 * loss",
    [COUNT] = "input sum, correct; sum = sum + correct",
    [SGD] = "input v, g, w, rate; v = 0.9 * v + g + 0.0001 * w; w = w - rate * v",
};

/* Of parameter i: its extents in `shape`. Returns the number of its elements. */
static int64_t parameter_shape(int i, int64_t *shape) {
  const struct layer *l = &layers[i / 2];
  bool bias = i % 2;
  shape[0] = l->outputs;
  shape[1] = bias ? 1 : l->inputs / l->groups;
  shape[2] = shape[3] = bias ? 1 : l->filter;
  return shape[0] * shape[1] * shape[2] * shape[3];
}

int64_t net_size(void) {
  int64_t size = 0, shape[4];
  for (int i = 0; i < NET_PARAMETERS; i++) size += parameter_shape(i, shape);
  return size;
}

void net_initial(struct random_state *random, float *weights) {
  int64_t shape[4];
  for (int i = 0; i < NET_PARAMETERS; i++) {
    int64_t count = parameter_shape(i, shape);
    double deviation = i % 2 ? 0.0 : sqrt(2.0 / (double)(count / shape[0]));
    for (int64_t j = 0; j < count; j++) {
      *weights++ = i % 2 ? 0.0f : (float)(deviation * random_normal(random));
    }
  }
}

float net_rate(int64_t step, int64_t steps) {
  double warmed = fmin(1.0, (double)(step + 1) / WARM_UP_STEPS);
  double cooled = 0.5 * (1.0 + cos(3.14159265358979323846 * (double)step / (double)steps));
  return (float)(PEAK_RATE * warmed * cooled);
}

/* ------------------------------------------------------------------------------- parameters */

convoy_status net_open(struct net *net, convoy_context *context) {
  convoy_tensor **const numbers[] = {&net->rate, &net->loss, &net->correct};
  convoy_status status = CONVOY_OK;
  int64_t shape[4] = {1};
  *net = (struct net){.context = context};
  for (int i = 0; !status && i < NET_PROGRAMS; i++) {
    status = convoy_program_parse(texts[i], &net->programs[i]);
  }
  for (int i = 0; !status && i < 3; i++) status = convoy_tensor_new(context, 1, shape, numbers[i]);
  if (!status) status = convoy_tensor_write(net->loss, &(float){-1.0f}, 1);
  for (int i = 0; !status && i < NET_PARAMETERS; i++) {
    int32_t dims = i % 2 ? 1 : 4;
    parameter_shape(i, shape);
    status = convoy_tensor_new(context, dims, shape, &net->values[i]);
    if (!status) status = convoy_tensor_new(context, dims, shape, &net->momentum[i]);
  }
  return status;
}

void net_close(struct net *net) {
  for (int i = 0; i < NET_PROGRAMS; i++) convoy_program_free(net->programs[i]);
  for (int i = 0; i < NET_PARAMETERS; i++) {
    convoy_tensor_free(net->values[i]);
    convoy_tensor_free(net->momentum[i]);
  }
  convoy_tensor_free(net->rate);
  convoy_tensor_free(net->loss);
  convoy_tensor_free(net->correct);
}

static convoy_status write_row(convoy_tensor *const *tensors, const float *values) {
  convoy_status status = CONVOY_OK;
  int64_t shape[4], count;
  for (int i = 0; !status && i < NET_PARAMETERS; i++, values += count) {
    count = parameter_shape(i, shape);
    status = convoy_tensor_write(tensors[i], values, count);
  }
  return status;
}

static convoy_status read_row(convoy_tensor *const *tensors, float *values) {
  convoy_status status = CONVOY_OK;
  int64_t shape[4], count;
  for (int i = 0; !status && i < NET_PARAMETERS; i++, values += count) {
    count = parameter_shape(i, shape);
    status = convoy_tensor_read(tensors[i], values, count);
  }
  return status;
}

convoy_status net_write(struct net *net, const float *weights, const float *momentum) {
  convoy_status status = write_row(net->values, weights);
  return status ? status : write_row(net->momentum, momentum);
}

convoy_status net_read(struct net *net, float *weights, float *momentum) {
  convoy_status status = read_row(net->values, weights);
  return status ? status : read_row(net->momentum, momentum);
}

convoy_status net_read_gradients(struct net_graph *graph, float *gradients) {
  return read_row(graph->gradients, gradients);
}

/* --------------------------------------------------------------------------------- capture */

enum { MOST_TEMPORARIES = 32 };

/* After the first failure nothing more is noted. */
struct capture {
  struct net *net;
  struct net_graph *out;
  enum net_task task;
  convoy_status status;
  int count;
  convoy_tensor *temporaries[MOST_TEMPORARIES]; /* freed at the end: internal to the graph */
};

static convoy_tensor *tensor(struct capture *c, int32_t dims, const int64_t *shape) {
  convoy_tensor *made = NULL;
  if (!c->status) c->status = convoy_tensor_new(c->net->context, dims, shape, &made);
  return made;
}

static convoy_tensor *temporary(struct capture *c, int32_t dims, const int64_t *shape) {
  return c->temporaries[c->count++] = tensor(c, dims, shape);
}

/* All operands, inputs first, as the program names them. */
static void apply(struct capture *c, int which, convoy_tensor *const *operands) {
  const convoy_program *program = c->net->programs[which];
  const convoy_tensor *inputs[4];
  int count = 0;
  if (c->status) return;
  for (; convoy_program_input(program, count); count++) inputs[count] = operands[count];
  c->status = convoy_apply(c->net->context, program, inputs, operands + count, NULL);
}

#define APPLY(c, which, ...) apply(c, which, (convoy_tensor *const[]){__VA_ARGS__})

/* `shape` is that of x and becomes that of the result, here and below. */
static convoy_tensor *convolve(struct capture *c, int i, convoy_tensor *x, int64_t *shape) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  bool relu = layers[i].relu && c->task != NET_FOLLOW;
  int64_t w_shape[4], y_shape[4] = {0};
  convoy_tensor *const *parameters = &c->net->values[2 * i];
  conv.groups = layers[i].groups;
  if (relu) epilogue.activation = CONVOY_RELU;
  for (int axis = 0; axis < 2; axis++) {
    conv.stride[axis] = layers[i].stride;
    conv.pad_begin[axis] = conv.pad_end[axis] = layers[i].pad;
  }
  parameter_shape(2 * i, w_shape);
  if (!c->status) c->status = convoy_output_shape(&conv, shape, w_shape, y_shape);
  memcpy(shape, y_shape, sizeof y_shape);
  convoy_tensor *y = tensor(c, 4, shape);
  *(relu && c->task == NET_DECIDE ? &c->out->gates[i] : &c->temporaries[c->count++]) = y;
  if (!c->status) {
    c->status =
        convoy_forward(c->net->context, &conv, x, parameters[0], parameters[1], &epilogue, y, NULL);
  }
  return y;
}

/* The ReLU where its gate is given. */
static convoy_tensor *follow(struct capture *c, int i, convoy_tensor *x, const int64_t *shape) {
  convoy_tensor *y = temporary(c, 4, shape);
  c->out->gates[i] = tensor(c, 4, shape);
  APPLY(c, FOLLOW, x, c->out->gates[i], y);
  return y;
}

static convoy_tensor *pool(struct capture *c, convoy_tensor *x, int64_t *shape) {
  convoy_window window = CONVOY_WINDOW_INIT(2);
  for (int axis = 0; axis < 2; axis++) {
    window.extent[axis] = window.stride[axis] = 2;
    shape[2 + axis] /= 2;
  }
  convoy_tensor *y = temporary(c, 4, shape);
  if (!c->status) c->status = convoy_average_pool(c->net->context, &window, x, y, NULL);
  return y;
}

static convoy_tensor *forward(struct capture *c) {
  int64_t shape[4] = {c->out->images, 1, IMAGE_SIDE, IMAGE_SIDE};
  convoy_tensor *x = temporary(c, 4, shape);
  APPLY(c, NORMALISE, c->out->pixels, x);
  for (int i = 0; i < NET_LAYERS; i++) {
    x = convolve(c, i, x, shape);
    if (layers[i].relu && c->task == NET_FOLLOW) x = follow(c, i, x, shape);
    if (layers[i].pool) x = pool(c, x, shape);
  }
  return x;
}

/* Cross entropy of the softmax of the logits, its mean over the images, and how many are right. */
static void judge(struct capture *c, convoy_tensor *logits, convoy_tensor **loss,
                  convoy_tensor **correct) {
  const int64_t per_image[] = {c->out->images, 1}, one[] = {1};
  convoy_tensor *top = temporary(c, 2, per_image), *own = temporary(c, 2, per_image),
                *total = temporary(c, 2, per_image);
  *loss = temporary(c, 1, one), *correct = temporary(c, 1, one);
  APPLY(c, PICK, logits, c->out->labels, top, own);
  APPLY(c, TOTAL, logits, top, total);
  APPLY(c, LOSS, total, top, own, *loss, *correct);
}

/* Gradient descent with momentum and weight decay. */
static void descend(struct capture *c, convoy_tensor *loss) {
  struct net *net = c->net;
  convoy_tensor *gradients[NET_PARAMETERS];
  int64_t shape[4];
  for (int i = 0; i < NET_PARAMETERS; i++) {
    parameter_shape(i, shape);
    gradients[i] = tensor(c, i % 2 ? 1 : 4, shape);
    *(c->task == NET_TRAIN ? &c->temporaries[c->count++] : &c->out->gradients[i]) = gradients[i];
  }
  if (c->status) return;
  c->status = convoy_gradients(net->context, loss, NULL, NET_PARAMETERS, net->values, gradients);
  for (int i = 0; i < NET_PARAMETERS; i++) {
    convoy_tensor *v = net->momentum[i], *w = net->values[i];
    APPLY(c, SGD, v, gradients[i], w, net->rate, v, w);
  }
}

static void note(struct capture *c) {
  convoy_tensor *loss, *correct;
  judge(c, forward(c), &loss, &correct);
  if (c->task == NET_EVALUATE) {
    APPLY(c, COUNT, c->net->correct, correct, c->net->correct);
  } else {
    descend(c, loss);
    APPLY(c, MEAN_LOSS, c->net->loss, loss, c->net->loss);
  }
}

static convoy_status new_batch(convoy_context *context, struct net_graph *out) {
  const int64_t shape[] = {out->images, 1, IMAGE_SIDE, IMAGE_SIDE};
  convoy_status status = convoy_tensor_new_typed(context, CONVOY_UINT8, 4, shape, &out->pixels);
  if (status) return status;
  return convoy_tensor_new_typed(context, CONVOY_UINT8, 2, shape, &out->labels);
}

convoy_status net_capture(struct net *net, enum net_task task, int64_t images,
                          struct net_graph *out) {
  struct capture c = {.net = net, .out = out, .task = task};
  *out = (struct net_graph){.images = images};
  convoy_status status = new_batch(net->context, out);
  if (!status) status = convoy_capture_begin(net->context);
  if (status) return status;
  note(&c);
  for (int i = 0; i < c.count; i++) convoy_tensor_free(c.temporaries[i]);
  status = convoy_capture_end(net->context, c.status ? NULL : &out->graph);
  return c.status ? c.status : status;
}

void net_graph_free(struct net_graph *graph) {
  convoy_graph_free(graph->graph);
  convoy_tensor_free(graph->pixels);
  convoy_tensor_free(graph->labels);
  for (int i = 0; i < NET_LAYERS; i++) convoy_tensor_free(graph->gates[i]);
  for (int i = 0; i < NET_PARAMETERS; i++) convoy_tensor_free(graph->gradients[i]);
}

convoy_status net_run(const struct net_graph *graph, const uint8_t *pixels, const uint8_t *labels) {
  convoy_status status = convoy_tensor_write(graph->pixels, pixels, graph->images * IMAGE_PIXELS);
  if (!status) status = convoy_tensor_write(graph->labels, labels, graph->images);
  return status ? status : convoy_graph_run(graph->graph, NULL);
}
