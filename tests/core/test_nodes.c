/* An operation with several results, which core only knows from its row: it takes the way of every
 * other one through verification, faults, histories and a lack of memory. */
#include <math.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/centre.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/operation.h"

enum { N = 6, C = 5, COUNT = N * C };
static const int64_t x_shape[] = {N, C, 1}, a_shape[] = {1, C, 1};

static float x_values[COUNT], a_values[C], y_wanted[COUNT], top_wanted[C];

static int make_values(void **state) {
  (void)state;
  cvy_problem problem = centre_problem(N, C);
  for (int i = 0; i < COUNT; i++) x_values[i] = (float)((i * 37 + 11) % 101) / 7.0f - 6.0f;
  for (int i = 0; i < C; i++) a_values[i] = (float)i / 3.0f;
  centre_expected(&problem, x_values, a_values, y_wanted, top_wanted);
  return 0;
}

/* ------------------------------------------------------------------------------- operating */

static int events[8];

static void count_event(void *user, const convoy_event *event) {
  (void)user;
  events[event->kind]++;
}

static convoy_context *open_counted(const char *device, convoy_verify verify) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = device;
  options.verify = (int32_t)verify;
  options.tune = CONVOY_NO;
  options.threads = 1;
  fake_reset();
  memset(events, 0, sizeof events);
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  convoy_set_event_callback(context, count_event, NULL);
  return context;
}

typedef struct tensors {
  convoy_tensor *x, *a, *y, *top;
} tensors;

static tensors make_tensors(convoy_context *context) {
  return (tensors){tensor_of(context, x_shape, x_values), tensor_of(context, a_shape, a_values),
                   tensor_of(context, x_shape, NULL), tensor_of(context, a_shape, NULL)};
}

static void free_tensors(const tensors *t) {
  convoy_tensor *const all[] = {t->x, t->a, t->y, t->top};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
}

static convoy_status operate(convoy_context *context, const cvy_problem *problem, const tensors *t,
                             convoy_run *run) {
  const convoy_tensor *const in[] = {t->x, t->a};
  convoy_tensor *const out[] = {t->y, t->top};
  assert_int_equal(cvy_enter(context), CONVOY_OK);
  convoy_status status = cvy_check_operands(problem, in, out);
  if (!status) status = cvy_operate_tensors(context, problem, in, out, run);
  return cvy_leave(context, status);
}

static void centre(convoy_context *context, const tensors *t) {
  cvy_problem problem = centre_problem(N, C);
  assert_int_equal(operate(context, &problem, t, NULL), CONVOY_OK);
}

static void check_both(const tensors *t) {
  check_tensor(t->y, y_wanted);
  check_tensor(t->top, top_wanted);
}

static void close_all(convoy_context *context, const tensors *t) {
  free_tensors(t);
  convoy_close(context);
  assert_int_equal(fake_seen.arrays, 0);
}

/* -------------------------------------------------------------------------------- anywhere */

static void run_tensors(const char *device, convoy_verify verify) {
  convoy_context *context = open_counted(device, verify);
  tensors t = make_tensors(context);
  for (int i = 0; i < 3; i++) centre(context, &t);
  check_both(&t);
  convoy_health health = health_of(context);
  assert_int_equal(health.operations, 3);
  assert_int_equal(health.device_operations, 3);
  assert_int_equal(health.history_bytes, 0);
  close_all(context, &t);
}

static void run_host(const char *device) {
  convoy_context *context = open_counted(device, CONVOY_VERIFY_ALL);
  cvy_problem problem = centre_problem(N, C);
  float y[COUNT], top[C];
  assert_int_equal(cvy_enter(context), CONVOY_OK);
  convoy_status status =
      cvy_operate_host(context, &problem, (const float *const[]){x_values, a_values},
                       (float *const[]){y, top}, NULL);
  assert_int_equal(cvy_leave(context, status), CONVOY_OK);
  check_values(y, y_wanted, COUNT);
  check_values(top, top_wanted, C);
  convoy_close(context);
  assert_int_equal(fake_seen.arrays, 0);
}

