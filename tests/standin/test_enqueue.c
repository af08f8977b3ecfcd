/* convoy_enqueue: problems on a framework's memory, in its stream, recorded or not, with memory
 * from its allocator; and what is left to the framework. */
#include <convoy/convoy.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "common/cmocka.h"
#include "common/random.h"
#include "framework.h"

enum { MOST = 8192, DIRECTIONS = 4 };

static const char *device;
static convoy_context *card, *processor;
static void *stream;

static convoy_status open_on(const char *name, int32_t isolation, convoy_context **out) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = name;
  options.isolation = isolation;
  return convoy_open(&options, out);
}

static int begin(void **state) {
  (void)state;
  if (open_on(device, CONVOY_ISOLATION_CALLER, &card) || open_on("cpu", 0, &processor)) return -1;
  stream = framework_stream();
  return convoy_set_allocator(card, pool_allocate, pool_release, &pool);
}

/* Samples that verification takes need memory of their own, in whichever call they are taken. */
static int begin_unverified(void **state) {
  setenv("CONVOY_VERIFY", "off", 1);
  const int failure = begin(state);
  unsetenv("CONVOY_VERIFY");
  return failure;
}

static int end(void **state) {
  (void)state;
  convoy_close(card);
  convoy_close(processor);
  framework_stream_free(stream);
  pool_end();
  return 0;
}

/* ------------------------------------------------------------------------------ a problem */

/* One direction of a convolution in the framework's memory. */
typedef struct work {
  convoy_conv conv;
  convoy_direction direction;
  int64_t x_shape[4], w_shape[4], count[4]; /* of the operands, then of the result */
  int operands;
  convoy_problem *problem;
  void *array[4];
  float *value[4]; /* of the operands */
} work;

