/* Parameters, captures, training. */
#include "net.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------- random numbers */

/* xoshiro256** (Blackman and Vigna), seeded by splitmix64. */
static uint64_t splitmix(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static uint64_t rotate(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

static double uniform(uint64_t *s) {
  uint64_t result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate(s[3], 45);
  return (double)(result >> 11) * 0x1p-53;
}

static double draw(uint64_t *s, enum net_initial initial, double size) {
  if (initial == NET_UNIFORM) return size * (2.0 * uniform(s) - 1.0);
  double radius = sqrt(-2.0 * log(1.0 - uniform(s)));
  return size * radius * cos(2.0 * 3.14159265358979323846 * uniform(s));
}

/* ---------------------------------------------------------------------------------- parameters */

convoy_status net_open(struct net *net, convoy_context *context, uint64_t seed) {
  const int64_t one = 1;
  *net = (struct net){.context = context};
  for (int i = 0; i < 4; i++) net->random[i] = splitmix(&seed);
  return convoy_tensor_new(context, 1, &one, &net->rate);
}

void net_close(struct net *net) {
  for (int i = 0; i < net->count; i++) {
    convoy_tensor_free(net->parameters[i].value);
    convoy_tensor_free(net->parameters[i].velocity);
  }
  convoy_tensor_free(net->rate);
  free(net->parameters);
  *net = (struct net){.context = NULL};
}

void net_name(char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(name, NET_NAME, format, args);
  va_end(args);
}

struct net_parameter *net_find(const struct net *net, const char *name) {
  for (int i = 0; i < net->count; i++)
    if (!strcmp(net->parameters[i].name, name)) return &net->parameters[i];
  return NULL;
}

convoy_status net_add_weights(const struct net *net, convoy_state *state) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < net->count && !status; i++)
    status = convoy_state_tensor(state, net->parameters[i].name, net->parameters[i].value);
  return status;
}

convoy_status net_add_to_state(const struct net *net, convoy_state *state) {
  char name[NET_NAME + 16];
  convoy_status status = net_add_weights(net, state);
  for (int i = 0; i < net->count && !status; i++) {
    const struct net_parameter *parameter = &net->parameters[i];
    snprintf(name, sizeof name, "momentum.%s", parameter->name);
    if (parameter->velocity) status = convoy_state_tensor(state, name, parameter->velocity);
  }
  return status;
}

/* --------------------------------------------------------------------------------- the capture */

convoy_status net_begin(struct net_capture *c, struct net *net, bool training) {
  *c = (struct net_capture){.net = net, .training = training};
  return convoy_capture_begin(net->context);
}

convoy_status net_end(struct net_capture *c, convoy_graph **graph) {
  for (int i = 0; i < c->count; i++) convoy_tensor_free(c->temporaries[i]);
  free(c->temporaries);
  convoy_status status = convoy_capture_end(c->net->context, c->status ? NULL : graph);
  return c->status ? c->status : status;
}

/* Room for one more of `size` bytes; false after a failure. */
static bool grow(struct net_capture *c, void **list, int count, int *room, size_t size) {
  if (c->status || count < *room) return !c->status;
  int more = 2 * *room + 64;
  void *grown = realloc(*list, (size_t)more * size);
  if (!grown) {
    c->status = CONVOY_ERR_MEMORY;
    return false;
  }
  *list = grown;
  *room = more;
  return true;
}

struct net_value net_temporary(struct net_capture *c, int32_t dims, const int64_t *shape) {
  struct net_value value = {.dims = dims};
  void *list = c->temporaries;
  memcpy(value.shape, shape, (size_t)dims * sizeof *shape);
  bool room = grow(c, &list, c->count, &c->room, sizeof(convoy_tensor *));
  c->temporaries = list;
  if (room) c->status = convoy_tensor_new(c->net->context, dims, shape, &value.tensor);
  if (value.tensor) c->temporaries[c->count++] = value.tensor;
  return value;
}

convoy_tensor *net_keep(struct net_capture *c, struct net_value value) {
  for (int i = 0; i < c->count; i++) {
    if (c->temporaries[i] != value.tensor) continue;
    c->temporaries[i] = c->temporaries[--c->count];
    return value.tensor;
  }
  return NULL;
}

struct net_value net_value_of(struct net_capture *c, convoy_tensor *tensor) {
  struct net_value value = {.tensor = tensor};
  if (!c->status) c->status = convoy_tensor_shape(tensor, value.shape, &value.dims);
  return value;
}

/* ----------------------------------------------------------------------------- new parameters */

static convoy_status fill(struct net *net, convoy_tensor *tensor, int64_t count,
                          enum net_initial initial, double size) {
  if (initial == NET_ZEROS || count == 0) return CONVOY_OK;
  float *values = malloc((size_t)count * sizeof *values);
  if (!values) return CONVOY_ERR_MEMORY;
  for (int64_t i = 0; i < count; i++)
    values[i] = initial == NET_ONES ? 1.0f : (float)draw(net->random, initial, size);
  convoy_status status = convoy_tensor_write(tensor, values, count);
  free(values);
  return status;
}

