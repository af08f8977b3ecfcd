/* The loops of reductions, behind vector.h: lanes side by side in vectors. A part's state is one
 * array of lanes per component. Any count; behind it nothing is touched. */
#include "program/reduce_functions.h"

/* One vector of lanes, of which the first `left` are there. */
ALWAYS real load_lanes(const float *from, int64_t left) {
  return left < WIDTH ? load_part(from, left) : load(from);
}

ALWAYS void store_lanes(float *to, real value, int64_t left) {
  if (left < WIDTH)
    store_part(to, value, left);
  else
    store(to, value);
}

/* One vector of lanes; where rows and what is left are constants, the loop over rows is none. */
ALWAYS void vector_of_one(float *state, const float *values, int64_t pitch, int rows, int64_t left,
                          two_operands *f) {
  real all = load_lanes(state, left);
  for (int r = 0; r < rows; r++) all = f(all, load_lanes(values + r * pitch, left));
  store_lanes(state, all, left);
}

ALWAYS void rows_of_one(float *const *state, const float *values, int64_t pitch, int rows,
                        int64_t count, two_operands *f) {
  int64_t i = 0;
  for (; rows == CVY_REDUCE_GROUP && i + WIDTH <= count; i += WIDTH)
    vector_of_one(state[0] + i, values + i, pitch, CVY_REDUCE_GROUP, WIDTH, f);
  for (; i < count; i += WIDTH) vector_of_one(state[0] + i, values + i, pitch, rows, count - i, f);
}

static void rows_sum(float *const *state, const float *values, int64_t pitch, int rows,
                     int64_t count) {
  rows_of_one(state, values, pitch, rows, count, program_add);
}

static void rows_max(float *const *state, const float *values, int64_t pitch, int rows,
                     int64_t count) {
  rows_of_one(state, values, pitch, rows, count, program_max);
}

static void rows_min(float *const *state, const float *values, int64_t pitch, int rows,
                     int64_t count) {
  rows_of_one(state, values, pitch, rows, count, program_min);
}

ALWAYS void vector_of_moments(float *const *state, int64_t at, const float *values, int64_t pitch,
                              int rows, int64_t left) {
  real value[CVY_REDUCE_GROUP], lanes[3];
  value[0] = load_lanes(values + at, left);
  for (int r = 1; r < rows; r++) value[r] = load_lanes(values + at + r * pitch, left);
  real sum = value[0];
  for (int r = 1; r < rows; r++) sum = sum + value[r];
  real group = reduce_group_mean(sum, rows);
  real squares = reduce_square(value[0], group);
  for (int r = 1; r < rows; r++) squares = squares + reduce_square(value[r], group);
  for (int k = 0; k < 3; k++) lanes[k] = load_lanes(state[k] + at, left);
  reduce_join_moments(&lanes[0], &lanes[1], &lanes[2], number((float)rows), group, squares);
  for (int k = 0; k < 3; k++) store_lanes(state[k] + at, lanes[k], left);
}

static void rows_moments(float *const *state, const float *values, int64_t pitch, int rows,
                         int64_t count) {
  int64_t i = 0;
  for (; rows == CVY_REDUCE_GROUP && i + WIDTH <= count; i += WIDTH)
    vector_of_moments(state, i, values, pitch, CVY_REDUCE_GROUP, WIDTH);
  for (; i < count; i += WIDTH) vector_of_moments(state, i, values, pitch, rows, count - i);
}

ALWAYS void join_of_one(float *const *state, float *const *other, int64_t count, two_operands *f) {
  for (int64_t i = 0; i < count; i += WIDTH) {
    real all = f(load_lanes(state[0] + i, count - i), load_lanes(other[0] + i, count - i));
    store_lanes(state[0] + i, all, count - i);
  }
}

static void join_sum(float *const *state, float *const *other, int64_t count) {
  join_of_one(state, other, count, program_add);
}

static void join_max(float *const *state, float *const *other, int64_t count) {
  join_of_one(state, other, count, program_max);
}

static void join_min(float *const *state, float *const *other, int64_t count) {
  join_of_one(state, other, count, program_min);
}

static void join_moments(float *const *state, float *const *other, int64_t count) {
  for (int64_t i = 0; i < count; i += WIDTH) {
    int64_t left = count - i;
    real all[3];
    for (int k = 0; k < 3; k++) all[k] = load_lanes(state[k] + i, left);
    reduce_join_moments(&all[0], &all[1], &all[2], load_lanes(other[0] + i, left),
                        load_lanes(other[1] + i, left), load_lanes(other[2] + i, left));
    for (int k = 0; k < 3; k++) store_lanes(state[k] + i, all[k], left);
  }
}
