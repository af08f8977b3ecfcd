/* Average pooling and its gradient, on the device of the first argument, against the definition in
 * float64: all ranks, overlapping windows, windows apart, padding that counts and that does not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "convoy/convoy.h"

static const char *device_name;
static convoy_context *context;

static int open_context(void **state) {
  (void)state;
  convoy_device_info device;
  return test_open(device_name, &context, &device);
}

static int close_context(void **state) {
  (void)state;
  convoy_close(context);
  return 0;
}

typedef struct pool_case {
  convoy_window window;
  int64_t x[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS]; /* n c and always three extents */
} pool_case;

static int64_t count_of(const int64_t *shape) {
  return shape[0] * shape[1] * shape[2] * shape[3] * shape[4];
}

/* Where window `o` begins and ends in an axis of the input, and what it is divided by. */
static void window_at(const pool_case *c, int axis, int64_t o, int64_t *begin, int64_t *end,
                      double *divisor) {
  int first = 3 - c->window.rank;
  if (axis < first) {
    *begin = 0;
    *end = 1;
    return;
  }
  int64_t at = o * c->window.stride[axis - first] - c->window.pad_begin[axis - first];
  int64_t last = at + c->window.extent[axis - first];
  *begin = at < 0 ? 0 : at;
  *end = last < c->x[2 + axis] ? last : c->x[2 + axis];
  *divisor *= (double)(c->window.count_padding ? c->window.extent[axis - first] : *end - *begin);
}

/* Adds to y from x, or to dx from dy. */
static void define(const pool_case *c, const float *from, double *to, int backward) {
  int64_t maps = c->x[0] * c->x[1], in = count_of(c->x) / maps, out = count_of(c->y) / maps;
  for (int64_t i = 0; i < count_of(c->y); i++) {
    int64_t o[3] = {i % out / (c->y[3] * c->y[4]), i / c->y[4] % c->y[3], i % c->y[4]};
    int64_t b[3], e[3];
    double divisor = 1;
    for (int axis = 0; axis < 3; axis++) window_at(c, axis, o[axis], &b[axis], &e[axis], &divisor);
    for (int64_t z = b[0]; z < e[0]; z++)
      for (int64_t h = b[1]; h < e[1]; h++)
        for (int64_t w = b[2]; w < e[2]; w++) {
          int64_t at = i / out * in + (z * c->x[3] + h) * c->x[4] + w;
          to[backward ? at : i] += (double)from[backward ? i : at] / divisor;
        }
  }
}

static convoy_tensor *tensor_of(const pool_case *c, const int64_t *shape, const float *values) {
  int64_t extents[CONVOY_MAX_DIMS] = {shape[0], shape[1]};
  convoy_tensor *made;
  int rank = c->window.rank;
  memcpy(extents + 2, shape + 5 - rank, (size_t)rank * sizeof *shape);
  assert_int_equal(convoy_tensor_new(context, rank + 2, extents, &made), CONVOY_OK);
  if (values) assert_int_equal(convoy_tensor_write(made, values, count_of(shape)), CONVOY_OK);
  return made;
}

