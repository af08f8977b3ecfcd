/* Bodies of Winograd's transforms (cpu/isa/winograd.h). */
#include "cpu/isa/winograd.h"

#define WINOGRAD_MOST 6 /* points per axis */

/* A transform along one axis. `from` and `to` are arrays of at most WINOGRAD_MOST vectors. */
typedef void winograd_line(const vector *from, vector *to);

/* ----------------------------------------------------------------------------------- m = 2 */

ALWAYS void input_two(const vector *d, vector *t) {
  t[0] = d[0] - d[2];
  t[1] = d[2] + d[1];
  t[2] = d[2] - d[1];
  t[3] = d[3] - d[1];
}

ALWAYS void filter_two(const vector *g, vector *t) {
  vector even = 0.5f * (g[0] + g[2]), odd = 0.5f * g[1];
  t[0] = g[0];
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = g[2];
}

ALWAYS void output_two(const vector *t, vector *y) {
  y[0] = t[0] + t[1] + t[2];
  y[1] = t[1] - t[2] + t[3];
}

ALWAYS void dy_two(const vector *y, vector *t) {
  t[0] = y[0];
  t[1] = 0.5f * (y[0] + y[1]);
  t[2] = 0.5f * (y[0] - y[1]);
  t[3] = y[1];
}

ALWAYS void dw_two(const vector *t, vector *g) {
  g[0] = t[0] + t[1] + t[2];
  g[1] = t[1] - t[2];
  g[2] = t[1] + t[2] + t[3];
}

/* ----------------------------------------------------------------------------------- m = 4 */

#define A1 0.75f /* the points are 0, A1, -A1, B1, -B1 and infinity */
#define B1 1.5f
#define A2 (A1 * A1)
#define B2 (B1 * B1)
/* What the filter is divided by: products of the distances of a point from the others. */
#define N0 (1.0f / (A2 * B2))
#define NA (1.0f / (2 * A2 * (A2 - B2)))
#define NB (1.0f / (2 * B2 * (B2 - A2)))

ALWAYS void input_four(const vector *d, vector *t) {
  vector even_a = d[4] - B2 * d[2], odd_a = A1 * (d[3] - B2 * d[1]);
  vector even_b = d[4] - A2 * d[2], odd_b = B1 * (d[3] - A2 * d[1]);
  t[0] = d[4] - (A2 + B2) * d[2] + A2 * B2 * d[0];
  t[1] = even_a + odd_a;
  t[2] = even_a - odd_a;
  t[3] = even_b + odd_b;
  t[4] = even_b - odd_b;
  t[5] = d[5] - (A2 + B2) * d[3] + A2 * B2 * d[1];
}

ALWAYS void filter_four(const vector *g, vector *t) {
  vector even_a = NA * g[0] + NA * A2 * g[2], odd_a = NA * A1 * g[1];
  vector even_b = NB * g[0] + NB * B2 * g[2], odd_b = NB * B1 * g[1];
  t[0] = N0 * g[0];
  t[1] = even_a + odd_a;
  t[2] = even_a - odd_a;
  t[3] = even_b + odd_b;
  t[4] = even_b - odd_b;
  t[5] = g[2];
}

ALWAYS void output_four(const vector *t, vector *y) {
  vector sum_a = t[1] + t[2], sum_b = t[3] + t[4];
  vector odd_a = A1 * (t[1] - t[2]), odd_b = B1 * (t[3] - t[4]);
  y[0] = t[0] + sum_a + sum_b;
  y[1] = odd_a + odd_b;
  y[2] = A2 * sum_a + B2 * sum_b;
  y[3] = A2 * odd_a + B2 * odd_b + t[5];
}

ALWAYS void dy_four(const vector *y, vector *t) {
  vector even_a = NA * y[0] + NA * A2 * y[2], odd_a = NA * A1 * (y[1] + A2 * y[3]);
  vector even_b = NB * y[0] + NB * B2 * y[2], odd_b = NB * B1 * (y[1] + B2 * y[3]);
  t[0] = N0 * y[0];
  t[1] = even_a + odd_a;
  t[2] = even_a - odd_a;
  t[3] = even_b + odd_b;
  t[4] = even_b - odd_b;
  t[5] = y[3];
}

ALWAYS void dw_four(const vector *t, vector *g) {
  vector sum_a = t[1] + t[2], sum_b = t[3] + t[4];
  g[0] = t[0] + sum_a + sum_b;
  g[1] = A1 * (t[1] - t[2]) + B1 * (t[3] - t[4]);
  g[2] = A2 * sum_a + B2 * sum_b + t[5];
}

/* -------------------------------------------------------------------------------- both axes */

ALWAYS void both_axes(const cvy_winograd_arrays *a, winograd_line *line, const int from,
                      const int to) {
  for (int64_t e = 0; e < a->count; e += WIDTH) {
    vector half[WINOGRAD_MOST][WINOGRAD_MOST];
    UNROLL(6)
    for (int j = 0; j < from; j++) {
      vector column[WINOGRAD_MOST], transformed[WINOGRAD_MOST];
      UNROLL(6)
      for (int i = 0; i < from; i++)
        column[i] = load(a->from + i * a->from_row + j * a->from_column + e);
      line(column, transformed);
      UNROLL(6)
      for (int i = 0; i < to; i++) half[i][j] = transformed[i];
    }
    UNROLL(6)
    for (int i = 0; i < to; i++) {
      vector row[WINOGRAD_MOST];
      line(half[i], row);
      UNROLL(6)
      for (int j = 0; j < to; j++) store(a->to + i * a->to_row + j * a->to_column + e, row[j]);
    }
  }
}

static void winograd_input_two(const cvy_winograd_arrays *a) {
  both_axes(a, input_two, 4, 4);
}

static void winograd_filter_two(const cvy_winograd_arrays *a) {
  both_axes(a, filter_two, 3, 4);
}

static void winograd_output_two(const cvy_winograd_arrays *a) {
  both_axes(a, output_two, 4, 2);
}

static void winograd_dy_two(const cvy_winograd_arrays *a) {
  both_axes(a, dy_two, 2, 4);
}

static void winograd_dw_two(const cvy_winograd_arrays *a) {
  both_axes(a, dw_two, 4, 3);
}

static void winograd_input_four(const cvy_winograd_arrays *a) {
  both_axes(a, input_four, 6, 6);
}

static void winograd_filter_four(const cvy_winograd_arrays *a) {
  both_axes(a, filter_four, 3, 6);
}

static void winograd_output_four(const cvy_winograd_arrays *a) {
  both_axes(a, output_four, 6, 4);
}

static void winograd_dy_four(const cvy_winograd_arrays *a) {
  both_axes(a, dy_four, 4, 6);
}

static void winograd_dw_four(const cvy_winograd_arrays *a) {
  both_axes(a, dw_four, 6, 3);
}

#define WINOGRAD_TABLES                                                                     \
  {                                                                                         \
    {winograd_input_two, winograd_filter_two, winograd_output_two, winograd_dy_two,         \
     winograd_dw_two},                                                                      \
        {winograd_input_four, winograd_filter_four, winograd_output_four, winograd_dy_four, \
         winograd_dw_four},                                                                 \
  }
