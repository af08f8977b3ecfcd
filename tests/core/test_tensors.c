/* Tensors: order, immutability, sums, shapes, and the memory they leave behind. */
#include <string.h>

#include "common/cmocka.h"
#include "core/exec/store.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/step.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 3};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10}, y[] = {21, 32, 43};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

/* Each test runs on both kinds of engine. */
static const char *const devices[] = {"cpu", "fake"};

typedef void body(convoy_context *context);

static void on_both(body *test) {
  for (size_t i = 0; i < CVY_COUNT(devices); i++) {
    fake_reset();
    convoy_context *context = open_named(devices[i], CONVOY_NO);
    test(context);
    assert_null(context->stores); /* every test frees its tensors */
    convoy_close(context);
    assert_int_equal(fake_seen.arrays, 0);
  }
}

static void free_all(convoy_tensor *const *tensors, size_t count) {
  for (size_t i = 0; i < count; i++) convoy_tensor_free(tensors[i]);
}

/* ----------------------------------------------------------------------------- immutability */

static void rewritten(convoy_context *context) {
  convoy_tensor *const t[] = {tensor_of(context, x_shape, x), tensor_of(context, w_shape, w),
                              tensor_of(context, y_shape, NULL), tensor_of(context, y_shape, NULL)};
  const float other[] = {0, 1, 0, 0}, y_other[] = {10, 1, 0};
  float source[4];
  memcpy(source, other, sizeof(source));
  assert_int_equal(convoy_forward(context, &conv, t[0], t[1], NULL, NULL, t[2], NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(t[0], source, 4), CONVOY_OK);
  memset(source, 0x7f, sizeof(source)); /* writing has copied */
  assert_int_equal(convoy_forward(context, &conv, t[0], t[1], NULL, NULL, t[3], NULL), CONVOY_OK);
  check_tensor(t[3], y_other);
  check_tensor(t[2], y);
  check_tensor(t[0], other);
  free_all(t, 4);
}

static void test_rewritten_while_read(void **state) {
  (void)state;
  on_both(rewritten);
}

static void freed_inputs(convoy_context *context) {
  convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
  convoy_tensor *ty = tensor_of(context, y_shape, NULL);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  convoy_tensor_free(tx);
  convoy_tensor_free(tw);
  check_tensor(ty, y);
  convoy_tensor_free(ty);
}

static void test_inputs_freed_before_reading(void **state) {
  (void)state;
  on_both(freed_inputs);
}

/* The same tensor is input and output; the chain is long enough to be cut. */
static void in_place(convoy_context *context) {
  convoy_conv same = CONVOY_CONV_INIT(1);
  same.pad_begin[0] = 1; /* with two taps the extent stays */
  const float shift[] = {1, 0};
  float wanted[70] = {0};
  int64_t shape[] = {1, 1, 70};
  wanted[0] = 5;
  convoy_tensor *tx = NULL, *tw = tensor_of(context, w_shape, shift);
  assert_int_equal(convoy_tensor_new(context, 3, shape, &tx), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(tx, wanted, 70), CONVOY_OK);
  for (int i = 0; i < 69; i++) {
    assert_int_equal(convoy_forward(context, &same, tx, tw, NULL, NULL, tx, NULL), CONVOY_OK);
  }
  float values[70];
  wanted[0] = 0;
  wanted[69] = 5;
  assert_int_equal(convoy_tensor_read(tx, values, 70), CONVOY_OK);
  check_values(values, wanted, 70);
  convoy_tensor_free(tx);
  convoy_tensor_free(tw);
}

static void test_input_is_output(void **state) {
  (void)state;
  on_both(in_place);
}

/* ------------------------------------------------------------------------------------ sums */

static void sums(convoy_context *context) {
  const float dy[] = {1, 0, 2};
  convoy_tensor *const t[] = {tensor_of(context, x_shape, x), tensor_of(context, y_shape, dy),
                              tensor_of(context, w_shape, NULL)};
  for (int i = 0; i < 30; i++) { /* a fresh tensor is zeros: beta 1 from the start */
    assert_int_equal(convoy_backward_weights(context, &conv, t[0], t[1], 1, t[2], NULL), CONVOY_OK);
  }
  check_tensor(t[2], (const float[]){30 * 7, 30 * 10});
  assert_int_equal(convoy_backward_weights(context, &conv, t[0], t[1], 0, t[2], NULL), CONVOY_OK);
  check_tensor(t[2], (const float[]){7, 10});
  assert_int_equal(convoy_backward_weights(context, &conv, t[0], t[1], 1, t[2], NULL), CONVOY_OK);
  check_tensor(t[2], (const float[]){14, 20});
  free_all(t, 3);
}

static void test_sums(void **state) {
  (void)state;
  on_both(sums);
}

static void transposed(convoy_context *context) {
  convoy_conv up = CONVOY_CONV_INIT(1);
  up.transposed = 1;
  up.stride[0] = 2;
  const int64_t in[] = {1, 1, 2}, filter[] = {1, 1, 3}, out[] = {1, 1, 5};
  const float a[] = {1, 10}, f[] = {1, 2, 3}, dy[] = {1, 0, 0, 1, 0};
  convoy_tensor *const t[] = {tensor_of(context, in, a), tensor_of(context, filter, f),
                              tensor_of(context, out, NULL), tensor_of(context, out, dy),
                              tensor_of(context, filter, NULL)};
  assert_int_equal(convoy_forward(context, &up, t[0], t[1], NULL, NULL, t[2], NULL), CONVOY_OK);
  check_tensor(t[2], (const float[]){1, 2, 13, 20, 30});
  assert_int_equal(convoy_backward_weights(context, &up, t[0], t[3], 0, t[4], NULL), CONVOY_OK);
  check_tensor(t[4], (const float[]){1, 10, 0});
  float dw[3];
  assert_int_equal(convoy_backward_weights_host(context, &up, in, a, filter, dy, 0, dw, NULL),
                   CONVOY_OK);
  check_values(dw, (const float[]){1, 10, 0}, 3);
  free_all(t, 5);
}

static void test_transposed(void **state) {
  (void)state;
  on_both(transposed);
}

/* ------------------------------------------------------------------------- zeros and nothing */

static void born_zero(convoy_context *context) {
  convoy_tensor *const t[] = {tensor_of(context, x_shape, NULL), tensor_of(context, w_shape, w),
                              tensor_of(context, y_shape, y)};
  assert_int_equal(convoy_forward(context, &conv, t[0], t[1], NULL, NULL, t[2], NULL), CONVOY_OK);
  check_tensor(t[2], (const float[]){0, 0, 0});
  check_tensor(t[0], (const float[]){0, 0, 0, 0});
  free_all(t, 3);
}

static void test_born_zero(void **state) {
  (void)state;
  on_both(born_zero);
}

static void no_images(convoy_context *context) {
  const int64_t x0[] = {0, 1, 4}, y0[] = {0, 1, 3};
  convoy_tensor *tx = tensor_of(context, x0, NULL), *ty = tensor_of(context, y0, NULL);
  convoy_tensor *tw = tensor_of(context, w_shape, w);
  convoy_run run = CONVOY_RUN_INIT;
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, &run), CONVOY_OK);
  assert_int_equal(run.attempts, 1);
  assert_string_equal(run.algorithm, "");
  assert_int_equal(convoy_tensor_read(ty, &(float){0}, 0), CONVOY_OK);
  assert_int_equal(convoy_backward_weights(context, &conv, tx, ty, 1, tw, &run), CONVOY_OK);
  check_tensor(tw, w);
  assert_int_equal(convoy_backward_weights(context, &conv, tx, ty, 0, tw, &run), CONVOY_OK);
  check_tensor(tw, (const float[]){0, 0});

  float dw[] = {1, 2}, one = 0;
  assert_int_equal(
      convoy_backward_weights_host(context, &conv, x0, &one, w_shape, &one, 1, dw, &run),
      CONVOY_OK);
  check_values(dw, (const float[]){1, 2}, 2);
  assert_int_equal(
      convoy_backward_weights_host(context, &conv, x0, &one, w_shape, &one, 0, dw, NULL),
      CONVOY_OK);
  check_values(dw, (const float[]){0, 0}, 2);
  float db = 9;
  assert_int_equal(convoy_backward_bias_host(context, &conv, x0, w_shape, &one, 0, &db, NULL),
                   CONVOY_OK);
  assert_true(db == 0);
  assert_int_equal(
      convoy_forward_host(context, &conv, x0, &one, w_shape, w, NULL, NULL, &one, NULL), CONVOY_OK);
  convoy_tensor *const all[] = {tx, ty, tw};
  free_all(all, 3);
}