static void test_everywhere(void **state) {
  (void)state;
  run_tensors("cpu", CONVOY_VERIFY_OFF);
  run_tensors("fake", CONVOY_VERIFY_OFF);
  run_tensors("fake", CONVOY_VERIFY_SAMPLE);
  run_tensors("fake", CONVOY_VERIFY_ALL);
  run_host("cpu");
  run_host("fake");
}

static void test_texts(void **state) {
  (void)state;
  cvy_problem problem = centre_problem(N, C), again;
  char text[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT];
  cvy_class_example(&problem, text, sizeof text);
  assert_string_equal(text, "n6c5 centre");
  assert_true(cvy_problem_read(text, &again) && cvy_problem_equal(&problem, &again));
  assert_true(cvy_class_of_example(text, class, sizeof class));
  assert_string_equal(class, "centre_c5");
}

/* ---------------------------------------------------------------------------------- faults */

/* Both results, or one of them with the other given up, are asked for after the device is lost. */
static void lose(bool first_dropped, bool second_dropped) {
  convoy_context *context = open_counted("fake", CONVOY_VERIFY_OFF);
  tensors t = make_tensors(context);
  centre(context, &t);
  if (first_dropped) convoy_tensor_write(t.y, x_values, COUNT);
  if (second_dropped) convoy_tensor_write(t.top, a_values, C);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  fake.fail_at = fake_seen.commands + 1;
  fake.empties = true;
  check_tensor(t.top, second_dropped ? a_values : top_wanted);
  check_tensor(t.y, first_dropped ? x_values : y_wanted);
  convoy_health health = health_of(context);
  assert_int_equal(events[CONVOY_EVENT_FAULT], 1);
  assert_int_equal(events[CONVOY_EVENT_FAILOVER], 1); /* computed once for both */
  assert_int_equal(health.operations, 1);
  assert_int_equal(health.device_operations, 0);
  assert_int_equal(health.history_bytes, 0);
  close_all(context, &t);
}

static void test_lost_device(void **state) {
  (void)state;
  lose(false, false);
  lose(true, false);
  lose(false, true);
}

/* Any command fails, the device empty afterwards or not, gone for good or not. */
static void test_every_command_fails(void **state) {
  (void)state;
  int64_t commands = 1;
  for (int64_t at = 1; at <= commands; at++) {
    for (int how = 0; how < 8; how++) {
      convoy_context *context = open_counted("fake", CONVOY_VERIFY_SAMPLE);
      tensors t = make_tensors(context);
      fake.fail_at = at;
      fake.empties = how & 1;
      fake.dies = how & 2;
      fake.refuses_at_once = how & 4;
      for (int i = 0; i < 2; i++) centre(context, &t);
      check_both(&t);
      if (fake_seen.commands > commands) commands = fake_seen.commands;
      assert_int_equal(events[CONVOY_EVENT_FAULT], fake_seen.commands >= at);
      assert_int_equal(health_of(context).history_bytes, 0);
      close_all(context, &t);
    }
  }
  assert_true(commands > 6);
}

/* What was computed from both results is computed anew from their node. */
static void test_chain(void **state) {
  (void)state;
  convoy_context *context = open_counted("fake", CONVOY_VERIFY_OFF);
  tensors t = make_tensors(context);
  float y[COUNT], top[C];
  cvy_problem problem = centre_problem(N, C);
  centre_expected(&problem, y_wanted, top_wanted, y, top);
  centre(context, &t);
  tensors next = {t.y, t.top, tensor_of(context, x_shape, NULL), tensor_of(context, a_shape, NULL)};
  centre(context, &next);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  convoy_tensor_write(t.y, x_values, COUNT); /* only the history has the old one now */
  fake.fail_at = fake_seen.commands + 1;
  fake.empties = true;
  check_tensor(next.top, top);
  check_tensor(next.y, y);
  check_tensor(t.top, top_wanted);
  assert_int_equal(events[CONVOY_EVENT_FAILOVER], 2);
  convoy_tensor_free(next.y);
  convoy_tensor_free(next.top);
  close_all(context, &t);
}

static void lie(convoy_verify verify, int32_t output) {
  convoy_context *context = open_counted("fake", verify);
  tensors t = make_tensors(context);
  fake.lie = FAKE_WRONG;
  fake.lie_element = 2;
  fake.lie_output = output;
  centre(context, &t);
  check_both(&t);
  assert_int_equal(health_of(context).wrong_results, 1);
  close_all(context, &t);
}