static int64_t product(const int64_t *shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

static void count_arrays(work *w) {
  int64_t y_shape[4];
  assert_int_equal(convoy_output_shape(&w->conv, w->x_shape, w->w_shape, y_shape), CONVOY_OK);
  const int64_t x = product(w->x_shape), f = product(w->w_shape), y = product(y_shape);
  const int64_t counts[DIRECTIONS][4] = {
      {x, f, y_shape[1], y}, {y, f, x, 0}, {x, y, f, 0}, {y, y_shape[1], 0, 0}};
  static const int operands[DIRECTIONS] = {3, 2, 2, 1};
  w->operands = operands[w->direction];
  memcpy(w->count, counts[w->direction], sizeof w->count);
}

static void fill(const work *w, uint64_t seed) {
  test_random random = {seed};
  for (int i = 0; i < w->operands; i++) {
    assert_true(w->count[i] <= MOST);
    test_fill_reals(&random, w->value[i], w->count[i]);
    framework_write(w->array[i], w->value[i], w->count[i], stream);
  }
}

static work make(convoy_direction direction, int64_t c, int64_t h, bool transposed) {
  work w = {.conv = CONVOY_CONV_INIT(2),
            .direction = direction,
            .x_shape = {2, c, h, h},
            .w_shape = {transposed ? c : 12, transposed ? 12 : c, 3, 3}};
  w.conv.pad_begin[0] = w.conv.pad_begin[1] = w.conv.pad_end[0] = w.conv.pad_end[1] = 1;
  w.conv.transposed = transposed;
  count_arrays(&w);
  assert_int_equal(
      convoy_problem_new(&w.conv, direction, w.x_shape, w.w_shape, w.operands == 3, &w.problem),
      CONVOY_OK);
  for (int i = 0; i <= w.operands; i++) w.array[i] = framework_memory(w.count[i]);
  for (int i = 0; i < w.operands; i++) w.value[i] = malloc(MOST * sizeof(float));
  fill(&w, 1);
  return w;
}

static void drop(work *w) {
  framework_wait(stream); /* for who still reads or writes them */
  convoy_problem_free(w->problem);
  for (int i = 0; i <= w->operands; i++) framework_free(w->array[i]);
  for (int i = 0; i < w->operands; i++) free(w->value[i]);
}

static convoy_status run(const work *w) {
  return convoy_enqueue(card, w->problem, stream, w->array, NULL, 0, NULL);
}

static void compute(const work *w, float *out) {
  const float *a = w->value[0], *b = w->value[1], *bias = w->value[2];
  convoy_status status = CONVOY_OK;
  if (w->direction == CONVOY_FORWARD)
    status = convoy_forward_host(processor, &w->conv, w->x_shape, a, w->w_shape, b, bias, NULL, out,
                                 NULL);
  if (w->direction == CONVOY_BACKWARD_DATA)
    status =
        convoy_backward_data_host(processor, &w->conv, w->x_shape, a, w->w_shape, b, 0, out, NULL);
  if (w->direction == CONVOY_BACKWARD_WEIGHTS)
    status = convoy_backward_weights_host(processor, &w->conv, w->x_shape, a, w->w_shape, b, 0, out,
                                          NULL);
  if (w->direction == CONVOY_BACKWARD_BIAS)
    status =
        convoy_backward_bias_host(processor, &w->conv, w->x_shape, w->w_shape, a, 0, out, NULL);
  if (status) fail_msg("%s", convoy_last_error());
}

static void check_result(const work *w) {
  float got[MOST], wanted[MOST], largest = 0;
  const int64_t count = w->count[w->operands];
  framework_read(got, w->array[w->operands], count, stream);
  compute(w, wanted);
  for (int64_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(wanted[i]));
  for (int64_t i = 0; i < count; i++)
    if (!(fabsf(got[i] - wanted[i]) <= 2e-5F * largest))
      fail_msg("element %d is %.9g, not %.9g", (int)i, (double)got[i], (double)wanted[i]);
}

static void expect(convoy_status wanted, convoy_status got, const char *words) {
  if (got != wanted) fail_msg("%s: %s", convoy_status_name(got), got ? convoy_last_error() : "");
  if (!strstr(convoy_last_error(), words)) fail_msg("it says: %s", convoy_last_error());
}

/* ---------------------------------------------------------------------------------- results */

/* The first time is proved, the next ones wait for nothing, ask for nothing but scratch memory, and
 * give it back; more often than anybody keeps a record of commands. */
static void test_directions(void **state) {
  (void)state;
  for (int transposed = 0; transposed < 2; transposed++) {
    for (int direction = 0; direction < DIRECTIONS; direction++) {
      work w = make((convoy_direction)direction, 6, 9, transposed);
      for (uint64_t time = 0; time < 3; time++) {
        fill(&w, time + 2);
        if (run(&w)) fail_msg("direction %d: %s", direction, convoy_last_error());
        assert_int_equal(pool.bytes, 0);
        check_result(&w);
      }
      const long waits = framework_waits();
      const int times = transposed || direction ? 10 : 600;
      for (int time = 0; time < times; time++) assert_int_equal(run(&w), CONVOY_OK);
      assert_int_equal(framework_waits(), waits);
      check_result(&w);
      drop(&w);
    }
  }
}

/* Memory that comes with the call goes before that of the allocator. */
static void test_scratch(void **state) {
  convoy_run about = CONVOY_RUN_INIT;
  (void)state;
  assert_int_equal(convoy_set_algorithm(card, "ocl.implicit_gemm"), CONVOY_OK);
  work w = make(CONVOY_FORWARD, 6, 9, false);
  for (int time = 0; time < 2; time++)
    assert_int_equal(convoy_enqueue(card, w.problem, stream, w.array, NULL, 0, &about), CONVOY_OK);
  assert_true(about.workspace_bytes > 0); /* packed weights */
  assert_string_equal(about.algorithm, "ocl.implicit_gemm");
  assert_ptr_equal(pool.stream, stream);
  void *scratch = framework_memory(about.workspace_bytes / 4);
  for (int64_t bytes = about.workspace_bytes; bytes >= 0; bytes -= about.workspace_bytes) {
    const int calls = pool.calls;
    assert_int_equal(
        convoy_enqueue(card, w.problem, stream, w.array, bytes ? scratch : NULL, bytes, NULL),
        CONVOY_OK);
    assert_int_equal(pool.calls > calls, bytes == 0);
    check_result(&w);
  }
  expect(CONVOY_ERR_ARGUMENT,
         convoy_enqueue(card, w.problem, stream, w.array, (char *)scratch + 4, 64, NULL),
         "multiple of 64");
  expect(CONVOY_ERR_ARGUMENT, convoy_enqueue(card, w.problem, stream, w.array, scratch, -64, NULL),
         "is -64");
  framework_free(scratch);
  drop(&w);
}

/* Each problem reads what the one before wrote, in two streams in turn, which only the framework
 * puts in order. */
static void test_streams(void **state) {
  void *const first = stream, *const second = framework_stream();
  (void)state;
  work w = make(CONVOY_FORWARD, 6, 9, false);
  for (int time = 0; time < 6; time++) {
    stream = time % 2 ? second : first;
    fill(&w, 30 + (uint64_t)time);
    assert_int_equal(run(&w), CONVOY_OK);
    check_result(&w);
  }
  stream = first;
  framework_stream_free(second);
  drop(&w);
}

static void *work_elsewhere(void *argument) {
  for (int time = 0; time < 12; time++)
    if (run(argument)) return (void *)convoy_last_error();
  return NULL;
}

static void test_threads(void **state) {
  enum { THREADS = 4 };
  pthread_t thread[THREADS];
  work w[THREADS];
  (void)state;
  for (int i = 0; i < THREADS; i++) w[i] = make(CONVOY_BACKWARD_DATA, 4 + i, 9, false);
  for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work_elsewhere, &w[i]);
  for (int i = 0; i < THREADS; i++) {
    void *why;
    pthread_join(thread[i], &why);
    assert_null(why);
    check_result(&w[i]);
    drop(&w[i]);
  }
}

