/* Resampling and its gradients on the device of the first argument, by every row that takes them,
 * against the reference: all modes and ranks, up and down, extents and scales that do not go with
 * each other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "common/operation.h"

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

/* Each is carried out both ways and in all modes; steps are left out where ends are aligned. */
static const char *const shapes[] = {
    "n2c3h5w8 h10w16",
    "n1c2h6w6 h12w12",
    "n1c2h5w7 h10w14",
    "n1c3h20w24 h40w48",
    "n2c3h5w7 h5w7",
    "n2c3h9w11 h4w5",
    "n2c3h9w11 h17w28",
    "n1c1h1w1 h7w9",
    "n1c2h7w9 h1w1",
    "n3c2w31 w77",
    "n3c2w77 w31",
    "n3c2w10 w20",
    "n1c2z3h4w5 z6h8w10",
    "n1c2z5h4w7 z2h9w12",
    "n1c2h5w8 h10w16 step0.47619048,0.5",
    "n1c2h5w8 h11w17 step0.5,0.25",
    "n1c2h5w8 h11w17 step0.75,2.5",
    "n1c2w2 w100 step1",
    "n1c2w8 w4 step1000000",
    "n1c2w4000 w5000",
    "n0c3h5w8 h10w16",
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void run_text(const char *text, const char *algorithm) {
  operation what;
  verdict result;
  convoy_tensor *tensor[CONVOY_MAX_OPERANDS];
  convoy_run run = CONVOY_RUN_INIT;
  if (operation_read(text, &what)) fail_msg("%s: %s", text, convoy_last_error());
  assert_true(operation_fill(&what, fill_real, 0.0f));
  assert_int_equal(operation_tensors(context, &what, tensor), CONVOY_OK);
  if (operation_apply(context, &what, tensor, &run)) fail_msg("%s: %s", text, convoy_last_error());
  if (run.algorithm[0]) assert_string_equal(run.algorithm, algorithm);
  assert_int_equal(operation_fetch(&what, tensor), CONVOY_OK);
  operation_drop(&what, tensor);
  if (what.count[1] > 0) {
    assert_true(operation_compare_reference(&what, INT64_MAX, &result));
    if (result.wrong)
      fail_msg("%s, %s: [%lld] is %.9g, not %.9g", algorithm, text, (long long)result.index,
               result.got, result.expected);
  }
  operation_free(&what);
}

/* A mode of a shape, whose word stands before its steps. */
static bool write_text(const char *shape, int mode, const char *way, char *text, size_t size) {
  static const char *const words[] = {"", " exact", "", " aligned"};
  const char *steps = strstr(shape, " step");
  int length = steps ? (int)(steps - shape) : (int)strlen(shape);
  if (steps && mode == CONVOY_LINEAR_ALIGNED) return false;
  snprintf(text, size, "resample_%s%s %.*s%s%s", mode < CONVOY_LINEAR ? "nearest" : "linear", way,
           length, shape, words[mode], steps ? steps : "");
  return true;
}

static void every_row_computes_what_the_definition_says(void **state) {
  static const char *const ways[] = {"", "_backward"};
  const char *name;
  int rows = 0;
  (void)state;
  for (int row = 0; (name = convoy_algorithm_name(context, row)); row++) {
    if (!strstr(name, ".resample")) continue;
    assert_int_equal(convoy_set_algorithm(context, name), CONVOY_OK);
    for (int s = 0; s < SHAPES; s++) {
      for (int mode = 0; mode < CONVOY_INTERPOLATIONS; mode++) {
        for (int way = 0; way < 2; way++) {
          char text[128];
          if (write_text(shapes[s], mode, ways[way], text, sizeof text)) run_text(text, name);
        }
      }
    }
    rows++;
  }
  assert_int_equal(convoy_set_algorithm(context, NULL), CONVOY_OK);
  assert_true(rows > 0);
}

static convoy_tensor *tensor_of(int32_t dims, const int64_t *shape, const void *values,
                                int64_t count) {
  convoy_tensor *made = NULL;
  assert_int_equal(convoy_tensor_new(context, dims, shape, &made), CONVOY_OK);
  if (values) assert_int_equal(convoy_tensor_write(made, values, count), CONVOY_OK);
  return made;
}

/* Nearest elements are moved to the bit, doubled rows as well as others. */
static void bits_are_moved(void **state) {
  const uint32_t bits[] = {0x7fc00000, 0xffc12345, 1, 0x80000001, 0x80000000, 0x7f800000};
  const int64_t x_shape[] = {1, 1, 6};
  (void)state;
  for (int64_t extent = 9; extent <= 12; extent += 3) {
    const int64_t y_shape[] = {1, 1, extent};
    uint32_t got[12];
    const convoy_resampling how = CONVOY_RESAMPLING_INIT(1);
    convoy_tensor *x = tensor_of(3, x_shape, bits, 6), *y = tensor_of(3, y_shape, NULL, 0);
    assert_int_equal(convoy_resample(context, &how, x, y, NULL), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(y, got, extent), CONVOY_OK);
    for (int64_t i = 0; i < extent; i++) assert_int_equal(got[i], bits[i * 6 / extent]);
    convoy_tensor_free(x);
    convoy_tensor_free(y);
  }
}

/* Both neighbours take part, also one of weight 0, as in PyTorch. */
static void infinities_reach_their_neighbours(void **state) {
  const float x[] = {1.0f, INFINITY, 2.0f};
  const int64_t shape[] = {1, 1, 3};
  float y[3];
  convoy_resampling how = CONVOY_RESAMPLING_INIT(1);
  how.mode = CONVOY_LINEAR;
  (void)state;
  convoy_tensor *tensor = tensor_of(3, shape, x, 3);
  assert_int_equal(convoy_resample(context, &how, tensor, tensor, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(tensor, y, 3), CONVOY_OK);
  assert_true(isnan(y[0]) && isinf(y[1]) && y[2] == 2.0f);
  convoy_tensor_free(tensor);
}

int main(int argc, char **argv) {
  device_name = argc > 1 ? argv[1] : "cpu";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_computes_what_the_definition_says),
      cmocka_unit_test(bits_are_moved),
      cmocka_unit_test(infinities_reach_their_neighbours),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
