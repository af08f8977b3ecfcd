/* Matrix products on the device of the first argument, by every row that takes them: whole numbers
 * without tolerance, real ones against the definition in float64 within the promised bound; and
 * what the public functions refuse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "common/random.h"
#include "convoy/convoy.h"
#include "ref/matmul.h"

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

/* All ways to lie, shared sides, sums, one row, one column, one term, extents around those of tiles
 * and blocks, sums longer than what is packed at once, and nothing. */
static const char *const texts[] = {
    "matmul a1x1 b1x1",
    "matmul a5x7 b7x3",
    "matmul a7x5t b7x3",
    "matmul a5x7 b3x7t",
    "matmul a7x5t b3x7t",
    "matmul a1x300 b300x70",
    "matmul a1x300 b70x300t",
    "matmul a300x1t b300x70",
    "matmul a70x300 b300x1",
    "matmul a65x1 b1x67",
    "matmul a33x257 b257x65",
    "matmul a257x33t b257x65",
    "matmul a33x257 b65x257t",
    "matmul a129x515 b515x193",
    "matmul a130x64 b64x128",
    "matmul a64x128 b128x64",
    "matmul a3x1000 b1000x5",
    "matmul a1000x3t b1000x5",
    "matmul a3x5x7 b3x7x9",
    "matmul a3x7x5t b3x9x7t",
    "matmul a3x40x70 b70x50",
    "matmul a3x70x40t b70x50",
    "matmul a40x70 b3x70x50",
    "matmul a40x70 b3x50x70t",
    "matmul a3x40x70 b3x70x50 sum",
    "matmul a3x40x70 b3x50x70t sum",
    "matmul a3x70x40t b3x70x50 sum",
    "matmul a3x70x40t b3x50x70t sum",
    "matmul a17x1x33 b17x33x1",
    "matmul a1x40x70 b1x70x50",
    "matmul a0x7 b7x3",
    "matmul a5x0 b0x3",
    "matmul a0x5t b0x3",
    "matmul a5x7 b7x0",
    "matmul a0x5x7 b7x3",
    "matmul a0x5x7 b0x7x3 sum",
    "matmul a2x5x0 b2x0x3",
    "matmul a2x5x0 b2x0x3 sum",
};
enum { TEXTS = sizeof texts / sizeof *texts };

typedef struct one_case {
  const char *text;
  uint32_t flags;
  int32_t dims[3];
  int64_t shapes[3][CONVOY_MAX_DIMS], count[3];
  float *value[3];
  convoy_tensor *tensor[3];
} one_case;

static void begin(const char *text, void (*fill)(test_random *, float *, int64_t), one_case *c) {
  static test_random random = {3};
  *c = (one_case){.text = text};
  if (convoy_parse_matmul(text, &c->flags, c->dims, c->shapes)) fail_msg("%s", convoy_last_error());
  for (int i = 0; i < 3; i++) {
    c->count[i] = 1;
    for (int axis = 0; axis < c->dims[i]; axis++) c->count[i] *= c->shapes[i][axis];
    c->value[i] = malloc((size_t)(c->count[i] + 1) * sizeof(float));
    assert_int_equal(convoy_tensor_new(context, c->dims[i], c->shapes[i], &c->tensor[i]),
                     CONVOY_OK);
    fill(&random, c->value[i], c->count[i]);
    if (i == 2) test_fill_nan(c->value[i], c->count[i]);
    assert_int_equal(convoy_tensor_write(c->tensor[i], c->value[i], c->count[i]), CONVOY_OK);
  }
}

static void end(one_case *c) {
  for (int i = 0; i < 3; i++) {
    convoy_tensor_free(c->tensor[i]);
    free(c->value[i]);
  }
}

