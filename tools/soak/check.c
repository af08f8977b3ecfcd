/* Compares each operation with the CPU's result from the same operands. The device's operands are
 * taken, so that an operation answers for its own rounding only: the bound of convoy.h, once for
 * each side. The first operations' operands are the host's, so an error has nowhere to hide. */
#include "soak/check.h"

#include <math.h>
#include <stdlib.h>

#include "common/call.h"

/* One operation is checked against this, element by element. */
typedef struct expected_result {
  float *value;     /* the CPU's result */
  float *magnitude; /* the same of the operands' magnitudes: what the sum's rounding goes by */
  int64_t terms;    /* summed for an element, at most */
} expected_result;

static float *magnitudes(const float *values, int64_t count) {
  float *out = malloc((size_t)count * sizeof *out);
  for (int64_t i = 0; out && i < count; i++) out[i] = fabsf(values[i]);
  return out;
}

static void drop(expected_result *what) {
  free(what->value);
  free(what->magnitude);
}

/* An operation is one direction of a layer, with the layer's arrays that it reads and writes. */
typedef struct layer_operation {
  convoy_direction direction;
  soak_array a, b, out;
} layer_operation;

static soak_array held_as(array which, bool gradient) {
  static const soak_array arrays[][2] = {
      [ARRAY_X] = {SOAK_X, SOAK_DX},
      [ARRAY_W] = {SOAK_W, SOAK_DW},
      [ARRAY_Y] = {SOAK_Y, SOAK_DY},
      [ARRAY_BIAS] = {SOAK_B, SOAK_DB},
  };
  return arrays[which][gradient];
}

/* What is read in the place of y is its gradient, since only backward directions do that. A
 * direction without b gets a once more, which its call leaves alone. */
static layer_operation operation_of(convoy_direction direction) {
  const roles *role = &direction_roles[direction];
  array b = role->b == ARRAY_NONE ? role->a : role->b;
  return (layer_operation){direction, held_as(role->a, role->a == ARRAY_Y),
                           held_as(b, b == ARRAY_Y),
                           held_as(role->out, direction != CONVOY_FORWARD)};
}

static convoy_status call(convoy_context *cpu, const problem *about, operands *data, bool leaky) {
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  epilogue.activation = leaky ? CONVOY_LEAKY_RELU : CONVOY_IDENTITY;
  epilogue.slope = soak_slope;
  return call_host(cpu, about, data, 0.0f, &epilogue, NULL);
}

/* Returns how many products are summed for an element of the output, padding counted, and
 * the bias. */
static int64_t count_terms(const soak_layer *layer, const layer_operation *what) {
  const problem *about = &layer->about;
  int64_t outputs = layer->count[SOAK_Y] / layer->count[SOAK_B];
  if (what->out == SOAK_DW || what->out == SOAK_DB) return outputs;
  int64_t per_filter = layer->count[SOAK_W] / about->w_shape[0];
  if (what->out == SOAK_Y) return per_filter + 1;
  return layer->count[SOAK_W] / about->w_shape[1] / about->conv.groups;
}

static bool expect(soak_net *net, const soak_layer *layer, const layer_operation *what,
                   expected_result *out) {
  size_t count = (size_t)layer->count[what->out];
  problem about = layer->about;
  about.direction = what->direction;
  operands data = {.a = layer->host[what->a],
                   .b = layer->host[what->b],
                   .bias = layer->host[SOAK_B],
                   .out = malloc(count * sizeof(float))};
  operands sizes = {.a = magnitudes(data.a, layer->count[what->a]),
                    .b = magnitudes(data.b, layer->count[what->b]),
                    .bias = magnitudes(data.bias, layer->count[SOAK_B]),
                    .out = malloc(count * sizeof(float))};
  bool good = data.out && sizes.a && sizes.b && sizes.bias && sizes.out &&
              call(net->cpu, &about, &data, layer->leaky) == CONVOY_OK &&
              call(net->cpu, &about, &sizes, false) == CONVOY_OK;
  *out = (expected_result){data.out, sizes.out, count_terms(layer, what)};
  free(sizes.a);
  free(sizes.b);
  free(sizes.bias);
  if (!good) drop(out);
  return good;
}

/* The bound is twice the header's, since both sides round, with the rounding of the magnitude
 * itself. */
static double bound_of(const expected_result *what, int64_t i) {
  return 2.0 * 4.0 * (double)(what->terms + 2) * 0x1p-24 * (double)what->magnitude[i] * 1.001;
}

static int64_t count_beyond(const expected_result *what, const float *got, int64_t count) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i++)
    wrong += !(fabs((double)got[i] - (double)what->value[i]) <= bound_of(what, i));
  return wrong;
}

/* A loss is as far from the CPU's as the outputs are. */
static int64_t check_loss(const soak_net *net, const expected_result *what) {
  const soak_layer *last = &net->layer[SOAK_LAYERS - 1];
  double count = (double)last->count[SOAK_Y];
  double loss = 0.0, bound = 0x1p-50 * net->loss;
  for (int64_t i = 0; i < last->count[SOAK_Y]; i++) {
    double distance = (double)what->value[i] - (double)last->target[i];
    double error = bound_of(what, i);
    loss += distance * distance / (2.0 * count);
    bound += (fabs(distance) + error) * error / count;
  }
  return !(fabs(loss - net->loss) <= bound);
}

static void add_up(const expected_result *what, double *sum, double *bound, int64_t count,
                   bool first) {
  for (int64_t i = 0; i < count; i++) {
    sum[i] = (first ? 0.0 : sum[i]) + (double)what->value[i];
    bound[i] = (first ? 0.0 : bound[i]) + bound_of(what, i);
  }
}

static int64_t check_operation(soak_net *net, soak_layer *layer, const layer_operation *what,
                               int part) {
  expected_result expected;
  int64_t count = layer->count[what->out];
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
      layer_operation what = operation_of((convoy_direction)d);
      int64_t beyond = check_operation(net, &net->layer[i], &what, part);
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
    double slack = bound[i] + SOAK_PARTS * 0x1p-23 * (fabs(sum[i]) + bound[i]);
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
