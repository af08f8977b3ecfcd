/* Tensors: wrong shapes, foreign and closed contexts, wrong counts; outputs keep their values. */
#include <math.h>
#include <stdlib.h>

#include "shared_context.h"

#define MOST 64

static const convoy_conv conv = CONVOY_CONV_INIT(1);
static const int64_t x_shape[] = {2, 1, 5}, w_shape[] = {3, 1, 2}, y_shape[] = {2, 3, 4};

static int64_t count_of(const convoy_tensor *tensor) {
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  int32_t dims;
  assert_int_equal(convoy_tensor_shape(tensor, shape, &dims), CONVOY_OK);
  for (int32_t i = 0; i < dims; i++) count *= shape[i];
  return count;
}

/* A new tensor, all elements `value`. */
static convoy_tensor *filled(convoy_context *owner, int32_t dims, const int64_t *shape,
                             float value) {
  convoy_tensor *tensor = NULL;
  float values[MOST];
  for (int i = 0; i < MOST; i++) values[i] = value;
  if (convoy_tensor_new(owner, dims, shape, &tensor) != CONVOY_OK ||
      convoy_tensor_write(tensor, values, count_of(tensor)) != CONVOY_OK)
    fail_msg("%s", convoy_last_error());
  return tensor;
}

static void expect_all(convoy_tensor *tensor, float value) {
  float values[MOST];
  const int64_t count = count_of(tensor);
  assert_int_equal(convoy_tensor_read(tensor, values, count), CONVOY_OK);
  for (int64_t i = 0; i < count; i++) assert_true(values[i] == value);
}

/* Tensors of a legal forward call and one of every wrong shape. */
typedef struct set {
  convoy_tensor *x, *w, *y, *bias, *flat, *other;
} set;

static set make_set(convoy_context *owner) {
  const int64_t flat[] = {2, 5}, other[] = {2, 3, 5}, k[] = {3};
  return (set){filled(owner, 3, x_shape, 1), filled(owner, 3, w_shape, 2),
               filled(owner, 3, y_shape, 7), filled(owner, 1, k, 1),
               filled(owner, 2, flat, 1),    filled(owner, 3, other, 7)};
}

static void free_set(set *s) {
  convoy_tensor *const all[] = {s->x, s->w, s->y, s->bias, s->flat, s->other};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) convoy_tensor_free(all[i]);
}

static void mismatched_tensors_are_refused(void **state) {
  (void)state;
  set s = make_set(context);
  convoy_run run = CONVOY_RUN_INIT;
  expect_refusal("x of two dimensions",
                 convoy_forward(context, &conv, s.flat, s.w, NULL, NULL, s.y, &run),
                 CONVOY_ERR_SHAPE, "x has 2 extents, not 3");
  expect_refusal("x with 3 channels",
                 convoy_forward(context, &conv, s.other, s.w, NULL, NULL, s.y, NULL),
                 CONVOY_ERR_SHAPE, "3");
  expect_refusal("y too wide", convoy_forward(context, &conv, s.x, s.w, NULL, NULL, s.other, NULL),
                 CONVOY_ERR_SHAPE, "5");
  expect_refusal("bias of two dimensions",
                 convoy_forward(context, &conv, s.x, s.w, s.flat, NULL, s.y, NULL),
                 CONVOY_ERR_SHAPE, "bias has 2 extents, not 1");
  expect_refusal("dx of w's shape", convoy_backward_data(context, &conv, s.y, s.w, 0, s.w, NULL),
                 CONVOY_ERR_SHAPE, "3");
  expect_refusal("dw of y's shape", convoy_backward_weights(context, &conv, s.x, s.y, 0, s.y, NULL),
                 CONVOY_ERR_SHAPE, "x has 1 channels, but w is for 3");
  expect_refusal("db of x's shape", convoy_backward_bias(context, &conv, s.y, 0, s.x, NULL),
                 CONVOY_ERR_SHAPE, "3");
  expect_all(s.y, 7);
  expect_all(s.other, 7);
  expect_all(s.w, 2);
  free_set(&s);
}