static void test_no_images(void **state) {
  (void)state;
  on_both(no_images);
}

/* --------------------------------------------------------------------------------- refusals */

static void wrong_shapes(convoy_context *context) {
  const int64_t flat[] = {3};
  convoy_tensor *const t[] = {tensor_of(context, x_shape, x), tensor_of(context, w_shape, w),
                              tensor_of(context, y_shape, y)};
  convoy_tensor *db = NULL;
  assert_int_equal(convoy_tensor_new(context, 1, flat, &db), CONVOY_OK);
  /* y of the wrong extent, of the wrong rank, bias of the wrong count, db likewise */
  assert_int_equal(convoy_forward(context, &conv, t[0], t[1], NULL, NULL, t[0], NULL),
                   CONVOY_ERR_SHAPE);
  assert_non_null(strstr(convoy_last_error(), "extent 2 of y is 4, not 3"));
  assert_int_equal(convoy_forward(context, &conv, t[0], t[1], NULL, NULL, db, NULL),
                   CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_forward(context, &conv, t[0], t[1], db, NULL, t[2], NULL),
                   CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_backward_bias(context, &conv, t[2], 0, db, NULL), CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_backward_bias(context, &conv, db, 0, db, NULL), CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_forward(context, &conv, t[0], db, NULL, NULL, t[2], NULL),
                   CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_tensor_read(t[0], &(float){0}, 1), CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_tensor_write(t[0], x, 3), CONVOY_ERR_SHAPE);
  check_tensor(t[2], y);
  free_all(t, 3);
  convoy_tensor_free(db);
}