static convoy_tensor *add(struct net_capture *c, const char *name, int32_t dims,
                          const int64_t *shape, bool trained) {
  struct net *net = c->net;
  void *list = net->parameters;
  bool room = grow(c, &list, net->count, &net->room, sizeof *net->parameters);
  net->parameters = list;
  if (!room) return NULL;
  struct net_parameter *made = &net->parameters[net->count];
  *made = (struct net_parameter){.trained = trained};
  snprintf(made->name, sizeof made->name, "%s", name);
  c->status = convoy_tensor_new(net->context, dims, shape, &made->value);
  if (!c->status) net->count++;
  return made->value;
}

convoy_tensor *net_parameter(struct net_capture *c, const char *layer, const char *name,
                             int32_t dims, const int64_t *shape, enum net_initial initial,
                             double size) {
  char full[NET_NAME];
  int64_t count = 1;
  if (c->status) return NULL;
  int length = snprintf(full, sizeof full, "%s.%s", layer, name);
  if (length < 0 || length >= NET_NAME) {
    c->status = CONVOY_ERR_ARGUMENT;
    return NULL;
  }
  const struct net_parameter *known = net_find(c->net, full);
  if (known) return known->value;
  convoy_tensor *made = add(c, full, dims, shape, strncmp(name, "running_", 8) != 0);
  for (int32_t i = 0; i < dims; i++) count *= shape[i];
  if (made) c->status = fill(c->net, made, count, initial, size);
  return made;
}

/* ------------------------------------------------------------------------------------ programs */

void net_apply(struct net_capture *c, const char *text, const struct net_value *operands) {
  const convoy_tensor *inputs[12];
  convoy_tensor *results[4];
  convoy_program *program = NULL;
  int read = 0, made = 0;
  if (!c->status)
    c->status = (strchr(text, '=') ? convoy_program_parse : convoy_program_named)(text, &program);
  if (c->status) return;
  for (; convoy_program_input(program, read); read++) inputs[read] = operands[read].tensor;
  for (; convoy_program_result(program, made); made++) results[made] = operands[read + made].tensor;
  c->status = convoy_apply(c->net->context, program, inputs, results, NULL);
  convoy_program_free(program);
}

/* ------------------------------------------------------------------------------------ training */

static int trained_count(const struct net *net) {
  int count = 0;
  for (int i = 0; i < net->count; i++) count += net->parameters[i].trained;
  return count;
}

/* A tensor of the parameter's extents. */
static convoy_status like(const struct net *net, const struct net_parameter *parameter,
                          convoy_tensor **out) {
  int64_t shape[CONVOY_MAX_DIMS];
  int32_t dims;
  convoy_status status = convoy_tensor_shape(parameter->value, shape, &dims);
  return status ? status : convoy_tensor_new(net->context, dims, shape, out);
}

void net_free_gradients(const struct net *net, convoy_tensor **gradients) {
  for (int i = 0; gradients && i < trained_count(net); i++) convoy_tensor_free(gradients[i]);
  free(gradients);
}

/* The values, or velocities, of all trained parameters in a row; NULL without memory. */
static convoy_tensor **list(const struct net *net, bool velocities) {
  convoy_tensor **all = malloc((size_t)trained_count(net) * sizeof(convoy_tensor *) + 1);
  for (int i = 0, k = 0; all && i < net->count; i++) {
    const struct net_parameter *parameter = &net->parameters[i];
    if (parameter->trained) all[k++] = velocities ? parameter->velocity : parameter->value;
  }
  return all;
}

convoy_tensor **net_gradients(struct net_capture *c, struct net_value loss) {
  const struct net *net = c->net;
  int count = trained_count(net);
  if (c->status) return NULL;
  convoy_tensor **of = list(net, false), **gradients = calloc((size_t)count + 1, sizeof *gradients);
  if (!of || !gradients) c->status = CONVOY_ERR_MEMORY;
  for (int i = 0, k = 0; i < net->count && !c->status; i++)
    if (net->parameters[i].trained) c->status = like(net, &net->parameters[i], &gradients[k++]);
  if (!c->status)
    c->status = convoy_gradients(net->context, loss.tensor, NULL, count, of, gradients);
  free(of);
  if (!c->status) return gradients;
  net_free_gradients(net, gradients);
  return NULL;
}

void net_descend(struct net_capture *c, convoy_tensor *const *gradients, double decay) {
  struct net *net = c->net;
  convoy_sgd_options options = CONVOY_SGD_INIT;
  options.momentum = 0.9;
  options.decay = decay;
  for (int i = 0; i < net->count && !c->status; i++) {
    struct net_parameter *parameter = &net->parameters[i];
    if (parameter->trained && !parameter->velocity)
      c->status = like(net, parameter, &parameter->velocity);
  }
  convoy_tensor **w = list(net, false), **v = list(net, true);
  if (!c->status && (!w || !v)) c->status = CONVOY_ERR_MEMORY;
  if (!c->status)
    c->status = convoy_sgd(net->context, &options, trained_count(net), w, gradients, v, net->rate,
                           NULL, NULL);
  free(w);
  free(v);
}
