/* Capture and graphs: every sentence that convoy.h says of them, on the CPU engine and on a device
 * that fails. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/fake.h"
#include "core/open.h"

/* A training in small: y = x + w is between, s = y + y is read, w = w + s is an input, too. */
typedef struct training {
  convoy_context *context;
  convoy_tensor *x, *w, *s;
  convoy_graph *graph;
} training;

static training capture_training(const char *device, convoy_switch failover) {
  training t = {.context = open_named(device, failover)};
  t.x = filled(t.context, 1);
  t.w = filled(t.context, 2);
  t.s = filled(t.context, 100);
  begin(t.context);
  convoy_tensor *y = filled(t.context, 0);
  add(t.context, t.x, t.w, y);
  add(t.context, y, y, t.s);
  add(t.context, t.w, t.s, t.w);
  convoy_tensor_free(y);
  t.graph = end(t.context);
  return t;
}

static void close_training(training *t) {
  convoy_graph_free(t->graph);
  convoy_tensor_free(t->x);
  convoy_tensor_free(t->w);
  convoy_tensor_free(t->s);
  convoy_close(t->context);
  assert_int_equal(fake_seen.arrays, 0);
}

/* -------------------------------------------------------------------------------------- runs */

static void a_run_computes_what_the_calls_would(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    training t = capture_training(capturing_devices[d], CONVOY_ON);
    int64_t before = health_of(t.context).operations;
    expect(t.s, 100); /* until the first run outputs keep what they have */
    expect(t.w, 2);
    run(t.graph);
    expect(t.s, 6);
    expect(t.w, 8);
    fill(t.x, 3);
    run(t.graph);
    expect(t.s, 22);
    expect(t.w, 30);
    assert_int_equal(health_of(t.context).operations - before, 6);
    close_training(&t);
  }
}

static void capturing_computes_nothing(void **state) {
  (void)state;
  training t = capture_training("fake", CONVOY_ON);
  assert_int_equal(health_of(t.context).operations, 0);
  assert_int_equal(fake_seen.runs, 0);
  close_training(&t);
}

static void outputs_may_be_read_while_the_next_run_is_enqueued(void **state) {
  (void)state;
  training t = capture_training("fake", CONVOY_ON);
  float values[COUNT];
  run(t.graph);
  run(t.graph);
  run(t.graph);
  assert_int_equal(convoy_tensor_read(t.s, values, COUNT), CONVOY_OK);
  assert_true(values[0] == 54);
  close_training(&t);
}

static void a_run_tells_how_it_went(void **state) {
  (void)state;
  training t = capture_training("fake", CONVOY_ON);
  convoy_run told = CONVOY_RUN_INIT;
  assert_int_equal(convoy_graph_run(t.graph, &told), CONVOY_OK);
  assert_int_equal(told.attempts, 1);
  assert_string_equal(told.device, "fake:1");
  told.struct_size = 4;
  expect_refused(convoy_graph_run(t.graph, &told), "struct_size");
  close_training(&t);
}

static void at_most_three_runs_are_under_way(void **state) {
  (void)state;
  training t = capture_training("fake", CONVOY_ON);
  for (int i = 0; i < 3; i++) run(t.graph);
  assert_int_equal(fake_seen.runs, 0); /* it works only while somebody waits */
  run(t.graph);
  assert_int_equal(fake_seen.runs, 9); /* and does all that is there */
  close_training(&t);
}

/* ------------------------------------------------------------------------------ what a graph is */

static void unused_results_are_not_computed(void **state) {
  (void)state;
  training t = {.context = open_named("fake", CONVOY_ON)};
  char text[2000];
  t.x = filled(t.context, 1), t.w = filled(t.context, 2), t.s = filled(t.context, 0);
  begin(t.context);
  convoy_tensor *y = filled(t.context, 0);
  add(t.context, t.x, t.w, y);
  add(t.context, y, t.w, y);
  convoy_tensor_free(y);
  add(t.context, t.x, t.x, t.s);
  t.graph = end(t.context);
  run(t.graph);
  expect(t.s, 2);
  assert_int_equal(health_of(t.context).operations, 1);
  assert_int_equal(convoy_graph_text(t.graph, text, sizeof text), CONVOY_OK);
  check_says(text, "3 nodes, 1 tensors read, 1 written");
  check_says(text, "not needed");
  expect_refused(convoy_graph_text(t.graph, text, 20), "20 bytes");
  close_training(&t);
}