static void bad_arguments_of_operations_are_refused(void **state) {
  (void)state;
  set s = make_set(context);
  convoy_run small = CONVOY_RUN_INIT;
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  small.struct_size = 3;
  epilogue.activation = -1;
  expect_refusal("no conv", convoy_forward(context, NULL, s.x, s.w, NULL, NULL, s.y, NULL),
                 CONVOY_ERR_ARGUMENT, "conv");
  expect_refusal("no x", convoy_forward(context, &conv, NULL, s.w, NULL, NULL, s.y, NULL),
                 CONVOY_ERR_ARGUMENT, "x");
  expect_refusal("no w", convoy_forward(context, &conv, s.x, NULL, NULL, NULL, s.y, NULL),
                 CONVOY_ERR_ARGUMENT, "w");
  expect_refusal("no y", convoy_forward(context, &conv, s.x, s.w, NULL, NULL, NULL, NULL),
                 CONVOY_ERR_ARGUMENT, "y");
  expect_refusal("small run", convoy_forward(context, &conv, s.x, s.w, NULL, NULL, s.y, &small),
                 CONVOY_ERR_ARGUMENT, "3");
  expect_refusal("activation", convoy_forward(context, &conv, s.x, s.w, NULL, &epilogue, s.y, NULL),
                 CONVOY_ERR_ARGUMENT, "-1");
  expect_refusal("beta", convoy_backward_data(context, &conv, s.y, s.w, 0.5f, s.x, NULL),
                 CONVOY_ERR_ARGUMENT, "0.5");
  expect_refusal("beta of db", convoy_backward_bias(context, &conv, s.y, NAN, s.bias, NULL),
                 CONVOY_ERR_ARGUMENT, "nan");
  expect_all(s.y, 7);
  expect_all(s.x, 1);
  free_set(&s);
}

static void foreign_tensors_are_refused(void **state) {
  (void)state;
  convoy_context *elsewhere = open_cpu();
  set mine = make_set(context), foreign = make_set(elsewhere);
  convoy_tensor *const given[][4] = {{foreign.x, mine.w, mine.bias, mine.y},
                                     {mine.x, foreign.w, mine.bias, mine.y},
                                     {mine.x, mine.w, foreign.bias, mine.y},
                                     {mine.x, mine.w, mine.bias, foreign.y}};
  for (size_t i = 0; i < 4; i++)
    expect_refusal("foreign tensor",
                   convoy_forward(context, &conv, given[i][0], given[i][1], given[i][2], NULL,
                                  given[i][3], NULL),
                   CONVOY_ERR_ARGUMENT, "another context");
  expect_all(mine.y, 7);
  expect_all(foreign.y, 7);
  free_set(&mine);
  free_set(&foreign);
  convoy_close(elsewhere);
}

/* The tensors outlive their context: freeing them is all that is left. */
static void after_close_tensors_can_only_be_freed(void **state) {
  (void)state;
  convoy_context *closed = open_cpu();
  set s = make_set(closed);
  float values[MOST] = {3};
  int64_t shape[CONVOY_MAX_DIMS];
  int32_t dims;
  convoy_close(closed);
  const convoy_status got[] = {
      convoy_forward(closed, &conv, s.x, s.w, NULL, NULL, s.y, NULL),
      convoy_forward(context, &conv, s.x, s.w, NULL, NULL, s.y, NULL),
      convoy_tensor_read(s.x, values, 10),
      convoy_tensor_write(s.x, values, 10),
      convoy_tensor_shape(s.x, shape, &dims),
      convoy_commit(s.x),
      convoy_sync(closed),
  };
  for (size_t i = 0; i < sizeof got / sizeof got[0]; i++)
    assert_int_equal(got[i], CONVOY_ERR_ARGUMENT);
  assert_true(values[0] == 3);
  free_set(&s);
}