static void test_wrong_shapes(void **state) {
  (void)state;
  on_both(wrong_shapes);
}

static void test_illegal_tensors(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_named("cpu", CONVOY_NO);
  convoy_tensor *tensor = NULL;
  const int64_t negative[] = {2, -1}, huge[] = {INT64_MAX / 2, 2}, empty[] = {0, INT64_MAX / 4, 4};
  assert_int_equal(convoy_tensor_new(context, 0, negative, &tensor), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_tensor_new(context, 6, negative, &tensor), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_tensor_new(context, 2, negative, &tensor), CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_tensor_new(context, 2, huge, &tensor), CONVOY_ERR_SHAPE);
  assert_int_equal(convoy_tensor_new(context, 3, empty, &tensor), CONVOY_ERR_SHAPE);
  assert_null(tensor);
  convoy_close(context);
}

static void test_foreign_tensor(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_named("cpu", CONVOY_NO), *other = open_named("cpu", CONVOY_NO);
  convoy_tensor *const t[] = {tensor_of(context, x_shape, x), tensor_of(other, w_shape, w),
                              tensor_of(context, y_shape, y)};
  assert_int_equal(convoy_forward(context, &conv, t[0], t[1], NULL, NULL, t[2], NULL),
                   CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(convoy_last_error(), "another context"));
  free_all(t, 3);
  convoy_close(context);
  convoy_close(other);
}

/* ----------------------------------------------------------------------------------- memory */

/* After warm-up nothing grows, on host or device, whatever way a step is run. */
static void flat(convoy_context *context) {
  static step_result result;
  convoy_health before = {0}, after;
  for (int i = 0; i <= 1000; i++) {
    assert_int_equal(i % 2 ? step_tensors(context, &result) : step_host(context, &result),
                     CONVOY_OK);
    if (i == 10) before = health_of(context);
  }
  after = health_of(context);
  assert_int_equal(after.host_bytes, before.host_bytes);
  assert_int_equal(after.device_bytes, before.device_bytes);
  assert_int_equal(after.operations, 8008);
  assert_int_equal(after.device_operations, 8008);
}

static void test_memory_is_flat(void **state) {
  (void)state;
  on_both(flat);
}

/* Nobody reads, the chain never ends: what it holds on to is bounded all the same. */
static void test_endless_chain_is_flat(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_named("fake", CONVOY_NO);
  convoy_conv same = CONVOY_CONV_INIT(1);
  same.pad_begin[0] = 1;
  convoy_tensor *const t[] = {tensor_of(context, x_shape, x), tensor_of(context, w_shape, NULL),
                              tensor_of(context, w_shape, NULL)};
  const float dy_values[] = {1, 1, 1};
  convoy_tensor *dy = tensor_of(context, y_shape, dy_values);
  for (int i = 0; i < 500; i++) {
    assert_int_equal(convoy_forward(context, &same, t[0], t[1], NULL, NULL, t[0], NULL), CONVOY_OK);
    assert_int_equal(convoy_backward_weights(context, &conv, t[0], dy, 1, t[2], NULL), CONVOY_OK);
    assert_true(fake_seen.arrays <= 100);
  }
  free_all(t, 3);
  convoy_tensor_free(dy);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rewritten_while_read),
      cmocka_unit_test(test_inputs_freed_before_reading),
      cmocka_unit_test(test_input_is_output),
      cmocka_unit_test(test_sums),
      cmocka_unit_test(test_transposed),
      cmocka_unit_test(test_born_zero),
      cmocka_unit_test(test_no_images),
      cmocka_unit_test(test_wrong_shapes),
      cmocka_unit_test(test_illegal_tensors),
      cmocka_unit_test(test_foreign_tensor),
      cmocka_unit_test(test_memory_is_flat),
      cmocka_unit_test(test_endless_chain_is_flat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
