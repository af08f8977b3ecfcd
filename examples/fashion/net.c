#include "net.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "idx.h"
#include "layers.h"

struct layer_spec {
  int64_t channels, filter, stride, pad; /* channels: of the output */
  bool depthwise, relu, pool;
};

static const struct layer_spec specs[NET_LAYERS] = {
    {16, 3, 1, 1, false, true, false},       /* conv */
    {32, 3, 2, 1, false, true, false},       /* reduce */
    {32, 3, 1, 1, true, false, false},       /* depthwise */
    {64, 1, 1, 0, false, true, true},        /* pointwise */
    {CLASSES, 7, 1, 0, false, false, false}, /* classes */
};

static int64_t product(const int64_t *extents, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; i++) result *= extents[i];
  return result;
}

/* Extents of the layer's result after its pool, for `images` images. */
static void out_shape(const struct layer *l, const struct layer_spec *spec, int64_t *shape) {
  memcpy(shape, l->y_shape, sizeof l->y_shape);
  for (int i = 2; i < 4; i++) shape[i] /= spec->pool ? 2 : 1;
}

static convoy_status shape_layer(struct layer *l, const struct layer_spec *spec,
                                 const int64_t *x_shape) {
  l->conv = (convoy_conv)CONVOY_CONV_INIT(2);
  l->conv.groups = spec->depthwise ? x_shape[1] : 1;
  for (int i = 0; i < 2; i++) {
    l->conv.stride[i] = spec->stride;
    l->conv.pad_begin[i] = l->conv.pad_end[i] = spec->pad;
  }
  memcpy(l->x_shape, x_shape, sizeof l->x_shape);
  int64_t w_shape[4] = {spec->channels, x_shape[1] / l->conv.groups, spec->filter, spec->filter};
  memcpy(l->w_shape, w_shape, sizeof w_shape);
  l->w_count = product(w_shape, 4);
  return convoy_output_shape(&l->conv, l->x_shape, l->w_shape, l->y_shape);
}

static convoy_status shape_layers(struct net *net) {
  int64_t shape[4] = {net->batch, 1, IMAGE_SIDE, IMAGE_SIDE};
  for (int i = 0; i < NET_LAYERS; i++) {
    struct layer *l = &net->layers[i];
    convoy_status status = shape_layer(l, &specs[i], shape);
    if (status) return status;
    net->parameters += l->w_count + specs[i].channels;
    out_shape(l, &specs[i], shape);
  }
  return CONVOY_OK;
}

/* Memory from the context, so that a device in another process reads it without a copy. */
static convoy_status reserve(struct net *net, int64_t floats, float **out) {
  void *memory = NULL;
  convoy_status status = convoy_host_alloc(net->context, (size_t)floats * sizeof(float), &memory);
  *out = memory;
  return status;
}

static convoy_status reserve_pair(struct net *net, int64_t floats, float **value,
                                  float **gradient) {
  convoy_status status = reserve(net, floats, value);
  return status ? status : reserve(net, floats, gradient);
}

static convoy_status reserve_results(struct net *net, struct layer *l,
                                     const struct layer_spec *spec) {
  int64_t shape[4];
  out_shape(l, spec, shape);
  convoy_status status = reserve_pair(net, product(l->y_shape, 4), &l->y, &l->dy);
  if (status) return status;
  l->open = l->y;
  if (spec->pool) return reserve_pair(net, product(shape, 4), &l->out, &l->dout);
  l->out = l->y;
  l->dout = l->dy;
  return CONVOY_OK;
}

static convoy_status reserve_layers(struct net *net) {
  convoy_status status = reserve(net, net->batch * IMAGE_PIXELS, &net->input);
  if (!status) status = reserve_pair(net, net->parameters, &net->weights, &net->gradients);
  for (int i = 0; !status && i < NET_LAYERS; i++) {
    status = reserve_results(net, &net->layers[i], &specs[i]);
  }
  return status;
}

