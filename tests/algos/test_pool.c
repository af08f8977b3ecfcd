/* Pooling and its gradients on the device of the first argument, by every row that takes them,
 * against the definition in float64: all ranks, windows apart, overlapping and with gaps, padding
 * that counts and that does not, windows beyond the padding; maxima that are equal, NaN, infinite
 * or of nothing; and what the public functions refuse. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "common/random.h"
#include "convoy/convoy.h"
#include "ref/pool.h"

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

/* Of x and a window; each is carried out both ways, as maximum and, without gaps, as average. */
static const char *const texts[] = {
    "n2c3h8w10 r2s2 stride2",
    "n1c5h7w9 r2s2 stride2",
    "n1c5h7w9 r2s2 stride2 ceil",
    "n1c5h7w9 r2s2 stride2 ceil count_padding",
    "n2c4h9w11 r3s3 pad1",
    "n2c4h9w11 r3s3 pad1 count_padding",
    "n1c16h20w20 r3s3 stride2 pad1:0",
    "n1c16h20w20 r3s3 stride2 pad1 ceil",
    "n1c16h20w20 r3s3 stride2 pad1 ceil count_padding",
    "n1c2h13w17 r5s5 stride3 pad2:1 count_padding",
    "n1c3h20w20 r5s5 pad2",
    "n1c2h13w17 r3s2 stride1,3 pad1:0,1:1",
    "n1c2h13w17 r3s3 stride2 pad2 dil2",
    "n1c2h13w70 r2s3 stride1,2 dil3,5",
    "n1c2h3w3 r2s2 pad3 dil4",
    "n1c1h1w1 r2s2 stride2 ceil",
    "n3c2w50 s4 stride3 pad1:2",
    "n3c2w5000 s3 stride1 pad1",
    "n1c2w100 s7 stride11",
    "n1c2w100 s7 stride11 ceil",
    "n1c2z5h6w7 t2r2s2 stride2 pad1",
    "n1c1z4h5w6 t3r3s3 count_padding",
    "n1c1z4h5w6 t3r2s1 stride1,2,3 pad1,0,0 ceil",
    "n1c1h1w1 r1s1",
    "n4c32h7w7 r7s7 stride7",
    "n1c2h200w40 r2s3 stride2,1 pad1",
    "n1c2h3w9000 r2s2 stride2 pad1",
    "n1c2w6000 s1200 stride600 pad500 count_padding",
    "n1c2w20001 s9 stride5000",
    "n2c1z9h40w30 t3r2s5 stride2,1,3 pad1",
    "n0c3h8w10 r2s2 stride2",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static const char *const names[CONVOY_POOLS] = {"max_pool", "max_pool_backward", "average_pool",
                                                "average_pool_backward"};

/* Operands, then the result. */
typedef struct one_case {
  char text[128];
  convoy_pool what;
  convoy_window window;
  int64_t x_shape[CONVOY_MAX_DIMS], y_shape[CONVOY_MAX_DIMS];
  int inputs;
  const int64_t *shape[3];
  int64_t count[3];
  float *value[3];
  convoy_tensor *tensor[3];
} one_case;

static void give(one_case *c, int i) {
  assert_int_equal(convoy_tensor_write(c->tensor[i], c->value[i], c->count[i]), CONVOY_OK);
}

static void begin(convoy_pool what, const char *text, one_case *c) {
  static test_random random = {5};
  int64_t *const x = c->x_shape, *const y = c->y_shape;
  const int64_t *const operands[CONVOY_POOLS][3] = {{x, y}, {x, y, x}, {x, y}, {y, x}};
  memset(c, 0, sizeof *c);
  snprintf(c->text, sizeof c->text, "%s %s", names[what], text);
  if (convoy_parse_pool(c->text, &c->what, &c->window, x, y))
    fail_msg("%s: %s", c->text, convoy_last_error());
  assert_int_equal(c->what, what);
  c->inputs = what == CONVOY_MAX_POOL_BACKWARD ? 2 : 1;
  for (int i = 0; i <= c->inputs; i++) {
    int32_t dims = c->window.rank + 2;
    c->shape[i] = operands[what][i];
    c->count[i] = 1;
    for (int axis = 0; axis < dims; axis++) c->count[i] *= c->shape[i][axis];
    c->value[i] = malloc((size_t)(c->count[i] + 1) * sizeof(float));
    assert_int_equal(convoy_tensor_new(context, dims, c->shape[i], &c->tensor[i]), CONVOY_OK);
    test_fill_reals(&random, c->value[i], c->count[i]);
    if (i == c->inputs) test_fill_nan(c->value[i], c->count[i]);
    give(c, i);
  }
}

static void end(one_case *c) {
  for (int i = 0; i <= c->inputs; i++) {
    convoy_tensor_free(c->tensor[i]);
    free(c->value[i]);
  }
}

static convoy_status call(one_case *c, convoy_run *run) {
  convoy_tensor **t = c->tensor;
  if (c->what == CONVOY_MAX_POOL) return convoy_max_pool(context, &c->window, t[0], t[1], run);
  if (c->what == CONVOY_MAX_POOL_BACKWARD)
    return convoy_max_pool_backward(context, &c->window, t[0], t[1], t[2], run);
  if (c->what == CONVOY_AVERAGE_POOL)
    return convoy_average_pool(context, &c->window, t[0], t[1], run);
  return convoy_average_pool_backward(context, &c->window, t[0], t[1], run);
}

static void compare(one_case *c, const char *by) {
  int out = c->inputs;
  const float *const in[] = {c->value[0], c->value[1]};
  test_fill_nan(c->value[out], c->count[out]);
  assert_int_equal(convoy_tensor_read(c->tensor[out], c->value[out], c->count[out]), CONVOY_OK);
  for (int64_t i = 0; i < c->count[out]; i++) {
    ref_value wanted = ref_pool(c->what, &c->window, c->x_shape, c->y_shape, in, i);
    double bound = 4.0 * (double)(wanted.terms + 2) * 0x1p-24 * wanted.magnitude;
    double got = (double)c->value[out][i];
    bool same = got == wanted.value || (isnan(got) && isnan(wanted.value));
    if (!same && !(fabs(got - wanted.value) <= bound))
      fail_msg("%s, %s: [%d] is %.9g, not %.9g", by, c->text, (int)i, got, wanted.value);
  }
}

static void run_case(convoy_pool what, const char *text, const char *algorithm) {
  one_case c;
  convoy_run run = CONVOY_RUN_INIT;
  begin(what, text, &c);
  if (call(&c, &run)) fail_msg("%s, %s: %s", algorithm, c.text, convoy_last_error());
  if (run.algorithm[0]) assert_string_equal(run.algorithm, algorithm);
  compare(&c, algorithm);
  end(&c);
}

static void every_row_computes_what_the_definition_says(void **state) {
  const char *name;
  int rows = 0;
  (void)state;
  for (int row = 0; (name = convoy_algorithm_name(context, row)); row++) {
    if (!strstr(name, ".pool")) continue;
    assert_int_equal(convoy_set_algorithm(context, name), CONVOY_OK);
    for (int t = 0; t < TEXTS; t++) {
      run_case(CONVOY_MAX_POOL, texts[t], name);
      run_case(CONVOY_MAX_POOL_BACKWARD, texts[t], name);
      if (strstr(texts[t], "dil")) continue;
      run_case(CONVOY_AVERAGE_POOL, texts[t], name);
      run_case(CONVOY_AVERAGE_POOL_BACKWARD, texts[t], name);
    }
    rows++;
  }
  assert_int_equal(convoy_set_algorithm(context, NULL), CONVOY_OK);
  assert_true(rows > 0);
}

/* Of equal ones the first, of NaN the last; 0 and -0 are equal; denormal numbers are not. */
static void places_of_maxima(void **state) {
  static const struct {
    float x[4];
    int place;
  } cases[] = {
      {{1, 2, 3, 0}, 2},
      {{2, 2, 2, 2}, 0},
      {{-5, -3, -3, -4}, 1},
      {{0.0f, -0.0f, 0.0f, -0.0f}, 0},
      {{-0.0f, 0.0f, -1, 0.0f}, 0},
      {{-1, -0.0f, 0.0f, -2}, 1},
      {{1, NAN, 3, 2}, 1},
      {{NAN, INFINITY, -NAN, 2}, 2},
      {{-INFINITY, -INFINITY, -INFINITY, -INFINITY}, 0},
      {{-INFINITY, 3, INFINITY, INFINITY}, 2},
      {{1e-40f, 3e-40f, 2e-40f, 0}, 1},
      {{-3e-40f, -1e-40f, -2e-40f, -1}, 1},
      {{-1e-40f, 0, 1e-45f, 0}, 2},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    one_case y, dx;
    float out[4];
    begin(CONVOY_MAX_POOL, "n1c1h2w2 r2s2", &y);
    begin(CONVOY_MAX_POOL_BACKWARD, "n1c1h2w2 r2s2", &dx);
    memcpy(y.value[0], cases[i].x, sizeof cases[i].x);
    memcpy(dx.value[0], cases[i].x, sizeof cases[i].x);
    dx.value[1][0] = 7.0f;
    give(&y, 0);
    give(&dx, 0);
    give(&dx, 1);
    assert_int_equal(call(&y, NULL), CONVOY_OK);
    assert_int_equal(call(&dx, NULL), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(y.tensor[1], out, 1), CONVOY_OK);
    if (isnan(cases[i].x[cases[i].place]))
      assert_true(isnan(out[0]));
    else
      assert_memory_equal(out, &cases[i].x[cases[i].place], sizeof *out);
    assert_int_equal(convoy_tensor_read(dx.tensor[2], out, 4), CONVOY_OK);
    for (int at = 0; at < 4; at++)
      if (out[at] != (at == cases[i].place ? 7.0f : 0.0f))
        fail_msg("case %d: gradient of element %d is %g", (int)i, at, (double)out[at]);
    end(&y);
    end(&dx);
  }
}

/* Whole numbers of few values, so that most windows have several maxima. */
static void equal_maxima_are_found_in_order(void **state) {
  (void)state;
  for (int t = 0; t < TEXTS; t++) {
    one_case c;
    begin(CONVOY_MAX_POOL_BACKWARD, texts[t], &c);
    for (int64_t i = 0; i < c.count[0]; i++) c.value[0][i] = (float)((i * 7919 + 3) % 5 / 2);
    for (int64_t i = 0; i < c.count[1]; i++) c.value[1][i] = (float)(i % 9 - 4);
    give(&c, 0);
    give(&c, 1);
    assert_int_equal(call(&c, NULL), CONVOY_OK);
    compare(&c, "equal maxima");
    end(&c);
  }
}

static void results_may_replace_operands(void **state) {
  one_case c;
  float *once;
  (void)state;
  begin(CONVOY_MAX_POOL_BACKWARD, "n2c4h9w11 r3s3 pad1", &c);
  once = malloc((size_t)c.count[2] * sizeof *once);
  assert_int_equal(call(&c, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(c.tensor[2], once, c.count[2]), CONVOY_OK);
  for (int i = 0; i < 2; i++) { /* y has x's extents here */
    assert_int_equal(
        convoy_max_pool_backward(context, &c.window, c.tensor[0], c.tensor[1], c.tensor[i], NULL),
        CONVOY_OK);
    assert_int_equal(convoy_tensor_read(c.tensor[i], c.value[2], c.count[2]), CONVOY_OK);
    assert_memory_equal(c.value[2], once, (size_t)c.count[2] * sizeof *once);
    give(&c, i);
  }
  free(once);
  end(&c);
}

static void expect(convoy_status got, convoy_status status, const char *sentence) {
  assert_int_equal(got, status);
  if (!strstr(convoy_last_error(), sentence))
    fail_msg("\"%s\" is not in \"%s\"", sentence, convoy_last_error());
}

static void what_is_wrong_with_windows_is_said(void **state) {
  one_case c;
  (void)state;
  begin(CONVOY_AVERAGE_POOL, "n1c2h8w8 r3s3 stride2 pad1", &c);
  convoy_window bad;
#define REFUSED(change, status, sentence) \
  bad = c.window;                         \
  bad.change;                             \
  expect(convoy_average_pool(context, &bad, c.tensor[0], c.tensor[1], NULL), status, sentence)
  REFUSED(pad_begin[1] = 3, CONVOY_ERR_ARGUMENT, "padding 3 and 1 of axis 1, whose windows have 3");
  REFUSED(pad_end[0] = -1, CONVOY_ERR_ARGUMENT, "padding 1 and -1 of axis 0");
  REFUSED(stride[0] = 0, CONVOY_ERR_ARGUMENT, "stride 0 of axis 0");
  REFUSED(extent[0] = 0, CONVOY_ERR_ARGUMENT, "extent 0 and stride 2 of axis 0");
  REFUSED(dilation[1] = 0, CONVOY_ERR_ARGUMENT, "dilation 0 of axis 1");
  REFUSED(dilation[1] = 2, CONVOY_ERR_ARGUMENT, "dilation 2 of axis 1; legal are 1 for an average");
  REFUSED(count_padding = 2, CONVOY_ERR_ARGUMENT, "count_padding is 2");
  REFUSED(ceil_mode = -1, CONVOY_ERR_ARGUMENT, "ceil_mode is -1");
  REFUSED(rank = 4, CONVOY_ERR_ARGUMENT, "rank is 4");
  REFUSED(rank = 1, CONVOY_ERR_SHAPE, "x has 4 extents, not 3");
  REFUSED(struct_size = 8, CONVOY_ERR_ARGUMENT, "struct_size is 8");
  REFUSED(extent[0] = 11, CONVOY_ERR_SHAPE, "11");
  REFUSED(extent[0] = INT64_MAX, CONVOY_ERR_ARGUMENT, "9223372036854775807");
  REFUSED(stride[0] = 1, CONVOY_ERR_SHAPE, "extent 2 of y is 4, not 8");
#undef REFUSED
  end(&c);
}

static void what_is_wrong_with_operands_is_said(void **state) {
  one_case c;
  int64_t y_shape[CONVOY_MAX_DIMS];
  (void)state;
  begin(CONVOY_MAX_POOL_BACKWARD, "n1c2h8w8 r3s3 stride2 pad1", &c);
  convoy_tensor *x = c.tensor[0], *dy = c.tensor[1], *dx = c.tensor[2];
  const convoy_window *w = &c.window;
  expect(convoy_max_pool(context, w, NULL, dy, NULL), CONVOY_ERR_ARGUMENT, "x is NULL");
  expect(convoy_max_pool(context, w, x, NULL, NULL), CONVOY_ERR_ARGUMENT, "y is NULL");
  expect(convoy_max_pool(context, NULL, x, dy, NULL), CONVOY_ERR_ARGUMENT, "window is NULL");
  expect(convoy_max_pool(context, w, dy, x, NULL), CONVOY_ERR_SHAPE, "extent 2 of y is 8, not 2");
  expect(convoy_max_pool_backward(context, w, x, dy, NULL, NULL), CONVOY_ERR_ARGUMENT,
         "dx is NULL");
  expect(convoy_max_pool_backward(context, w, x, NULL, dx, NULL), CONVOY_ERR_ARGUMENT,
         "dy is NULL");
  expect(convoy_max_pool_backward(context, w, x, dy, dy, NULL), CONVOY_ERR_SHAPE,
         "extent 2 of dx is 4, not 8");
  expect(convoy_average_pool_backward(context, w, x, dy, NULL), CONVOY_ERR_SHAPE,
         "extent 2 of dy is 8, not 2");
  expect(convoy_max_pool(NULL, w, x, dy, NULL), CONVOY_ERR_ARGUMENT, "context");
  expect(convoy_pool_shape(w, NULL, y_shape), CONVOY_ERR_ARGUMENT, "x_shape is NULL");
  assert_int_equal(convoy_pool_shape(w, c.x_shape, y_shape), CONVOY_OK);
  assert_memory_equal(y_shape, c.y_shape, 4 * sizeof *y_shape);
  end(&c);
}

int main(int argc, char **argv) {
  device_name = argc > 1 ? argv[1] : "cpu";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_computes_what_the_definition_says),
      cmocka_unit_test(places_of_maxima),
      cmocka_unit_test(equal_maxima_are_found_in_order),
      cmocka_unit_test(results_may_replace_operands),
      cmocka_unit_test(what_is_wrong_with_windows_is_said),
      cmocka_unit_test(what_is_wrong_with_operands_is_said),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