static void test_lies(void **state) {
  (void)state;
  for (int32_t output = 0; output < 2; output++) {
    lie(CONVOY_VERIFY_ALL, output);
    lie(CONVOY_VERIFY_ALL, output);
  }
}

/* Without magnitudes by the CPU engine, what has not its bits is judged by the definition: right
 * where only the rounding is another, wrong where more is. */
static void test_judged_by_definition(void **state) {
  (void)state;
  float square[COUNT], less[COUNT], got[COUNT];
  cvy_problem problem = square_problem(N, C);
  square_expected(&problem, x_values, a_values, square, less);
  for (int lies = 0; lies < 2; lies++) {
    for (int ulps = 0; ulps < 2; ulps++) {
      convoy_context *context = open_counted("fake", CONVOY_VERIFY_ALL);
      tensors t = {tensor_of(context, x_shape, x_values), tensor_of(context, a_shape, a_values),
                   tensor_of(context, x_shape, NULL), tensor_of(context, x_shape, NULL)};
      fake.lie = lies ? FAKE_WRONG : ulps ? FAKE_ROUNDED : FAKE_HONEST;
      fake.lie_element = 7;
      fake.lie_output = 1;
      assert_int_equal(operate(context, &problem, &t, NULL), CONVOY_OK);
      assert_int_equal(convoy_tensor_read(t.top, got, COUNT), CONVOY_OK);
      assert_int_equal(health_of(context).wrong_results, lies);
      for (int i = 0; i < COUNT; i++) assert_true(fabsf(got[i] - less[i]) <= 1e-5f);
      assert_int_equal(memcmp(got, less, sizeof got) != 0, !lies && ulps);
      close_all(context, &t);
    }
  }
}

/* A first use is proven by all results, not by the first one alone: else the second operation, of a
 * class of its own, would pass with a few samples. */
static void test_first_use_needs_all_results(void **state) {
  (void)state;
  enum { WIDE = 500 };
  static float x[2 * WIDE], a[WIDE], y[2 * WIDE], top[WIDE], got[WIDE];
  static const int64_t shape[] = {2, WIDE, 1}, line[] = {1, WIDE, 1};
  cvy_problem problem = centre_problem(2, WIDE);
  for (int i = 0; i < 2 * WIDE; i++) x[i] = (float)(i % 17);
  centre_expected(&problem, x, a, y, top);
  for (int i = 0; i < 2; i++) {
    convoy_context *context = open_counted("fake", CONVOY_VERIFY_SAMPLE);
    tensors t = {tensor_of(context, shape, x), tensor_of(context, line, a),
                 tensor_of(context, shape, NULL), tensor_of(context, line, NULL)};
    fake.lie = FAKE_WRONG;
    fake.lie_element = 1;
    fake.lie_output = 1;
    assert_int_equal(operate(context, &problem, &t, NULL), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(t.top, got, WIDE), CONVOY_OK);
    check_values(got, top, WIDE);
    assert_int_equal(health_of(context).wrong_results, 1);
    close_all(context, &t);
  }
}

/* ---------------------------------------------------------------------------------- memory */

static void refuse_pieces(const cvy_job *job) {
  assert_int_equal(job->problem.conv.n, N);
}

/* Its images depend on one another: there are no pieces, the CPU computes. */
static void test_never_in_pieces(void **state) {
  (void)state;
  int64_t most = 2 * (COUNT + C) * (int64_t)sizeof(float);
  for (int64_t capacity = most; capacity > 0; capacity -= 8) {
    convoy_context *context = open_counted("fake", CONVOY_VERIFY_OFF);
    tensors t = make_tensors(context);
    convoy_run run = CONVOY_RUN_INIT;
    cvy_problem problem = centre_problem(N, C);
    fake.capacity = capacity;
    fake.on_run = refuse_pieces;
    assert_int_equal(operate(context, &problem, &t, &run), CONVOY_OK);
    check_both(&t);
    bool fits = capacity == most;
    assert_string_equal(run.device, fits ? "fake:1" : "cpu");
    assert_int_equal(run.first_fault, fits ? CONVOY_OK : CONVOY_ERR_MEMORY);
    close_all(context, &t);
  }
}