static float *numbers(int64_t count) {
  float *values = malloc((size_t)count * sizeof *values);
  static uint32_t next = 1;
  for (int64_t i = 0; i < count; i++) {
    next = next * 1664525u + 1013904223u;
    values[i] = (float)(next >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

static void check_pass(const pool_case *c, int backward) {
  const int64_t *from_shape = backward ? c->y : c->x, *to_shape = backward ? c->x : c->y;
  int64_t count = count_of(to_shape);
  float *from = numbers(count_of(from_shape)), *got = malloc((size_t)count * sizeof *got);
  double *wanted = calloc((size_t)count, sizeof *wanted);
  convoy_tensor *in = tensor_of(c, from_shape, from), *out = tensor_of(c, to_shape, NULL);
  convoy_status status = backward ? convoy_average_pool_backward(context, &c->window, in, out, NULL)
                                  : convoy_average_pool(context, &c->window, in, out, NULL);
  if (status) fail_msg("%s", convoy_last_error());
  assert_int_equal(convoy_tensor_read(out, got, count), CONVOY_OK);
  define(c, from, wanted, backward);
  for (int64_t i = 0; i < count; i++)
    if (!(fabs((double)got[i] - wanted[i]) <= 2e-6))
      fail_msg("element %d is %g, not %g", (int)i, (double)got[i], wanted[i]);
  convoy_tensor_free(in);
  convoy_tensor_free(out);
  free(from);
  free(got);
  free(wanted);
}

static pool_case case_of(int rank, int extent, int stride, int pad_begin, int pad_end,
                         int count_padding, const int64_t *x) {
  pool_case c = {.window = CONVOY_WINDOW_INIT(rank)};
  memcpy(c.x, x, sizeof c.x);
  memcpy(c.y, x, sizeof c.y);
  c.window.count_padding = count_padding;
  for (int axis = 0; axis < rank; axis++) {
    c.window.extent[axis] = extent;
    c.window.stride[axis] = stride;
    c.window.pad_begin[axis] = pad_begin;
    c.window.pad_end[axis] = pad_end;
    int64_t room = x[5 - rank + axis] + pad_begin + pad_end - extent;
    c.y[5 - rank + axis] = room / stride + 1;
  }
  return c;
}

static void means_and_gradients_are_as_defined(void **state) {
  (void)state;
  static const struct {
    int rank, extent, stride, begin, end, counts;
    int64_t x[CONVOY_MAX_DIMS];
  } cases[] = {
      {2, 2, 2, 0, 0, 0, {2, 3, 1, 8, 10}},   {2, 2, 2, 0, 0, 0, {1, 5, 1, 7, 9}},
      {2, 3, 1, 1, 1, 0, {2, 4, 1, 9, 11}},   {2, 3, 1, 1, 1, 1, {2, 4, 1, 9, 11}},
      {2, 3, 2, 1, 0, 0, {1, 16, 1, 20, 20}}, {2, 5, 3, 2, 1, 1, {1, 2, 1, 13, 17}},
      {1, 4, 3, 1, 2, 0, {3, 2, 1, 1, 50}},   {3, 2, 2, 1, 1, 0, {1, 2, 5, 6, 7}},
      {3, 3, 1, 0, 0, 1, {1, 1, 4, 5, 6}},    {2, 1, 1, 0, 0, 0, {1, 1, 1, 1, 1}},
      {2, 7, 7, 0, 0, 0, {4, 32, 1, 7, 7}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pool_case c = case_of(cases[i].rank, cases[i].extent, cases[i].stride, cases[i].begin,
                          cases[i].end, cases[i].counts, cases[i].x);
    check_pass(&c, 0);
    check_pass(&c, 1);
  }
}

static void expect(const convoy_window *window, const convoy_tensor *x, convoy_tensor *y,
                   convoy_status status, const char *sentence) {
  assert_int_equal(convoy_average_pool(context, window, x, y, NULL), status);
  if (!strstr(convoy_last_error(), sentence))
    fail_msg("\"%s\" is not in \"%s\"", sentence, convoy_last_error());
}

static void what_is_wrong_is_said(void **state) {
  (void)state;
  pool_case c = case_of(2, 3, 2, 1, 1, 0, (int64_t[]){1, 2, 1, 8, 8});
  convoy_tensor *x = tensor_of(&c, c.x, NULL), *y = tensor_of(&c, c.y, NULL);
  convoy_window bad = c.window;
  bad.pad_begin[1] = 3;
  expect(&bad, x, y, CONVOY_ERR_ARGUMENT, "padding 3 and 1 of axis 1");
  bad = c.window;
  bad.stride[0] = 0;
  expect(&bad, x, y, CONVOY_ERR_ARGUMENT, "stride 0 of axis 0");
  bad = c.window;
  bad.rank = 4;
  expect(&bad, x, y, CONVOY_ERR_ARGUMENT, "rank is 4");
  bad.rank = 1;
  expect(&bad, x, y, CONVOY_ERR_SHAPE, "x has 4 extents, not 3");
  bad = c.window;
  bad.struct_size = 8;
  expect(&bad, x, y, CONVOY_ERR_ARGUMENT, "struct_size is 8");
  expect(&c.window, y, x, CONVOY_ERR_SHAPE, "extent 2 of y is 8, not 2");
  expect(&c.window, NULL, y, CONVOY_ERR_ARGUMENT, "x is NULL");
  expect(NULL, x, y, CONVOY_ERR_ARGUMENT, "window is NULL");
  assert_int_equal(convoy_average_pool_backward(context, &c.window, x, y, NULL), CONVOY_ERR_SHAPE);
  convoy_tensor_free(x);
  convoy_tensor_free(y);
}

int main(int argc, char **argv) {
  device_name = argc > 1 ? argv[1] : "cpu";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(means_and_gradients_are_as_defined),
      cmocka_unit_test(what_is_wrong_is_said),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
