/* Moves and resampling: boxes, axes, places and extents that do not fit, operands that are none;
 * outputs keep their values. */
#include "shared_context.h"

enum { COUNT = 24 };
static const int64_t x_shape[] = {2, 3, 4};

static convoy_tensor *tensor_of(convoy_dtype dtype, int32_t dims, const int64_t *shape) {
  convoy_tensor *made = NULL;
  assert_int_equal(convoy_tensor_new_typed(context, dtype, dims, shape, &made), CONVOY_OK);
  return made;
}

static convoy_tensor *counting(void) {
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = (float)i;
  convoy_tensor *made = tensor_of(CONVOY_FLOAT32, 3, x_shape);
  assert_int_equal(convoy_tensor_write(made, values, COUNT), CONVOY_OK);
  return made;
}

/* Nothing has changed, and the handle goes. */
static void close_counting(convoy_tensor *tensor) {
  float values[COUNT];
  assert_int_equal(convoy_tensor_read(tensor, values, COUNT), CONVOY_OK);
  for (int i = 0; i < COUNT; i++) assert_true(values[i] == (float)i);
  convoy_tensor_free(tensor);
}

static void refused(convoy_status got, convoy_status wanted, const char *mentions) {
  expect_refusal("move", got, wanted, mentions);
}

static void what_is_wrong_with_boxes_is_said(void **state) {
  const int64_t other[] = {24};
  convoy_tensor *x = counting(), *y = tensor_of(CONVOY_FLOAT32, 1, other);
  convoy_box box = CONVOY_BOX_INIT(1), bad;
  (void)state;
  box.extent[0] = box.count[0] = 24;
  box.stride[0] = 1;
#define REFUSED(change, status, sentence) \
  bad = box;                              \
  bad.change;                             \
  refused(convoy_copy(context, &bad, x, y, NULL), status, sentence)
  REFUSED(struct_size = 8, CONVOY_ERR_ARGUMENT, "box->struct_size is 8");
  REFUSED(axes = 0, CONVOY_ERR_ARGUMENT, "there are 0 axes; legal are 1 to 8");
  REFUSED(axes = 9, CONVOY_ERR_ARGUMENT, "there are 9 axes");
  REFUSED(extent[0] = -1, CONVOY_ERR_ARGUMENT, "of extent -1");
  REFUSED(begin[0] = 1, CONVOY_ERR_ARGUMENT, "places 1 + 1 k for 24 elements");
  REFUSED(step[0] = INT64_MAX, CONVOY_ERR_ARGUMENT, "places 0 + 9223372036854775807 k");
  REFUSED(stride[0] = 2, CONVOY_ERR_SHAPE, "elements 0 to 46 of x are taken, it has 24");
  REFUSED(offset = -1, CONVOY_ERR_SHAPE, "elements -1 to 22 of x");
  REFUSED(stride[0] = INT64_MIN, CONVOY_ERR_SHAPE, "overflow");
  REFUSED(offset = INT64_MAX, CONVOY_ERR_SHAPE, "overflow");
  REFUSED(extent[0] = 25, CONVOY_ERR_SHAPE, "y has 24 elements, not 25");
#undef REFUSED
  refused(convoy_copy(context, NULL, x, y, NULL), CONVOY_ERR_ARGUMENT, "box is NULL");
  refused(convoy_copy(context, &box, NULL, y, NULL), CONVOY_ERR_ARGUMENT, "x is NULL");
  refused(convoy_copy(context, &box, x, NULL, NULL), CONVOY_ERR_ARGUMENT, "y is NULL");
  refused(convoy_copy(NULL, &box, x, y, NULL), CONVOY_ERR_ARGUMENT, "context");
  close_counting(x);
  convoy_tensor_free(y);
}