static void compare(const one_case *c, int exact, const char *by) {
  for (int64_t i = 0; i < c->count[2]; i++) {
    ref_value wanted = ref_matmul(c->flags, c->dims, (const int64_t(*)[CONVOY_MAX_DIMS])c->shapes,
                                  c->value[0], c->value[1], i);
    double bound = exact ? 0 : 4.0 * (double)(wanted.terms + 2) * 0x1p-24 * wanted.magnitude;
    double got = (double)c->value[2][i];
    if (!(fabs(got - wanted.value) <= bound))
      fail_msg("%s, %s: [%d] is %.9g, not %.9g", by, c->text, (int)i, got, wanted.value);
  }
}

/* Returns whether the row takes it. */
static int run_case(const char *text, int exact, const char *algorithm) {
  one_case c;
  convoy_run run = CONVOY_RUN_INIT;
  begin(text, exact ? test_fill_integers : test_fill_reals, &c);
  convoy_status status =
      convoy_matmul(context, c.flags, c.tensor[0], c.tensor[1], c.tensor[2], &run);
  int takes = status != CONVOY_ERR_UNSUPPORTED;
  if (takes && status) fail_msg("%s, %s: %s", algorithm, text, convoy_last_error());
  if (takes) {
    test_fill_nan(c.value[2], c.count[2]);
    assert_int_equal(convoy_tensor_read(c.tensor[2], c.value[2], c.count[2]), CONVOY_OK);
    if (run.algorithm[0]) assert_string_equal(run.algorithm, algorithm);
    compare(&c, exact, algorithm);
  }
  end(&c);
  return takes;
}

static void every_row_computes_what_the_definition_says(void **state) {
  const char *name;
  int rows = 0;
  (void)state;
  for (int row = 0; (name = convoy_algorithm_name(context, row)); row++) {
    int ran = 0;
    if (!strstr(name, "matmul")) continue;
    assert_int_equal(convoy_set_algorithm(context, name), CONVOY_OK);
    for (int t = 0; t < TEXTS; t++) {
      ran += run_case(texts[t], 1, name);
      run_case(texts[t], 0, name);
    }
    print_message("%s: %d of %d\n", name, ran, TEXTS);
    assert_true(ran >= TEXTS / 2);
    if (!strchr(name, '_')) assert_int_equal(ran, TEXTS); /* one of each engine takes all */
    rows++;
  }
  assert_int_equal(convoy_set_algorithm(context, NULL), CONVOY_OK);
  assert_true(rows > 0);
}

/* A call may give its result to an operand, and the same call gives the same bits. */
static void results_may_replace_operands(void **state) {
  one_case c;
  (void)state;
  begin("matmul a65x65 b65x65t", test_fill_reals, &c);
  float *again = malloc((size_t)c.count[2] * sizeof *again);
  for (int i = 2; i >= 0; i--) {
    assert_int_equal(convoy_matmul(context, c.flags, c.tensor[0], c.tensor[1], c.tensor[i], NULL),
                     CONVOY_OK);
    assert_int_equal(convoy_tensor_read(c.tensor[i], again, c.count[2]), CONVOY_OK);
    if (i < 2) assert_memory_equal(again, c.value[2], (size_t)c.count[2] * sizeof *again);
    memcpy(c.value[2], again, (size_t)c.count[2] * sizeof *again);
    if (i < 2) convoy_tensor_write(c.tensor[i], c.value[i], c.count[i]);
  }
  compare(&c, 0, "in place");
  assert_int_equal(convoy_matmul(context, 0, c.tensor[0], c.tensor[0], c.tensor[0], NULL),
                   CONVOY_OK);
  free(again);
  end(&c);
}