static void test_no_images(void **state) {
  (void)state;
  work w = make(CONVOY_BACKWARD_WEIGHTS, 6, 9, false);
  convoy_problem *none;
  float got[MOST];
  const int64_t x_shape[] = {0, 6, 9, 9};
  void *const arrays[] = {NULL, NULL, w.array[2]};
  assert_int_equal(
      convoy_problem_new(&w.conv, CONVOY_BACKWARD_WEIGHTS, x_shape, w.w_shape, 0, &none),
      CONVOY_OK);
  if (convoy_enqueue(card, none, stream, arrays, NULL, 0, NULL))
    fail_msg("%s", convoy_last_error());
  framework_read(got, w.array[2], w.count[2], stream);
  for (int64_t i = 0; i < w.count[2]; i++) assert_true(got[i] == 0);
  convoy_problem_free(none);
  drop(&w);
}

/* --------------------------------------------------------------------------------- recorded */

static void test_recorded(void **state) {
  (void)state;
  for (int direction = 0; direction < DIRECTIONS; direction++) {
    work w = make((convoy_direction)direction, 6, 9, false);
    framework_record(stream);
    expect(CONVOY_ERR_UNSUPPORTED, run(&w), "being recorded");
    framework_graph_free(framework_recorded(stream)); /* it was not broken */
    assert_int_equal(run(&w), CONVOY_OK);
    framework_record(stream);
    if (run(&w)) fail_msg("direction %d: %s", direction, convoy_last_error());
    void *graph = framework_recorded(stream);
    for (uint64_t time = 0; time < 2; time++) {
      fill(&w, 50 + time);
      framework_replay(graph, stream);
      check_result(&w);
    }
    framework_graph_free(graph);
    drop(&w);
  }
}

