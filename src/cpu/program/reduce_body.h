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

ALWAYS void rows_of_one(float *const *state, const float *values, int64_t pitch, int rows,
                        int64_t count, two_operands *f) {
  for (int64_t i = 0; i < count; i += WIDTH) {
    real all = load_lanes(state[0] + i, count - i);
    for (int r = 0; r < rows; r++) all = f(all, load_lanes(values + r * pitch + i, count - i));
    store_lanes(state[0] + i, all, count - i);
  }
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

static void rows_moments(float *const *state, const float *values, int64_t pitch, int rows,
                         int64_t count) {
  for (int64_t i = 0; i < count; i += WIDTH) {
    int64_t left = count - i;
    real sum = load_lanes(values + i, left);
    for (int r = 1; r < rows; r++) sum = sum + load_lanes(values + r * pitch + i, left);
    real group = reduce_group_mean(sum, rows);
    real squares = reduce_square(load_lanes(values + i, left), group);
    for (int r = 1; r < rows; r++)
      squares = squares + reduce_square(load_lanes(values + r * pitch + i, left), group);
    real lanes[3] = {load_lanes(state[0] + i, left), load_lanes(state[1] + i, left),
                     load_lanes(state[2] + i, left)};
    reduce_join_moments(&lanes[0], &lanes[1], &lanes[2], number((float)rows), group, squares);
    for (int k = 0; k < 3; k++) store_lanes(state[k] + i, lanes[k], left);
  }
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