static void what_is_wrong_with_operands_is_said(void **state) {
  static const int64_t zeros[3], ones[] = {1, 1, 1}, cut[] = {0, 1, 0}, far[] = {INT64_MAX, 0, 0};
  convoy_tensor *x = counting();
  const int64_t other[] = {24};
  convoy_tensor *flat = tensor_of(CONVOY_FLOAT32, 1, other);
  convoy_tensor *labels = tensor_of(CONVOY_INT32, 3, x_shape);
  const int32_t turned[] = {2, 1, 0}, same[] = {0, 1, 2}, twice[] = {0, 0, 1},
                far_axis[] = {0, 1, 3};
  (void)state;
  refused(convoy_permute(context, NULL, x, x, NULL), CONVOY_ERR_ARGUMENT, "axes is NULL");
  refused(convoy_permute(context, twice, x, x, NULL), CONVOY_ERR_ARGUMENT,
          "the axes are 0 0 1; each of 0 to 2 must come once");
  refused(convoy_permute(context, far_axis, x, x, NULL), CONVOY_ERR_ARGUMENT, "the axes are 0 1 3");
  refused(convoy_permute(context, turned, x, x, NULL), CONVOY_ERR_SHAPE,
          "extent 0 of y is 2, not 4");
  refused(convoy_permute(context, same, x, flat, NULL), CONVOY_ERR_SHAPE, "y has 1 extents, not 3");
  refused(convoy_permute(context, same, x, labels, NULL), CONVOY_ERR_ARGUMENT,
          "y is int32, not float32");
  refused(convoy_slice(context, NULL, ones, x, x, NULL), CONVOY_ERR_ARGUMENT, "begin is NULL");
  refused(convoy_slice(context, zeros, NULL, x, x, NULL), CONVOY_ERR_ARGUMENT, "step is NULL");
  refused(convoy_slice(context, cut, ones, x, x, NULL), CONVOY_ERR_SHAPE,
          "along axis 1 x has extent 3, and not all places 1 + 1 k for 3 elements");
  refused(convoy_slice(context, zeros, far, x, x, NULL), CONVOY_ERR_SHAPE,
          "places 0 + 9223372036854775807 k");
  refused(convoy_slice(context, zeros, ones, x, flat, NULL), CONVOY_ERR_SHAPE,
          "x has 3 extents, y has 1");
  refused(convoy_pad(context, CONVOY_PAD_CONSTANT, NULL, 0, x, x, NULL), CONVOY_ERR_ARGUMENT,
          "begin is NULL");
  refused(convoy_pad(context, (convoy_padding)9, zeros, 0, x, x, NULL), CONVOY_ERR_ARGUMENT,
          "mode is 9");
  refused(convoy_pad(context, CONVOY_PAD_CONSTANT, far, 0, x, x, NULL), CONVOY_ERR_ARGUMENT,
          "begin of axis 0 is 9223372036854775807");
  refused(convoy_pad(context, CONVOY_PAD_CONSTANT, zeros, 0, x, flat, NULL), CONVOY_ERR_SHAPE,
          "x has 3 extents, y has 1");
  close_counting(x);
  convoy_tensor_free(flat);
  convoy_tensor_free(labels);
}