static void reading_and_writing_check_their_counts(void **state) {
  (void)state;
  convoy_tensor *x = filled(context, 3, x_shape, 1);
  float values[MOST] = {3};
  expect_refusal("read", convoy_tensor_read(x, values, 9), CONVOY_ERR_SHAPE, "9");
  expect_refusal("read too much", convoy_tensor_read(x, values, 11), CONVOY_ERR_SHAPE, "11");
  expect_refusal("write", convoy_tensor_write(x, values, 9), CONVOY_ERR_SHAPE, "9");
  expect_refusal("write -1", convoy_tensor_write(x, values, -1), CONVOY_ERR_SHAPE, "-1");
  expect_refusal("read to NULL", convoy_tensor_read(x, NULL, 10), CONVOY_ERR_ARGUMENT, "NULL");
  expect_refusal("write NULL", convoy_tensor_write(x, NULL, 10), CONVOY_ERR_ARGUMENT, "NULL");
  expect_refusal("read NULL", convoy_tensor_read(NULL, values, 10), CONVOY_ERR_ARGUMENT, "NULL");
  expect_refusal("commit NULL", convoy_commit(NULL), CONVOY_ERR_ARGUMENT, "NULL");
  assert_true(values[0] == 3);
  expect_all(x, 1);
  convoy_tensor_free(x);
  convoy_tensor_free(NULL);
}

static void shapes_of_new_tensors_are_checked(void **state) {
  (void)state;
  static convoy_tensor *const before = NULL;
  convoy_tensor *made = before;
  const int64_t good[] = {2, 3, 4, 5, 6}, negative[] = {2, -3};
  const int64_t huge[] = {INT64_MAX / 4, 2}, largest[] = {INT64_MAX};
  expect_refusal("no dims", convoy_tensor_new(context, 0, good, &made), CONVOY_ERR_ARGUMENT, "0");
  expect_refusal("6 dims", convoy_tensor_new(context, 6, good, &made), CONVOY_ERR_ARGUMENT, "6");
  expect_refusal("NULL shape", convoy_tensor_new(context, 1, NULL, &made), CONVOY_ERR_ARGUMENT,
                 "shape");
  expect_refusal("NULL out", convoy_tensor_new(context, 1, good, NULL), CONVOY_ERR_ARGUMENT, "out");
  expect_refusal("NULL context", convoy_tensor_new(NULL, 1, good, &made), CONVOY_ERR_ARGUMENT,
                 "context");
  expect_refusal("negative", convoy_tensor_new(context, 2, negative, &made), CONVOY_ERR_SHAPE,
                 "-3");
  expect_refusal("bytes", convoy_tensor_new(context, 2, huge, &made), CONVOY_ERR_SHAPE, "2");
  expect_refusal("bytes of one", convoy_tensor_new(context, 1, largest, &made), CONVOY_ERR_SHAPE,
                 "9223372036854775807");
  assert_null(made);
}

static void new_tensors_are_zero_and_know_their_shape(void **state) {
  (void)state;
  convoy_tensor *tensor = NULL;
  int64_t shape[CONVOY_MAX_DIMS];
  int32_t dims;
  const int64_t given[] = {2, 3, 4}, expected[] = {2, 3, 4, 1, 1};
  assert_int_equal(convoy_tensor_new(context, 3, given, &tensor), CONVOY_OK);
  assert_int_equal(convoy_tensor_shape(tensor, shape, &dims), CONVOY_OK);
  assert_int_equal(dims, 3);
  assert_memory_equal(shape, expected, sizeof expected);
  expect_all(tensor, 0);
  convoy_tensor_free(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mismatched_tensors_are_refused),
      cmocka_unit_test(bad_arguments_of_operations_are_refused),
      cmocka_unit_test(foreign_tensors_are_refused),
      cmocka_unit_test(after_close_tensors_can_only_be_freed),
      cmocka_unit_test(reading_and_writing_check_their_counts),
      cmocka_unit_test(shapes_of_new_tensors_are_checked),
      cmocka_unit_test(new_tensors_are_zero_and_know_their_shape),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