/* Others may come for the first time while a stream is recorded: it is not broken by that. */
static void test_recorded_meanwhile(void **state) {
  void *const first = stream, *const second = framework_stream();
  (void)state;
  work w = make(CONVOY_FORWARD, 6, 9, false), other = make(CONVOY_BACKWARD_DATA, 7, 8, false);
  assert_int_equal(run(&w), CONVOY_OK);
  framework_record(stream);
  assert_int_equal(run(&w), CONVOY_OK);
  stream = second;
  if (run(&other)) fail_msg("%s", convoy_last_error());
  check_result(&other);
  stream = first;
  void *graph = framework_recorded(stream);
  framework_replay(graph, stream);
  check_result(&w);
  framework_graph_free(graph);
  framework_stream_free(second);
  drop(&w);
  drop(&other);
}

/* Whoever has programs in a graph may replay it when the context is closed. */
static void test_recorded_outlives(void **state) {
  convoy_context *const ours = card;
  (void)state;
  assert_int_equal(open_on(device, CONVOY_ISOLATION_CALLER, &card), CONVOY_OK);
  assert_int_equal(convoy_set_allocator(card, pool_allocate, pool_release, &pool), CONVOY_OK);
  assert_int_equal(convoy_set_algorithm(card, "ocl.direct"), CONVOY_OK);
  work w = make(CONVOY_FORWARD, 5, 9, false);
  assert_int_equal(run(&w), CONVOY_OK);
  framework_record(stream);
  assert_int_equal(run(&w), CONVOY_OK);
  void *graph = framework_recorded(stream);
  convoy_close(card);
  card = ours;
  fill(&w, 60);
  framework_replay(graph, stream);
  check_result(&w);
  framework_graph_free(graph);
  drop(&w);
}

static void test_recorded_without_allocator(void **state) {
  (void)state;
  assert_int_equal(convoy_set_allocator(card, NULL, NULL, NULL), CONVOY_OK);
  work w = make(CONVOY_FORWARD, 6, 9, false);
  assert_int_equal(run(&w), CONVOY_OK);
  framework_record(stream);
  expect(CONVOY_ERR_UNSUPPORTED, run(&w), "no allocator");
  framework_graph_free(framework_recorded(stream));
  check_result(&w);
  drop(&w);
}

/* --------------------------------------------------------------------------- what is refused */

/* Kernels that are launched and write nothing, as has been seen of gfx1010. */
static void test_wrong_result(void **state) {
  float before[MOST], after[MOST];
  (void)state;
  work w = make(CONVOY_FORWARD, 11, 7, false);
  framework_read(before, w.array[3], w.count[3], stream);
  framework_skip_next(50);
  expect(CONVOY_ERR_WRONG, run(&w), "the tensors' memory is not ours");
  framework_skip_next(0);
  framework_read(after, w.array[3], w.count[3], stream);
  assert_memory_equal(before, after, (size_t)w.count[3] * sizeof(float));
  assert_int_equal(pool.bytes, 0);
  assert_int_equal(run(&w), CONVOY_OK);
  check_result(&w);
  drop(&w);
}

static void test_no_memory(void **state) {
  (void)state;
  work w = make(CONVOY_FORWARD, 6, 10, false);
  pool.empty = true;
  expect(CONVOY_ERR_MEMORY, run(&w), "has no");
  pool.empty = false;
  pool.crooked = true;
  expect(CONVOY_ERR_ARGUMENT, run(&w), "which is no multiple of 64");
  pool.crooked = false;
  assert_int_equal(pool.bytes, 0);
  assert_int_equal(run(&w), CONVOY_OK);
  check_result(&w);
  drop(&w);
}