static void what_is_wrong_with_concatenations_is_said(void **state) {
  const int64_t wide[] = {2, 3, 8}, flat_shape[] = {24};
  convoy_tensor *x = counting(), *y = tensor_of(CONVOY_FLOAT32, 3, wide);
  convoy_tensor *flat = tensor_of(CONVOY_FLOAT32, 1, flat_shape);
  convoy_tensor *labels = tensor_of(CONVOY_INT32, 3, wide);
  const convoy_tensor *const two[] = {x, x}, *const none[] = {x, NULL}, *const other[] = {x, flat};
  (void)state;
  refused(convoy_concatenate(context, 2, 2, NULL, y, NULL), CONVOY_ERR_ARGUMENT, "inputs is NULL");
  refused(convoy_concatenate(context, 2, 2, none, y, NULL), CONVOY_ERR_ARGUMENT, "input 1 is NULL");
  refused(convoy_concatenate(context, 2, 2, two, NULL, NULL), CONVOY_ERR_ARGUMENT, "y is NULL");
  refused(convoy_concatenate(context, 2, 0, two, y, NULL), CONVOY_ERR_ARGUMENT,
          "0 inputs; legal are 1 to 12");
  refused(convoy_concatenate(context, 2, -1, two, y, NULL), CONVOY_ERR_ARGUMENT, "-1 inputs");
  refused(convoy_concatenate(context, 3, 2, two, y, NULL), CONVOY_ERR_ARGUMENT,
          "along axis 3 of 3");
  refused(convoy_concatenate(context, -1, 2, two, y, NULL), CONVOY_ERR_ARGUMENT, "along axis -1");
  refused(convoy_concatenate(context, 1, 2, two, y, NULL), CONVOY_ERR_SHAPE,
          "extent 2 of input 0 is 4, of y 8");
  refused(convoy_concatenate(context, 2, 1, two, y, NULL), CONVOY_ERR_SHAPE,
          "along axis 2 the inputs have 4, y has 8");
  refused(convoy_concatenate(context, 2, 2, other, y, NULL), CONVOY_ERR_SHAPE,
          "input 1 has 1 extents, y has 3");
  refused(convoy_concatenate(context, 2, 2, two, labels, NULL), CONVOY_ERR_ARGUMENT,
          "y is int32, not float32");
  const convoy_tensor *many[13];
  for (int i = 0; i < 13; i++) many[i] = x;
  refused(convoy_concatenate(context, 2, 13, many, y, NULL), CONVOY_ERR_ARGUMENT, "13 inputs");
  close_counting(x);
  convoy_tensor_free(y);
  convoy_tensor_free(flat);
  convoy_tensor_free(labels);
}

static void what_is_wrong_with_resampling_is_said(void **state) {
  const int64_t other[] = {2, 4, 7}, flat_shape[] = {24};
  convoy_tensor *x = counting(), *y = tensor_of(CONVOY_FLOAT32, 3, other);
  convoy_tensor *flat = tensor_of(CONVOY_FLOAT32, 1, flat_shape);
  convoy_tensor *labels = tensor_of(CONVOY_INT32, 3, x_shape);
  const convoy_resampling how = CONVOY_RESAMPLING_INIT(1);
  convoy_resampling bad;
  (void)state;
#define REFUSED(change, status, sentence) \
  bad = how;                              \
  bad.change;                             \
  refused(convoy_resample(context, &bad, x, x, NULL), status, sentence)
  REFUSED(struct_size = 8, CONVOY_ERR_ARGUMENT, "how->struct_size is 8");
  REFUSED(rank = 0, CONVOY_ERR_ARGUMENT, "rank is 0; it may be 1 to 3");
  REFUSED(rank = 4, CONVOY_ERR_ARGUMENT, "rank is 4");
  REFUSED(rank = 2, CONVOY_ERR_SHAPE, "x has 3 extents, not 4");
  REFUSED(mode = -1, CONVOY_ERR_ARGUMENT, "mode is -1; legal are 0 to 3");
  REFUSED(mode = 4, CONVOY_ERR_ARGUMENT, "mode is 4");
  REFUSED(scale[0] = -2.0, CONVOY_ERR_ARGUMENT, "scale -2 of axis 0; it must be above 0");
  REFUSED(scale[0] = 1e300, CONVOY_ERR_ARGUMENT, "scale 1e+300");
  REFUSED(scale[0] = 1e-300, CONVOY_ERR_ARGUMENT, "scale 1e-300");
#undef REFUSED
  refused(convoy_resample(context, NULL, x, x, NULL), CONVOY_ERR_ARGUMENT, "how is NULL");
  refused(convoy_resample(context, &how, NULL, x, NULL), CONVOY_ERR_ARGUMENT, "x is NULL");
  refused(convoy_resample(context, &how, x, NULL, NULL), CONVOY_ERR_ARGUMENT, "y is NULL");
  refused(convoy_resample_backward(context, &how, NULL, x, NULL), CONVOY_ERR_ARGUMENT,
          "dy is NULL");
  refused(convoy_resample_backward(context, &how, x, NULL, NULL), CONVOY_ERR_ARGUMENT,
          "dx is NULL");
  refused(convoy_resample(context, &how, x, y, NULL), CONVOY_ERR_SHAPE,
          "extent 1 of x is 3, of y 4");
  refused(convoy_resample(context, &how, flat, x, NULL), CONVOY_ERR_SHAPE,
          "x has 1 extents, not 3");
  refused(convoy_resample_backward(context, &how, flat, x, NULL), CONVOY_ERR_SHAPE,
          "dy has 1 extents, not 3");
  refused(convoy_resample(context, &how, labels, x, NULL), CONVOY_ERR_ARGUMENT,
          "x is int32, not float32");
  close_counting(x);
  convoy_tensor_free(y);
  convoy_tensor_free(flat);
  convoy_tensor_free(labels);
}