static void a_graph_keeps_its_tensors(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *x = filled(context, 4), *y = filled(context, 0), *z = filled(context, 0);
  begin(context);
  add(context, x, x, y);
  add(context, y, x, z);
  convoy_graph *graph = end(context);
  convoy_tensor_free(x);
  convoy_tensor_free(y);
  run(graph);
  expect(z, 12);
  convoy_graph_free(graph);
  convoy_tensor_free(z);
  convoy_close(context);
}

/* y of `images` images = 2 x, and w = w + sum of y: w is both graphs'. */
typedef struct batch {
  convoy_tensor *x, *y;
  convoy_graph *graph;
} batch;

static batch capture_batch(convoy_context *context, int64_t images, convoy_tensor *w) {
  const int64_t shape[] = {images, 1, 1};
  const int64_t one[] = {1, 1, 1};
  const float ones[] = {1, 1, 1};
  convoy_program *sum = program_of("s = sum over n c w of y");
  batch b = {tensor_of(context, shape, ones), tensor_of(context, shape, NULL), NULL};
  convoy_tensor *s = tensor_of(context, one, NULL), *operands[] = {b.y, s};
  begin(context);
  add(context, b.x, b.x, b.y);
  assert_int_equal(apply_to(context, sum, operands, NULL), CONVOY_OK);
  add(context, w, s, w);
  convoy_tensor_free(s);
  b.graph = end(context);
  convoy_program_free(sum);
  return b;
}

static void another_batch_is_another_graph(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    const int64_t one[] = {1, 1, 1};
    convoy_tensor *w = tensor_of(context, one, (const float[]){0});
    batch large = capture_batch(context, 3, w), small = capture_batch(context, 2, w);
    for (int i = 0; i < 4; i++) {
      run(large.graph);
      run(small.graph);
    }
    check_tensor(w, (const float[]){4 * (6 + 4)});
    check_tensor(small.y, (const float[]){2, 2});
    convoy_graph_free(large.graph);
    run(small.graph);
    check_tensor(w, (const float[]){44});
    convoy_graph_free(small.graph);
    convoy_tensor *const all[] = {w, large.x, large.y, small.x, small.y};
    for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
    convoy_close(context);
    assert_int_equal(fake_seen.arrays, 0);
  }
}

static void written_tensors_are_inputs_from_there_on(void **state) {
  (void)state;
  training t = {.context = open_named("cpu", CONVOY_ON)};
  t.x = filled(t.context, 1), t.w = filled(t.context, 2), t.s = filled(t.context, 0);
  begin(t.context);
  add(t.context, t.x, t.x, t.w); /* an internal value from the next line on */
  add(t.context, t.w, t.w, t.s);
  fill(t.w, 7);
  add(t.context, t.w, t.s, t.s);
  t.graph = end(t.context);
  expect(t.w, 7);
  run(t.graph);
  expect(t.s, 11);
  expect(t.w, 7); /* it is no output */
  fill(t.w, 8);
  run(t.graph);
  expect(t.s, 12);
  close_training(&t);
}

static void graphs_outlive_their_context(void **state) {
  (void)state;
  training t = capture_training("cpu", CONVOY_ON);
  convoy_close(t.context);
  expect_refused(convoy_graph_run(t.graph, NULL), "closed");
  convoy_tensor_free(t.x);
  convoy_graph_free(t.graph);
  convoy_tensor_free(t.w);
  convoy_tensor_free(t.s);
  convoy_graph_free(NULL);
}

static void closing_ends_a_capture(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_tensor *x = filled(context, 4), *y = filled(context, 0);
  begin(context);
  add(context, x, x, y);
  convoy_close(context);
  convoy_tensor_free(x);
  convoy_tensor_free(y);
  assert_int_equal(fake_seen.arrays, 0);
}

