/* Compares each operation with the CPU's result from the same operands. The device's operands are
 * taken, so that an operation answers for its own rounding only: the bound of convoy.h, once for
 * each side. The first operations' operands are the host's, so an error has nowhere to hide. */
#include "soak/check.h"

#include <math.h>
#include <stdlib.h>

#include "common/call.h"

/* What one operation is checked against, for all elements. */
typedef struct expectation {
  float *value, *magnitude; /* the CPU's result; the sum of its products' magnitudes */
  float *a, *b, *bias;      /* magnitudes of the operands */
  int64_t terms;            /* summed for an element, at most */
} expectation;

static float *magnitudes(const float *values, int64_t count) {
  float *out = malloc((size_t)count * sizeof *out);
  for (int64_t i = 0; out && i < count; i++) out[i] = fabsf(values[i]);
  return out;
}

static void drop(expectation *what) {
  free(what->value);
  free(what->magnitude);
  free(what->a);
  free(what->b);
  free(what->bias);
}

typedef struct operation {
  convoy_direction direction;
  soak_array a, b, out;
} operation;
static const operation operations[CONVOY_DIRECTIONS] = {
    {CONVOY_FORWARD, SOAK_X, SOAK_W, SOAK_Y},
    {CONVOY_BACKWARD_DATA, SOAK_DY, SOAK_W, SOAK_DX},
    {CONVOY_BACKWARD_WEIGHTS, SOAK_X, SOAK_DY, SOAK_DW},
    {CONVOY_BACKWARD_BIAS, SOAK_DY, SOAK_DY, SOAK_DB},
};

static convoy_status call(convoy_context *cpu, const problem *about, convoy_direction direction,
                          const float *a, const float *b, const float *bias, bool leaky,
                          float *out) {
  const convoy_conv *conv = &about->conv;
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  epilogue.activation = leaky ? CONVOY_LEAKY_RELU : CONVOY_IDENTITY;
  epilogue.slope = soak_slope;
  switch (direction) {
    case CONVOY_FORWARD:
      return convoy_forward_host(cpu, conv, about->x_shape, a, about->w_shape, b, bias, &epilogue,
                                 out, NULL);
    case CONVOY_BACKWARD_DATA:
      return convoy_backward_data_host(cpu, conv, about->x_shape, a, about->w_shape, b, 0.0f, out,
                                       NULL);
    case CONVOY_BACKWARD_WEIGHTS:
      return convoy_backward_weights_host(cpu, conv, about->x_shape, a, about->w_shape, b, 0.0f,
                                          out, NULL);
    default:
      return convoy_backward_bias_host(cpu, conv, about->x_shape, about->w_shape, a, 0.0f, out,
                                       NULL);
  }
}

/* Products summed for an element of the output, padding counted, and the bias. */
static int64_t count_terms(const soak_layer *layer, const operation *what) {
  const problem *about = &layer->about;
  const int64_t outputs = layer->count[SOAK_Y] / layer->count[SOAK_B];
  if (what->out == SOAK_DW || what->out == SOAK_DB) return outputs;
  const int64_t per_filter = layer->count[SOAK_W] / about->w_shape[0];
  if (what->out == SOAK_Y) return per_filter + 1;
  return layer->count[SOAK_W] / about->w_shape[1] / about->conv.groups;
}

static bool expect(soak_net *net, const soak_layer *layer, const operation *what,
                   expectation *out) {
  const size_t count = (size_t)layer->count[what->out];
  const float *a = layer->host[what->a], *b = layer->host[what->b], *bias = layer->host[SOAK_B];
  *out = (expectation){.value = malloc(count * sizeof(float)),
                       .magnitude = malloc(count * sizeof(float)),
                       .a = magnitudes(a, layer->count[what->a]),
                       .b = magnitudes(b, layer->count[what->b]),
                       .bias = magnitudes(bias, layer->count[SOAK_B]),
                       .terms = count_terms(layer, what)};
  const bool good = out->value && out->magnitude && out->a && out->b && out->bias &&
                    call(net->cpu, &layer->about, what->direction, a, b, bias, layer->leaky,
                         out->value) == CONVOY_OK &&
                    call(net->cpu, &layer->about, what->direction, out->a, out->b, out->bias, false,
                         out->magnitude) == CONVOY_OK;
  if (!good) drop(out);
  return good;
}