static void tensors_of_others_are_refused(void **state) {
  static const int64_t zeros[3], ones[] = {1, 1, 1};
  static const int32_t same[] = {0, 1, 2};
  convoy_context *other = open_cpu();
  convoy_tensor *x = counting(), *foreign = NULL;
  convoy_run run = CONVOY_RUN_INIT;
  (void)state;
  assert_int_equal(convoy_tensor_new(other, 3, x_shape, &foreign), CONVOY_OK);
  const convoy_tensor *const inputs[] = {x, foreign};
  refused(convoy_permute(context, same, foreign, x, NULL), CONVOY_ERR_ARGUMENT, "another context");
  refused(convoy_slice(context, zeros, ones, x, foreign, NULL), CONVOY_ERR_ARGUMENT,
          "another context");
  refused(convoy_pad(other, CONVOY_PAD_CONSTANT, zeros, 0, x, foreign, NULL), CONVOY_ERR_ARGUMENT,
          "another context");
  refused(convoy_concatenate(context, 0, 2, inputs, x, NULL), CONVOY_ERR_ARGUMENT,
          "another context");
  run.struct_size = 8;
  refused(convoy_permute(context, same, x, x, &run), CONVOY_ERR_ARGUMENT, "run->struct_size is 8");
  convoy_close(other);
  refused(convoy_permute(other, same, foreign, foreign, NULL), CONVOY_ERR_ARGUMENT, "context");
  convoy_tensor_free(foreign);
  close_counting(x);
}

static void texts_that_are_none(void **state) {
  convoy_box box;
  convoy_dtype dtypes[CONVOY_MAX_OPERANDS];
  int64_t elements, shapes[CONVOY_MAX_OPERANDS][CONVOY_MAX_DIMS];
  int32_t count;
  (void)state;
  refused(convoy_parse_copy(NULL, &box, dtypes, &elements), CONVOY_ERR_ARGUMENT, "text is NULL");
  refused(convoy_parse_copy("copy x1 by0 y1", NULL, dtypes, &elements), CONVOY_ERR_ARGUMENT,
          "box is NULL");
  refused(convoy_parse_copy("copy x1 by0 y2 take3", &box, dtypes, &elements), CONVOY_ERR_ARGUMENT,
          "for 3 elements");
  refused(convoy_parse_concatenate("concatenate", &count, dtypes, shapes), CONVOY_ERR_ARGUMENT,
          "concatenate n");
  refused(convoy_parse_concatenate("concatenate n1 w1", NULL, dtypes, shapes), CONVOY_ERR_ARGUMENT,
          "count is NULL");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_wrong_with_boxes_is_said),
      cmocka_unit_test(what_is_wrong_with_operands_is_said),
      cmocka_unit_test(what_is_wrong_with_concatenations_is_said),
      cmocka_unit_test(what_is_wrong_with_resampling_is_said),
      cmocka_unit_test(tensors_of_others_are_refused),
      cmocka_unit_test(texts_that_are_none),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