static void forked_children_run_on_the_cpu(void **state) {
  (void)state;
  training t = capture_training("fake", CONVOY_ON);
  run(t.graph);
  pid_t child = fork();
  if (!child) {
    float values[COUNT];
    bool ran = !convoy_graph_run(t.graph, NULL) && !convoy_tensor_read(t.w, values, COUNT);
    _exit(ran && values[0] == 26 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  expect(t.w, 8);
  close_training(&t);
}

/* ------------------------------------------------------------------------------------- refusals */

static void *add_elsewhere(void *of) {
  training *t = of;
  static convoy_status status;
  status = convoy_add(t->context, t->x, t->x, t->s, NULL);
  return &status;
}

static void other_threads_are_refused(void **state) {
  (void)state;
  training t = {.context = open_named("cpu", CONVOY_ON)};
  pthread_t thread;
  void *status;
  t.x = filled(t.context, 1), t.w = filled(t.context, 2), t.s = filled(t.context, 0);
  begin(t.context);
  add(t.context, t.x, t.w, t.w);
  assert_int_equal(pthread_create(&thread, NULL, add_elsewhere, &t), 0);
  assert_int_equal(pthread_join(thread, &status), 0);
  assert_int_equal(*(convoy_status *)status, CONVOY_ERR_ARGUMENT);
  t.graph = end(t.context);
  run(t.graph);
  expect(t.w, 3);
  expect(t.s, 0);
  close_training(&t);
}

static void what_is_refused_is_not_noted(void **state) {
  (void)state;
  training t = {.context = open_named("cpu", CONVOY_ON)};
  convoy_tensor *large = tensor_of(t.context, (const int64_t[]){2, 2, 3}, NULL);
  convoy_run told = CONVOY_RUN_INIT;
  convoy_graph *none;
  char text[1000];
  float values[COUNT] = {0};
  t.x = filled(t.context, 1), t.w = filled(t.context, 2), t.s = filled(t.context, 0);
  expect_refused(convoy_capture_end(t.context, &none), "no capture");
  begin(t.context);
  expect_refused(convoy_capture_begin(t.context), "convoy_capture_begin");
  assert_int_equal(convoy_add(t.context, t.x, large, t.s, NULL), CONVOY_ERR_SHAPE);
  expect_refused(convoy_add(t.context, t.x, t.w, t.s, &told), "run");
  expect_refused(convoy_tensor_read(t.x, values, COUNT), "convoy_tensor_read");
  expect_refused(convoy_commit(t.x), "convoy_commit");
  convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t one[] = {2, 2, 1};
  expect_refused(convoy_forward_host(t.context, &conv, capturing_shape, values, one, values, NULL,
                                     NULL, values, NULL),
                 "host memory");
  t.graph = end(t.context);
  assert_int_equal(convoy_graph_text(t.graph, text, sizeof text), CONVOY_OK);
  check_says(text, "0 nodes, 0 tensors read, 0 written");
  run(t.graph);
  begin(t.context);
  expect_refused(convoy_graph_run(t.graph, NULL), "convoy_graph_run");
  assert_int_equal(convoy_capture_end(t.context, NULL), CONVOY_OK);
  add(t.context, t.x, t.w, t.s); /* carried out again */
  expect(t.s, 3);
  expect_refused(convoy_graph_run(NULL, NULL), "graph");
  convoy_tensor_free(large);
  close_training(&t);
}

static void tensors_of_others_are_refused(void **state) {
  (void)state;
  training t = {.context = open_named("cpu", CONVOY_ON)};
  convoy_context *other = open_named("cpu", CONVOY_ON);
  t.x = filled(t.context, 1), t.w = filled(other, 2), t.s = filled(t.context, 0);
  begin(t.context);
  expect_refused(convoy_add(t.context, t.x, t.w, t.s, NULL), "another context");
  t.graph = end(t.context);
  close_training(&t);
  convoy_close(other);
}

/* --------------------------------------------------------------------------------------- faults */

/* Whatever command fails, in whatever run, the results are the undisturbed ones. */
static void faults_change_nothing(void **state) {
  (void)state;
  for (int64_t at = 1; at <= 40; at++) {
    fake_reset();
    fake.fail_at = at;
    fake.failures = 1 + at % 3;
    fake.empties = at % 2;
    training t = capture_training("fake", CONVOY_ON);
    for (int i = 0; i < 4; i++) run(t.graph);
    expect(t.w, 242); /* w = 3 w + 2 x */
    expect(t.s, 162);
    assert_int_equal(health_of(t.context).wrong_results, 0);
    close_training(&t);
  }
}

static void failures_without_failover_leave_outputs_alone(void **state) {
  (void)state;
  training t = capture_training("fake", CONVOY_NO);
  convoy_run told = CONVOY_RUN_INIT;
  run(t.graph);
  expect(t.w, 8);
  expect(t.s, 6);
  fake.fail_at = fake_seen.commands + 4;
  assert_int_equal(convoy_graph_run(t.graph, &told), CONVOY_ERR_DEVICE);
  expect(t.w, 8);
  expect(t.s, 6);
  uint64_t runs;
  assert_int_equal(convoy_graph_runs(t.graph, &runs), CONVOY_OK);
  assert_int_equal(runs, 1);
  run(t.graph);
  expect(t.w, 26);
  close_training(&t);
}

static void memory_is_flat(void **state) {
  (void)state;
  training t = capture_training("fake", CONVOY_ON);
  int64_t most = 0;
  for (int i = 0; i < 2000; i++) {
    fill(t.w, 1);
    run(t.graph);
    expect(t.w, 5);
    int64_t arrays = fake_seen.arrays;
    if (i == 10) most = arrays;
    if (i > 10) assert_true(arrays <= most);
  }
  close_training(&t);
}

/* ------------------------------------------------------------------------------------- random */

static void read_noise(convoy_graph *graph, convoy_tensor *y, float *values) {
  run(graph);
  assert_int_equal(convoy_tensor_read(y, values, COUNT), CONVOY_OK);
}

/* Numbers differ from run to run, are those of the run's number, and the same on every device. */
static void random_numbers_belong_to_runs(void **state) {
  (void)state;
  float first[COUNT], second[COUNT], got[COUNT];
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    convoy_tensor *x = filled(context, 1), *y = filled(context, 0);
    convoy_program *noise = program_of("y = x * random(0)");
    convoy_tensor *operands[] = {x, y};
    assert_int_equal(convoy_seed(context, 42), CONVOY_OK);
    begin(context);
    assert_int_equal(apply_to(context, noise, operands, NULL), CONVOY_OK);
    convoy_graph *graph = end(context);
    read_noise(graph, y, d ? got : first);
    if (d) assert_memory_equal(got, first, sizeof first);
    read_noise(graph, y, d ? got : second);
    if (d) assert_memory_equal(got, second, sizeof second);
    assert_memory_not_equal(first, second, sizeof first);
    assert_int_equal(convoy_graph_set_runs(graph, 0), CONVOY_OK);
    read_noise(graph, y, got);
    assert_memory_equal(got, first, sizeof first);
    uint64_t runs;
    assert_int_equal(convoy_graph_runs(graph, &runs), CONVOY_OK);
    assert_int_equal(runs, 1);
    convoy_graph_free(graph);
    convoy_program_free(noise);
    convoy_tensor_free(x);
    convoy_tensor_free(y);
    convoy_close(context);
  }
}

/* ---------------------------------------------------------------------------------------- empty */

/* Sums over no images become 0, or stay what they are added to. */
static void batches_without_images_are_legal(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  const int64_t none[] = {0, 2, 3}, point[] = {2, 2, 1};
  const float ones[] = {1, 1, 1, 1};
  convoy_conv conv = CONVOY_CONV_INIT(1);
  convoy_tensor *x = tensor_of(context, none, NULL), *dw = tensor_of(context, point, ones),
                *more = tensor_of(context, point, ones);
  begin(context);
  assert_int_equal(convoy_backward_weights(context, &conv, x, x, 0, dw, NULL), CONVOY_OK);
  assert_int_equal(convoy_backward_weights(context, &conv, x, x, 1, more, NULL), CONVOY_OK);
  convoy_graph *graph = end(context);
  run(graph);
  check_tensor(dw, (const float[]){0, 0, 0, 0});
  check_tensor(more, ones);
  convoy_graph_free(graph);
  convoy_tensor_free(x);
  convoy_tensor_free(dw);
  convoy_tensor_free(more);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_run_computes_what_the_calls_would, capturing_reset),
      cmocka_unit_test_setup(capturing_computes_nothing, capturing_reset),
      cmocka_unit_test_setup(outputs_may_be_read_while_the_next_run_is_enqueued, capturing_reset),
      cmocka_unit_test_setup(a_run_tells_how_it_went, capturing_reset),
      cmocka_unit_test_setup(at_most_three_runs_are_under_way, capturing_reset),
      cmocka_unit_test_setup(unused_results_are_not_computed, capturing_reset),
      cmocka_unit_test_setup(a_graph_keeps_its_tensors, capturing_reset),
      cmocka_unit_test_setup(another_batch_is_another_graph, capturing_reset),
      cmocka_unit_test_setup(written_tensors_are_inputs_from_there_on, capturing_reset),
      cmocka_unit_test_setup(graphs_outlive_their_context, capturing_reset),
      cmocka_unit_test_setup(closing_ends_a_capture, capturing_reset),
      cmocka_unit_test_setup(forked_children_run_on_the_cpu, capturing_reset),
      cmocka_unit_test_setup(other_threads_are_refused, capturing_reset),
      cmocka_unit_test_setup(what_is_refused_is_not_noted, capturing_reset),
      cmocka_unit_test_setup(tensors_of_others_are_refused, capturing_reset),
      cmocka_unit_test_setup(faults_change_nothing, capturing_reset),
      cmocka_unit_test_setup(failures_without_failover_leave_outputs_alone, capturing_reset),
      cmocka_unit_test_setup(memory_is_flat, capturing_reset),
      cmocka_unit_test_setup(random_numbers_belong_to_runs, capturing_reset),
      cmocka_unit_test_setup(batches_without_images_are_legal, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