static void infinities_and_nans_stay_where_they_belong(void **state) {
  one_case c;
  (void)state;
  begin("matmul a65x33 b33x65", test_fill_integers, &c);
  c.value[0][33] = NAN;              /* row 1 */
  c.value[0][2 * 33 + 5] = INFINITY; /* row 2 */
  for (int64_t i = 0; i < c.count[1]; i++) c.value[1][i] = 1.0f;
  convoy_tensor_write(c.tensor[0], c.value[0], c.count[0]);
  convoy_tensor_write(c.tensor[1], c.value[1], c.count[1]);
  assert_int_equal(convoy_matmul(context, 0, c.tensor[0], c.tensor[1], c.tensor[2], NULL),
                   CONVOY_OK);
  assert_int_equal(convoy_tensor_read(c.tensor[2], c.value[2], c.count[2]), CONVOY_OK);
  for (int64_t i = 0; i < c.count[2]; i++) {
    float got = c.value[2][i];
    int64_t row = i / 65;
    assert_true(row == 1 ? isnan(got) : row == 2 ? got == INFINITY : (int)isfinite(got));
  }
  end(&c);
}

static void expect(uint32_t flags, const convoy_tensor *a, const convoy_tensor *b, convoy_tensor *y,
                   convoy_status status, const char *sentence) {
  assert_int_equal(convoy_matmul(context, flags, a, b, y, NULL), status);
  if (!strstr(convoy_last_error(), sentence))
    fail_msg("\"%s\" is not in \"%s\"", sentence, convoy_last_error());
}

static void what_is_wrong_is_said(void **state) {
  one_case c, batched;
  convoy_tensor *whole, *line;
  convoy_run old = CONVOY_RUN_INIT;
  (void)state;
  begin("matmul a3x4 b4x5", test_fill_integers, &c);
  begin("matmul a2x3x4 b2x4x5", test_fill_integers, &batched);
  convoy_tensor *a = c.tensor[0], *b = c.tensor[1], *y = c.tensor[2];
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_INT32, 2, (int64_t[]){3, 4}, &whole),
                   CONVOY_OK);
  assert_int_equal(convoy_tensor_new(context, 1, (int64_t[]){4}, &line), CONVOY_OK);
  expect(0, NULL, b, y, CONVOY_ERR_ARGUMENT, "a is NULL");
  expect(0, a, NULL, y, CONVOY_ERR_ARGUMENT, "b is NULL");
  expect(0, a, b, NULL, CONVOY_ERR_ARGUMENT, "y is NULL");
  expect(8, a, b, y, CONVOY_ERR_ARGUMENT, "flags are 0x8");
  expect(0, a, a, y, CONVOY_ERR_SHAPE, "4 columns, b, 3 by 4, has 3 rows");
  expect(0, line, b, y, CONVOY_ERR_SHAPE, "a has 1 extents");
  expect(0, whole, b, y, CONVOY_ERR_ARGUMENT, "a is int32, not float32");
  expect(0, a, b, a, CONVOY_ERR_SHAPE, "y has 12 elements, not 15");
  expect(0, batched.tensor[0], b, y, CONVOY_ERR_SHAPE, "y has 15 elements, not 30");
  expect(CONVOY_MATMUL_SUM, batched.tensor[0], b, y, CONVOY_ERR_SHAPE, "to be summed");
  expect(CONVOY_MATMUL_SUM, batched.tensor[0], batched.tensor[1], batched.tensor[2],
         CONVOY_ERR_SHAPE, "y has 30 elements, not 15");
  expect(0, batched.tensor[0], batched.tensor[1], line, CONVOY_ERR_SHAPE, "elements, not 30");
  old.struct_size = 8;
  assert_int_equal(convoy_matmul(context, 0, a, b, y, &old), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_matmul(NULL, 0, a, b, y, NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_parse_matmul(NULL, &c.flags, c.dims, c.shapes), CONVOY_ERR_ARGUMENT);
  convoy_tensor_free(whole);
  convoy_tensor_free(line);
  end(&c);
  end(&batched);
}

int main(int argc, char **argv) {
  device_name = argc > 1 ? argv[1] : "cpu";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_computes_what_the_definition_says),
      cmocka_unit_test(results_may_replace_operands),
      cmocka_unit_test(infinities_and_nans_stay_where_they_belong),
      cmocka_unit_test(what_is_wrong_is_said),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
