/* N = 0 is legal: y and dx have no elements, dw and db become 0 (beta 0) or stay (beta 1). */
#include <string.h>

#include "common/array.h"
#include "shared_context.h"

#define COUNT 6

static const convoy_conv conv = CONVOY_CONV_INIT(1);
static const int64_t x_shape[] = {0, 1, 5}, w_shape[] = {3, 1, 2}, y_shape[] = {0, 3, 4};

static test_array sealed(float value) {
  test_array array = test_array_new(COUNT);
  for (int i = 0; i < COUNT; i++) array.values[i] = value;
  test_array_seal(&array);
  return array;
}

static void expect_values(const test_array *array, int count, float value) {
  for (int i = 0; i < count; i++) assert_true(array->values[i] == value);
  for (int i = count; i < COUNT; i++) assert_true(array->values[i] == 7.0f);
}

static void forward_and_data_write_nothing(void **state) {
  (void)state;
  test_array in = sealed(1), w = sealed(2), out = sealed(7);
  convoy_run run = CONVOY_RUN_INIT;
  int64_t shape[3];
  assert_int_equal(convoy_output_shape(&conv, x_shape, w_shape, shape), CONVOY_OK);
  assert_memory_equal(shape, y_shape, sizeof shape);
  assert_int_equal(convoy_forward_host(context, &conv, x_shape, in.values, w_shape, w.values, NULL,
                                       NULL, out.values, &run),
                   CONVOY_OK);
  assert_int_equal(convoy_backward_data_host(context, &conv, x_shape, in.values, w_shape, w.values,
                                             0.0f, out.values, &run),
                   CONVOY_OK);
  assert_true(test_array_unchanged(&out));
  test_array_free(&in);
  test_array_free(&w);
  test_array_free(&out);
}

static void sums_over_the_batch_become_zero_or_stay(void **state) {
  (void)state;
  for (int beta = 0; beta <= 1; beta++) {
    test_array x = sealed(1), dy = sealed(2), dw = sealed(7), db = sealed(7);
    assert_int_equal(convoy_backward_weights_host(context, &conv, x_shape, x.values, w_shape,
                                                  dy.values, (float)beta, dw.values, NULL),
                     CONVOY_OK);
    assert_int_equal(convoy_backward_bias_host(context, &conv, x_shape, w_shape, dy.values,
                                               (float)beta, db.values, NULL),
                     CONVOY_OK);
    expect_values(&dw, 6, beta ? 7.0f : 0.0f);
    expect_values(&db, 3, beta ? 7.0f : 0.0f);
    test_array *const all[] = {&x, &dy, &dw, &db};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) test_array_free(all[i]);
  }
}

static convoy_tensor *filled(int32_t dims, const int64_t *shape, int64_t count, float value) {
  convoy_tensor *tensor = NULL;
  test_array values = sealed(value);
  assert_int_equal(convoy_tensor_new(context, dims, shape, &tensor), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(tensor, values.values, count), CONVOY_OK);
  test_array_free(&values);
  return tensor;
}

static void expect_tensor(convoy_tensor *tensor, int count, float value) {
  test_array read = sealed(7);
  assert_int_equal(convoy_tensor_read(tensor, read.values, count), CONVOY_OK);
  expect_values(&read, count, value);
  test_array_free(&read);
}

static void tensors_do_the_same(void **state) {
  (void)state;
  const int64_t k[] = {3};
  for (int beta = 0; beta <= 1; beta++) {
    convoy_tensor *x = filled(3, x_shape, 0, 0), *y = filled(3, y_shape, 0, 0);
    convoy_tensor *w = filled(3, w_shape, 6, 7), *b = filled(1, k, 3, 7);
    convoy_run run = CONVOY_RUN_INIT;
    assert_int_equal(convoy_forward(context, &conv, x, w, b, NULL, y, &run), CONVOY_OK);
    assert_int_equal(convoy_backward_data(context, &conv, y, w, (float)beta, x, NULL), CONVOY_OK);
    assert_int_equal(convoy_backward_weights(context, &conv, x, y, (float)beta, w, NULL),
                     CONVOY_OK);
    assert_int_equal(convoy_backward_bias(context, &conv, y, (float)beta, b, NULL), CONVOY_OK);
    expect_tensor(w, 6, beta ? 7.0f : 0.0f);
    expect_tensor(b, 3, beta ? 7.0f : 0.0f);
    convoy_tensor *const all[] = {x, y, w, b};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) convoy_tensor_free(all[i]);
  }
}

/* --------------------------------------------------------------------------------- plans */

static void expect_same_plan(const char *name, const convoy_conv *layer, convoy_direction direction,
                             const int64_t *none, const int64_t *filter) {
  convoy_plan empty = {.struct_size = sizeof empty}, single = {.struct_size = sizeof single};
  int64_t one[CONVOY_MAX_DIMS];
  memcpy(one, none, 4 * sizeof *one);
  one[0] = 1;
  assert_int_equal(convoy_plan_problem(context, name, layer, direction, none, filter, &empty),
                   CONVOY_OK);
  assert_int_equal(convoy_plan_problem(context, name, layer, direction, one, filter, &single),
                   CONVOY_OK);
  assert_int_equal(empty.accepted, single.accepted);
  assert_string_equal(empty.algorithm, single.algorithm);
  assert_int_equal(empty.workspace_bytes, single.workspace_bytes);
}

/* Of every row and of the context's choice: those of one image. */
static void plans_are_those_of_one_image(void **state) {
  (void)state;
  static const int64_t x[][4] = {{0, 64, 8, 8}, {0, 3, 64, 64}, {0, 16, 8, 8}, {0, 64, 8, 8}};
  static const int64_t w[][4] = {{64, 64, 3, 3}, {16, 3, 3, 3}, {16, 1, 3, 3}, {64, 64, 1, 1}};
  for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
    convoy_conv layer = CONVOY_CONV_INIT(2);
    layer.groups = x[i][1] / w[i][1];
    for (int k = 0; k < 2; k++) layer.pad_begin[k] = layer.pad_end[k] = w[i][2] / 2;
    for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_BIAS; d++) {
      const char *name = NULL;
      int32_t row = 0;
      do expect_same_plan(name, &layer, (convoy_direction)d, x[i], w[i]);
      while ((name = convoy_algorithm_name(context, row++)));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forward_and_data_write_nothing),
      cmocka_unit_test(sums_over_the_batch_become_zero_or_stay),
      cmocka_unit_test(tensors_do_the_same),
      cmocka_unit_test(plans_are_those_of_one_image),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
