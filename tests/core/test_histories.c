/* What histories hold is counted, and stays below its limit without losing anything. */
#include <string.h>

#include "common/cmocka.h"
#include "core/contents.h"
#include "core/fake.h"
#include "core/open.h"

enum { COUNT = 100, BYTES = COUNT * 4 };
static const int64_t shape[] = {1, 1, COUNT}, point[] = {1, 1, 1};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static convoy_context *open_limited(int64_t limit) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "fake:1";
  options.history_limit = limit;
  options.verify = CONVOY_VERIFY_OFF;
  options.tune = CONVOY_NO;
  options.threads = 1;
  fake_reset();
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

static int64_t held(convoy_context *context) {
  return health_of(context).history_bytes;
}

/* An input counts once the trainer has given it up, and until the result is on the host. */
static void test_counted(void **state) {
  (void)state;
  convoy_context *context = open_limited(0);
  const float ones[] = {1};
  convoy_tensor *x = tensor_of(context, shape, NULL), *w = tensor_of(context, point, ones);
  convoy_tensor *y = tensor_of(context, shape, NULL);
  assert_int_equal(convoy_forward(context, &conv, x, w, NULL, NULL, y, NULL), CONVOY_OK);
  assert_int_equal(held(context), 0);
  convoy_tensor_free(x);
  assert_int_equal(held(context), BYTES);
  convoy_tensor_free(w);
  assert_int_equal(held(context), BYTES + 4);
  assert_int_equal(convoy_tensor_read(y, (float[COUNT]){0}, COUNT), CONVOY_OK);
  assert_int_equal(held(context), 0);
  convoy_tensor_free(y);
  convoy_close(context);
}

/* 64 micro-batches, each with an input of its own, are added up; what is held does not grow. */
static void accumulate(int64_t limit, int64_t most) {
  convoy_context *context = open_limited(limit);
  float ones[COUNT];
  for (int i = 0; i < COUNT; i++) ones[i] = 1;
  convoy_tensor *x = tensor_of(context, shape, NULL), *dw = tensor_of(context, point, NULL);
  convoy_tensor *dy = tensor_of(context, shape, ones);
  int64_t peak = 0;
  for (int i = 0; i < 64; i++) {
    assert_int_equal(convoy_tensor_write(x, ones, COUNT), CONVOY_OK);
    assert_int_equal(convoy_backward_weights(context, &conv, x, dy, 1, dw, NULL), CONVOY_OK);
    if (held(context) > peak) peak = held(context);
  }
  assert_true(peak <= most);
  check_tensor(dw, (const float[]){64 * COUNT});
  assert_int_equal(health_of(context).failovers, 0);
  convoy_tensor_free(x);
  convoy_tensor_free(dy);
  convoy_tensor_free(dw);
  assert_int_equal(held(context), 0);
  convoy_close(context);
}

static void test_accumulated_flat(void **state) {
  (void)state;
  accumulate(0, 9 * (BYTES + 4)); /* at most nine sums in a row, each with its input */
  /* What is given up after an operation counts at the next one. */
  accumulate(2 * BYTES, 2 * BYTES + 8);
  accumulate(1, 1 + 8);
}

/* Many outputs that nobody reads: the oldest are committed, and all are right after the device
 * dies. */
static void test_oldest_committed(void **state) {
  (void)state;
  convoy_context *context = open_limited(3 * BYTES);
  convoy_tensor *y[12], *x = tensor_of(context, shape, NULL), *w = NULL;
  const float two[] = {2};
  float values[COUNT];
  w = tensor_of(context, point, two);
  for (int i = 0; i < 12; i++) {
    for (int j = 0; j < COUNT; j++) values[j] = (float)(i + j);
    y[i] = tensor_of(context, shape, NULL);
    assert_int_equal(convoy_tensor_write(x, values, COUNT), CONVOY_OK);
    assert_int_equal(convoy_forward(context, &conv, x, w, NULL, NULL, y[i], NULL), CONVOY_OK);
    assert_true(held(context) <= 3 * BYTES);
  }
  assert_non_null(y[0]->store->host);
  assert_null(y[11]->store->host);
  fake.fail_at = fake_seen.commands + 1;
  fake.dies = true;
  for (int i = 0; i < 12; i++) {
    assert_int_equal(convoy_tensor_read(y[i], values, COUNT), CONVOY_OK);
    for (int j = 0; j < COUNT; j++) assert_true(values[j] == (float)(2 * (i + j)));
    convoy_tensor_free(y[i]);
  }
  convoy_tensor_free(x);
  convoy_tensor_free(w);
  convoy_close(context);
}

/* Memory that the device fills itself gets no copy on the host beside it: the history stays, and
 * with it the values, whatever becomes of the device. */
static void test_read_into_shared_memory(void **state) {
  (void)state;
  convoy_context *context = open_limited(0);
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = (float)i;
  convoy_tensor *x = tensor_of(context, shape, values), *y = tensor_of(context, shape, NULL);
  convoy_tensor *w = tensor_of(context, point, (const float[]){2});
  void *memory = NULL;
  fake.shared_memory = true;
  assert_int_equal(convoy_host_alloc(context, BYTES + 4, &memory), CONVOY_OK);
  float *shared = memory;
  assert_int_equal(convoy_forward(context, &conv, x, w, NULL, NULL, y, NULL), CONVOY_OK);
  convoy_tensor_free(x);
  for (int times = 0; times < 2; times++) { /* the second time the device has gone */
    memset(shared, 0x7f, BYTES + 4);
    assert_int_equal(convoy_tensor_read(y, shared + 1, COUNT), CONVOY_OK);
    for (int i = 0; i < COUNT; i++) assert_true(shared[i + 1] == (float)(2 * i));
    assert_int_equal(y->store->host != NULL, times);
    assert_int_equal(held(context), times ? 0 : BYTES);
    fake.fail_at = fake_seen.commands + 1;
    fake.dies = true;
  }
  convoy_host_free(context, memory);
  convoy_tensor_free(w);
  convoy_tensor_free(y);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counted),
      cmocka_unit_test(test_accumulated_flat),
      cmocka_unit_test(test_oldest_committed),
      cmocka_unit_test(test_read_into_shared_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
