/* The NaN watch: the first value that is not finite is told once, with its place; off by
 * default. */
#include <math.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/heard.h"
#include "core/open.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 3};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static convoy_context *open_watching(const char *device, int32_t nan_watch, heard *all) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = device;
  options.nan_watch = nan_watch;
  options.verify = CONVOY_VERIFY_OFF;
  options.failover = CONVOY_NO;
  options.tune = CONVOY_NO;
  options.threads = 1;
  fake_reset();
  *all = (heard){0};
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  assert_int_equal(convoy_set_event_callback(context, hear_nonfinite, all), CONVOY_OK);
  assert_int_equal(convoy_mark_step(context, 17), CONVOY_OK);
  return context;
}

static const char *const devices[] = {"cpu", "fake:1"};

/* Host memory: a NaN in each operand in turn, and a result that overflows. */
static void test_host_arrays(void **state) {
  (void)state;
  const struct {
    float x, w, bias;
    const char *told;
  } rows[] = {
      {1, 1, 0, NULL},
      {NAN, 1, 0, "x[2] is nan"},
      {1, -INFINITY, 0, "w[1] is -inf"},
      {1, 1, INFINITY, "bias[0] is inf"},
      {3e38f, 2, 0, "y[1] is inf"},
  };
  for (size_t d = 0; d < CVY_COUNT(devices); d++) {
    for (size_t i = 0; i < CVY_COUNT(rows); i++) {
      heard all;
      convoy_context *context = open_watching(devices[d], CONVOY_ON, &all);
      const float x[] = {1, 2, rows[i].x, 4}, w[] = {1, rows[i].w};
      float y[3];
      for (int again = 0; again < 2; again++) {
        assert_int_equal(convoy_forward_host(context, &conv, x_shape, x, w_shape, w, &rows[i].bias,
                                             NULL, y, NULL),
                         CONVOY_OK);
      }
      assert_int_equal(all.count, rows[i].told != NULL); /* once, though it came twice */
      if (rows[i].told) {
        assert_non_null(strstr(all.message, rows[i].told));
        assert_non_null(strstr(all.message, "step 17"));
        assert_non_null(strstr(all.message, devices[d]));
        assert_non_null(strstr(all.message, "forward"));
      }
      convoy_close(context);
    }
  }
}

/* Gradients on tensors: seen when the host gets them. */
static void test_gradient(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(devices); d++) {
    heard all;
    convoy_context *context = open_watching(devices[d], CONVOY_ON, &all);
    const float x[] = {3e38f, 3e38f, 0, 0}, dy[] = {1, 1, 1};
    convoy_tensor *const t[] = {tensor_of(context, x_shape, x), tensor_of(context, y_shape, dy),
                                tensor_of(context, w_shape, NULL)};
    float dw[2];
    assert_int_equal(convoy_backward_weights(context, &conv, t[0], t[1], 0, t[2], NULL), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(t[2], dw, 2), CONVOY_OK);
    assert_int_equal(all.count, 1);
    assert_non_null(strstr(all.message, "dw[0] is inf"));
    for (size_t i = 0; i < CVY_COUNT(t); i++) convoy_tensor_free(t[i]);
    convoy_close(context);
  }
}

/* A value far behind the first block, and nothing at all without the option. */
static void test_place_and_default(void **state) {
  (void)state;
  const int64_t long_shape[] = {1, 1, 5000}, point[] = {1, 1, 1};
  static float x[5000], y[5000];
  const float w[] = {1};
  x[4321] = NAN;
  for (int on = 0; on < 2; on++) {
    heard all;
    convoy_context *context = open_watching("cpu", on ? CONVOY_ON : CONVOY_DEFAULT, &all);
    assert_int_equal(
        convoy_forward_host(context, &conv, long_shape, x, point, w, NULL, NULL, y, NULL),
        CONVOY_OK);
    assert_int_equal(all.count, on);
    if (on) assert_non_null(strstr(all.message, "x[4321] is nan"));
    convoy_close(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host_arrays),
      cmocka_unit_test(test_gradient),
      cmocka_unit_test(test_place_and_default),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