static int64_t most_images;

static void note_images(const cvy_job *job) {
  if (job->problem.conv.n > most_images) most_images = job->problem.conv.n;
}

/* Images that do not depend on one another: pieces of both results lie side by side. */
static void test_pieces(void **state) {
  (void)state;
  float square[COUNT], less[COUNT];
  cvy_problem problem = square_problem(N, C);
  square_expected(&problem, x_values, a_values, square, less);
  for (int pieces = 1; pieces <= 3; pieces++) {
    int64_t images = (N + pieces - 1) / pieces;
    convoy_context *context = open_counted("fake", CONVOY_VERIFY_OFF);
    tensors t = {tensor_of(context, x_shape, x_values), tensor_of(context, a_shape, a_values),
                 tensor_of(context, x_shape, NULL), tensor_of(context, x_shape, NULL)};
    convoy_run run = CONVOY_RUN_INIT;
    fake.capacity = (3 * images + 1) * C * (int64_t)sizeof(float);
    fake.on_run = note_images;
    most_images = 0;
    assert_int_equal(operate(context, &problem, &t, &run), CONVOY_OK);
    check_tensor(t.y, square);
    check_tensor(t.top, less);
    assert_string_equal(run.device, "fake:1");
    assert_in_range(most_images, 1, images);
    close_all(context, &t);
  }
}

/* ------------------------------------------------------------------------- what is refused */

static void test_refused(void **state) {
  (void)state;
  convoy_context *context = open_counted("cpu", CONVOY_VERIFY_OFF);
  tensors t = make_tensors(context), twice = {t.x, t.a, t.y, t.y}, wrong = {t.a, t.x, t.y, t.top};
  cvy_problem problem = centre_problem(N, C), square = centre_problem(1, C);
  assert_int_equal(operate(context, &problem, &wrong, NULL), CONVOY_ERR_SHAPE);
  check_says(convoy_last_error(), "x has 5 elements, not 30");
  twice.x = t.a;
  twice.y = twice.top = t.top;
  assert_int_equal(operate(context, &square, &twice, NULL), CONVOY_ERR_ARGUMENT);
  check_says(convoy_last_error(), "y and top are the same tensor");
  free_tensors(&t);
  convoy_close(context);
}

/* A maximum over no images is a result that is the same for all: it becomes 0. */
static void test_no_images(void **state) {
  (void)state;
  static const char *const devices[] = {"cpu", "fake"};
  static const int64_t none[] = {0, C, 1};
  static const float zeros[C] = {0};
  cvy_problem problem = centre_problem(0, C);
  for (int i = 0; i < 2; i++) {
    convoy_context *context = open_counted(devices[i], CONVOY_VERIFY_OFF);
    tensors t = {tensor_of(context, none, NULL), tensor_of(context, a_shape, a_values),
                 tensor_of(context, none, NULL), tensor_of(context, a_shape, a_values)};
    assert_int_equal(operate(context, &problem, &t, NULL), CONVOY_OK);
    check_tensor(t.top, zeros);
    close_all(context, &t);
  }
}

static char told[256];

static void keep_nonfinite(void *user, const convoy_event *event) {
  (void)user;
  if (event->kind == CONVOY_EVENT_NONFINITE) strcpy(told, event->message);
}

static void test_nan_watch(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "cpu";
  options.nan_watch = CONVOY_ON;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  convoy_set_event_callback(context, keep_nonfinite, NULL);
  tensors t = make_tensors(context);
  float poisoned[C];
  memcpy(poisoned, a_values, sizeof poisoned);
  poisoned[3] = INFINITY;
  convoy_tensor_write(t.a, poisoned, C);
  centre(context, &t);
  check_says(told, "a[3] is inf");
  check_says(told, "n6c5 centre");
  free_tensors(&t);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_everywhere),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_lost_device),
      cmocka_unit_test(test_every_command_fails),
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_lies),
      cmocka_unit_test(test_judged_by_definition),
      cmocka_unit_test(test_first_use_needs_all_results),
      cmocka_unit_test(test_never_in_pieces),
      cmocka_unit_test(test_pieces),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_no_images),
      cmocka_unit_test(test_nan_watch),
  };
  return cmocka_run_group_tests(tests, make_values, NULL);
}