static void connect_layers(struct net *net) {
  int64_t offset = 0;
  for (int i = 0; i < NET_LAYERS; i++) {
    struct layer *l = &net->layers[i];
    l->x = i > 0 ? net->layers[i - 1].out : net->input;
    l->dx = i > 0 ? net->layers[i - 1].dout : NULL;
    l->w = net->weights + offset;
    l->dw = net->gradients + offset;
    l->b = l->w + l->w_count;
    l->db = l->dw + l->w_count;
    offset += l->w_count + specs[i].channels;
  }
  net->logits = net->layers[NET_LAYERS - 1].out;
  net->dlogits = net->layers[NET_LAYERS - 1].dout;
}

convoy_status net_open(struct net *net, convoy_context *context, int64_t batch) {
  memset(net, 0, sizeof *net);
  net->context = context;
  net->batch = batch;
  convoy_status status = shape_layers(net);
  if (!status) status = reserve_layers(net);
  if (!status) connect_layers(net);
  return status;
}

void net_close(struct net *net) {
  for (int i = 0; i < NET_LAYERS; i++) {
    struct layer *l = &net->layers[i];
    if (l->out != l->y) {
      convoy_host_free(net->context, l->out);
      convoy_host_free(net->context, l->dout);
    }
    convoy_host_free(net->context, l->y);
    convoy_host_free(net->context, l->dy);
  }
  convoy_host_free(net->context, net->weights);
  convoy_host_free(net->context, net->gradients);
  convoy_host_free(net->context, net->input);
  memset(net, 0, sizeof *net);
}

void net_init(struct net *net, struct random_state *random) {
  for (int i = 0; i < NET_LAYERS; i++) {
    struct layer *l = &net->layers[i];
    double deviation = sqrt(2.0 / (double)(l->w_count / l->w_shape[0]));
    for (int64_t j = 0; j < l->w_count; j++) {
      l->w[j] = (float)(deviation * random_normal(random));
    }
    memset(l->b, 0, (size_t)l->w_shape[0] * sizeof(float));
  }
}

static void set_count(struct net *net, int64_t count) {
  for (int i = 0; i < NET_LAYERS; i++) {
    net->layers[i].x_shape[0] = count;
    net->layers[i].y_shape[0] = count;
  }
}

static convoy_status forward_layer(struct net *net, struct layer *l,
                                   const struct layer_spec *spec) {
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  if (spec->relu) epilogue.activation = CONVOY_RELU;
  convoy_status status = convoy_forward_host(net->context, &l->conv, l->x_shape, l->x, l->w_shape,
                                             l->w, l->b, &epilogue, l->y, NULL);
  if (!status && spec->pool) {
    pool_forward(l->y, product(l->y_shape, 2), l->y_shape[2], l->y_shape[3], l->out);
  }
  return status;
}

convoy_status net_forward(struct net *net, int64_t count) {
  convoy_status status = CONVOY_OK;
  set_count(net, count);
  for (int i = 0; !status && i < NET_LAYERS; i++) {
    status = forward_layer(net, &net->layers[i], &specs[i]);
  }
  return status;
}

static convoy_status backward_layer(struct net *net, struct layer *l,
                                    const struct layer_spec *spec) {
  convoy_context *context = net->context;
  const int64_t *xs = l->x_shape, *ws = l->w_shape;
  if (spec->pool) {
    pool_backward(l->dout, product(l->y_shape, 2), l->y_shape[2], l->y_shape[3], l->dy);
  }
  if (spec->relu) relu_backward(l->open, l->dy, product(l->y_shape, 4));
  convoy_status status =
      convoy_backward_weights_host(context, &l->conv, xs, l->x, ws, l->dy, 0.0f, l->dw, NULL);
  if (status) return status;
  status = convoy_backward_bias_host(context, &l->conv, xs, ws, l->dy, 0.0f, l->db, NULL);
  if (status || !l->dx) return status;
  return convoy_backward_data_host(context, &l->conv, xs, l->dy, ws, l->w, 0.0f, l->dx, NULL);
}

convoy_status net_backward(struct net *net, int64_t count) {
  convoy_status status = CONVOY_OK;
  set_count(net, count);
  for (int i = NET_LAYERS - 1; !status && i >= 0; i--) {
    status = backward_layer(net, &net->layers[i], &specs[i]);
  }
  return status;
}