/* Twice the header's bound, since both sides round, and the rounding of the magnitude itself. */
static double bound_of(const expectation *what, int64_t i) {
  return 2.0 * 4.0 * (double)(what->terms + 2) * 0x1p-24 * (double)what->magnitude[i] * 1.001;
}

static int64_t count_beyond(const expectation *what, const float *got, int64_t count) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i++)
    wrong += !(fabs((double)got[i] - (double)what->value[i]) <= bound_of(what, i));
  return wrong;
}

/* A loss is as far from the CPU's as the outputs are. */
static int64_t check_loss(const soak_net *net, const expectation *what) {
  const soak_layer *last = &net->layer[SOAK_LAYERS - 1];
  const double count = (double)last->count[SOAK_Y];
  double loss = 0.0, bound = 0x1p-50 * net->loss;
  for (int64_t i = 0; i < last->count[SOAK_Y]; i++) {
    const double distance = (double)what->value[i] - (double)last->target[i];
    const double error = bound_of(what, i);
    loss += distance * distance / (2.0 * count);
    bound += (fabs(distance) + error) * error / count;
  }
  return !(fabs(loss - net->loss) <= bound);
}

static void add_up(const expectation *what, double *sum, double *bound, int64_t count, bool first) {
  for (int64_t i = 0; i < count; i++) {
    sum[i] = (first ? 0.0 : sum[i]) + (double)what->value[i];
    bound[i] = (first ? 0.0 : bound[i]) + bound_of(what, i);
  }
}

static int64_t check_operation(soak_net *net, soak_layer *layer, const operation *what, int part) {
  expectation expected;
  const int64_t count = layer->count[what->out];
  int64_t wrong = 0;
  if (!expect(net, layer, what, &expected)) return -1;
  if (what->out == SOAK_DW)
    add_up(&expected, layer->dw, layer->dw_bound, count, part == 0);
  else if (what->out == SOAK_DB)
    add_up(&expected, layer->db, layer->db_bound, count, part == 0);
  else
    wrong = count_beyond(&expected, layer->host[what->out], count);
  if (what->out == SOAK_Y && layer->target) wrong += check_loss(net, &expected);
  drop(&expected);
  return wrong;
}

int64_t soak_check_part(soak_net *net, int part) {
  int64_t wrong = 0;
  for (int i = 0; i < SOAK_LAYERS; i++) {
    for (int d = 0; d < CONVOY_DIRECTIONS; d++) {
      if (i == 0 && d == CONVOY_BACKWARD_DATA) continue; /* nobody asked for it */
      const int64_t beyond = check_operation(net, &net->layer[i], &operations[d], part);
      if (beyond < 0) return -1;
      wrong += beyond;
    }
  }
  return wrong;
}

/* Adding the parts up rounds once more for each. */
static int64_t count_sums_beyond(const float *got, const double *sum, const double *bound,
                                 int64_t count) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i++) {
    const double slack = bound[i] + SOAK_PARTS * 0x1p-23 * (fabs(sum[i]) + bound[i]);
    wrong += !(fabs((double)got[i] - sum[i]) <= slack);
  }
  return wrong;
}

int64_t soak_check_gradients(soak_net *net) {
  int64_t wrong = 0;
  for (int i = 0; i < SOAK_LAYERS; i++) {
    const soak_layer *layer = &net->layer[i];
    wrong +=
        count_sums_beyond(layer->host[SOAK_DW], layer->dw, layer->dw_bound, layer->count[SOAK_DW]);
    wrong +=
        count_sums_beyond(layer->host[SOAK_DB], layer->db, layer->db_bound, layer->count[SOAK_DB]);
  }
  return wrong;
}