static void test_wrong_arguments(void **state) {
  (void)state;
  work w = make(CONVOY_FORWARD, 6, 9, false);
  void *arrays[] = {w.array[0], w.array[1], w.array[2], NULL};
  expect(CONVOY_ERR_ARGUMENT, convoy_enqueue(card, w.problem, stream, arrays, NULL, 0, NULL),
         "arrays[3] is NULL");
  arrays[3] = (char *)w.array[3] + 4;
  expect(CONVOY_ERR_ARGUMENT, convoy_enqueue(card, w.problem, stream, arrays, NULL, 0, NULL),
         "multiple of 64");
  expect(CONVOY_ERR_ARGUMENT, convoy_enqueue(card, NULL, stream, arrays, NULL, 0, NULL),
         "problem is NULL");
  expect(CONVOY_ERR_ARGUMENT, convoy_set_allocator(card, pool_allocate, NULL, NULL),
         "release is NULL");
  w.conv.groups = 5;
  convoy_problem *none = NULL;
  assert_int_not_equal(convoy_problem_new(&w.conv, CONVOY_FORWARD, w.x_shape, w.w_shape, 0, &none),
                       CONVOY_OK);
  assert_null(none);
  expect(CONVOY_ERR_ARGUMENT,
         convoy_problem_new(NULL, CONVOY_FORWARD, w.x_shape, w.w_shape, 0, &none), "conv is NULL");
  assert_int_equal(convoy_capture_begin(card), CONVOY_OK);
  expect(CONVOY_ERR_ARGUMENT, run(&w), "a framework's memory");
  assert_int_equal(convoy_capture_end(card, NULL), CONVOY_OK);
  drop(&w);
}

static void test_other_contexts(void **state) {
  convoy_context *const ours = card;
  (void)state;
  const struct {
    const char *name, *words;
    int32_t isolation;
    bool enqueues;
  } others[] = {{"cpu", "isolation caller", CONVOY_ISOLATION_CALLER, false},
                {"ocl:0", "reached through OpenCL", CONVOY_ISOLATION_CALLER, false},
                {device, "worker process", CONVOY_ISOLATION_PROCESS, false},
                {device, "a thread of its own", CONVOY_ISOLATION_NONE, true}};
  work w = make(CONVOY_FORWARD, 6, 9, false);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    assert_int_equal(open_on(others[i].name, others[i].isolation, &card), CONVOY_OK);
    expect(CONVOY_ERR_UNSUPPORTED, convoy_set_allocator(card, pool_allocate, pool_release, &pool),
           others[i].words);
    if (others[i].enqueues)
      assert_int_equal(run(&w), CONVOY_OK);
    else
      expect(CONVOY_ERR_UNSUPPORTED, run(&w), others[i].words);
    convoy_close(card);
  }
  card = ours;
  drop(&w);
}

/* What a tensor of Convoy's own holds is the allocator's, too. */
static void test_own_tensors(void **state) {
  convoy_tensor *own;
  float got[MOST];
  (void)state;
  const int64_t shape[] = {100};
  assert_int_equal(convoy_tensor_new(card, 1, shape, &own), CONVOY_OK);
  assert_int_equal(convoy_relu(card, own, own, NULL), CONVOY_OK);
  assert_true(pool.bytes >= 400);
  expect(CONVOY_ERR_ARGUMENT, convoy_set_allocator(card, NULL, NULL, NULL), "are in use");
  assert_int_equal(convoy_tensor_read(own, got, 100), CONVOY_OK);
  convoy_tensor_free(own);
  assert_int_equal(pool.bytes, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(test_directions),
      cmocka_unit_test_setup_teardown(test_scratch, begin_unverified, end),
      TEST(test_streams),
      TEST(test_threads),
      TEST(test_no_images),
      TEST(test_recorded),
      TEST(test_recorded_meanwhile),
      TEST(test_recorded_outlives),
      TEST(test_recorded_without_allocator),
      TEST(test_wrong_result),
      TEST(test_no_memory),
      TEST(test_wrong_arguments),
      TEST(test_other_contexts),
      TEST(test_own_tensors),
  };
  device = getenv("CONVOY_TEST_DEVICE");
  if (!device) return 77;
  setenv("CONVOY_FAULT_LIMIT", "0", 1); /* what is broken here on purpose is not held against it */
  framework_start(device);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
