/* Works out the extents of a problem, and makes its arrays in host memory. */
#include "common/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const roles direction_roles[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = {"forward", ARRAY_X, ARRAY_W, ARRAY_Y},
    [CONVOY_BACKWARD_DATA] = {"backward_data", ARRAY_Y, ARRAY_W, ARRAY_X},
    [CONVOY_BACKWARD_WEIGHTS] = {"backward_weights", ARRAY_X, ARRAY_Y, ARRAY_W},
    [CONVOY_BACKWARD_BIAS] = {"backward_bias", ARRAY_Y, ARRAY_NONE, ARRAY_BIAS},
};

int direction_find(const char *name) {
  for (int i = 0; i < CONVOY_DIRECTIONS; i++)
    if (strcmp(direction_roles[i].name, name) == 0) return i;
  return -1;
}

int array_shape(const problem *about, array which, int64_t *shape) {
  const int64_t *from[] = {
      [ARRAY_X] = about->x_shape,
      [ARRAY_W] = about->w_shape,
      [ARRAY_Y] = about->y_shape,
      [ARRAY_BIAS] = &about->y_shape[1],
  };
  int dims = which == ARRAY_NONE ? 0 : which == ARRAY_BIAS ? 1 : about->conv.rank + 2;
  for (int i = 0; i < dims; i++) shape[i] = from[which][i];
  return dims;
}

int64_t array_count(const problem *about, array which) {
  int64_t shape[CONVOY_MAX_DIMS];
  int dims = array_shape(about, which, shape);
  int64_t count = dims > 0;
  for (int i = 0; i < dims; i++) count *= shape[i];
  return count;
}

double problem_bytes(const problem *about) {
  const roles *role = &direction_roles[about->direction];
  return (double)sizeof(float) *
         (double)(array_count(about, role->a) + array_count(about, role->b) +
                  array_count(about, role->out));
}

double problem_flops(const problem *about) {
  return convoy_flops(&about->conv, about->direction, about->x_shape, about->w_shape);
}

/* A counter goes through an integer mixer, which is repeatable, and quick on arrays of
 * 100 million. */
static uint32_t mixed(uint64_t number) {
  uint32_t v = (uint32_t)number * 0x9E3779B1u + (uint32_t)(number >> 32);
  v = (v ^ (v >> 16)) * 0x21F0AAADu;
  v = (v ^ (v >> 15)) * 0x735A2D97u;
  return v ^ (v >> 15);
}

float fill_real(uint64_t number) {
  /* An odd numerator below 2^23 is exact and never 0. */
  int32_t odd = (int32_t)(mixed(number) >> 9) * 2 + 1;
  return (float)(odd - (1 << 23)) * 0x1p-23f;
}

float fill_integer(uint64_t number) {
  static const float values[] = {-3, -2, -1, 1, 2, 3};
  return values[mixed(number) % 6];
}

static bool make_array(int64_t count, uint64_t seed, fill *value, float **out) {
  *out = malloc((size_t)(count ? count : 1) * sizeof(float));
  if (!*out) return false;
  for (int64_t i = 0; i < count; i++) (*out)[i] = value(seed + (uint64_t)i);
  return true;
}

bool operands_make(const problem *about, fill *value, bool with_bias, operands *out) {
  const roles *role = &direction_roles[about->direction];
  *out = (operands){.a_count = array_count(about, role->a),
                    .b_count = array_count(about, role->b),
                    .bias_count = array_count(about, ARRAY_BIAS),
                    .out_count = array_count(about, role->out)};
  bool made = make_array(out->a_count, 1, value, &out->a) &&
              make_array(out->out_count, UINT64_C(1) << 34, value, &out->out);
  if (made && role->b) made = make_array(out->b_count, UINT64_C(2) << 34, value, &out->b);
  if (made && with_bias) made = make_array(out->bias_count, UINT64_C(3) << 34, value, &out->bias);
  if (!made) operands_free(out);
  return made;
}

void operands_free(operands *data) {
  free(data->a);
  free(data->b);
  free(data->bias);
  free(data->out);
  *data = (operands){0};
}

void operands_poison(operands *data) {
  for (int64_t i = 0; i < data->out_count; i++) data->out[i] = NAN;
}
