/* Operations on a framework's memory, on its streams: what they compute, where the results are, and
 * what becomes of what cannot be done. */
#include <convoy/convoy.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "framework.h"

enum { N = 2, C = 8, K = 16, H = 12, MOST = N * K * H * H };
static const int64_t x_shape[] = {N, C, H, H}, w_shape[] = {K, C, 3, 3}, y_shape[] = {N, K, H, H};
static const int64_t s_shape[] = {1, C, 1, 1};

/* An array three times: on the host, in a framework's memory, and in a context of the CPU engine's.
 */
typedef struct array {
  const int64_t *shape;
  int64_t count;
  void *memory;
  convoy_tensor *wrapped, *cpu;
} array;

static const char *device;
static convoy_context *card, *processor;
static void *stream;
static array x, w, y, s;
static convoy_conv conv = CONVOY_CONV_INIT(2);

static int64_t count_of(const int64_t *shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

static convoy_status wrap(const array *a, convoy_tensor **out) {
  return convoy_tensor_wrap(card, CONVOY_FLOAT32, 4, a->shape, a->memory,
                            a->count * (int64_t)sizeof(float), out);
}

static void fill(array *a, uint64_t seed) {
  float values[MOST];
  test_random random = {seed};
  test_fill_reals(&random, values, a->count);
  framework_write(a->memory, values, a->count, stream);
  framework_read(values, a->memory, a->count, stream);
  assert_int_equal(convoy_tensor_write(a->cpu, values, a->count), CONVOY_OK);
}

static void make(array *a, const int64_t *shape, uint64_t seed) {
  *a = (array){.shape = shape, .count = count_of(shape)};
  a->memory = framework_memory(a->count);
  assert_int_equal(wrap(a, &a->wrapped), CONVOY_OK);
  assert_int_equal(convoy_tensor_new(processor, 4, shape, &a->cpu), CONVOY_OK);
  fill(a, seed);
}

static void drop(array *a) {
  convoy_tensor_free(a->wrapped);
  convoy_tensor_free(a->cpu);
  framework_free(a->memory);
}

static convoy_status open_on(const char *name, int32_t isolation, convoy_context **out) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = name;
  options.isolation = isolation;
  return convoy_open(&options, out);
}

static int begin(void **state) {
  (void)state;
  conv.pad_begin[0] = conv.pad_begin[1] = conv.pad_end[0] = conv.pad_end[1] = 1;
  if (open_on(device, CONVOY_ISOLATION_NONE, &card) || open_on("cpu", 0, &processor)) return -1;
  stream = framework_stream();
  assert_int_equal(convoy_set_stream(card, stream), CONVOY_OK);
  make(&x, x_shape, 1);
  make(&w, w_shape, 2);
  make(&y, y_shape, 3);
  make(&s, s_shape, 4);
  return 0;
}

static int end(void **state) {
  (void)state;
  convoy_sync(card);
  drop(&x);
  drop(&w);
  drop(&y);
  drop(&s);
  convoy_close(card);
  convoy_close(processor);
  framework_stream_free(stream);
  return 0;
}

/* ------------------------------------------------------------------------------ the operations */

/* Carries out one operation on the tensors of one context. */
typedef convoy_status operation(convoy_context *on, bool wrapped);

static convoy_tensor *of(const array *a, bool wrapped) {
  return wrapped ? a->wrapped : a->cpu;
}

static convoy_status forward(convoy_context *on, bool wrapped) {
  return convoy_forward(on, &conv, of(&x, wrapped), of(&w, wrapped), NULL, NULL, of(&y, wrapped),
                        NULL);
}
static convoy_status backward_data(convoy_context *on, bool wrapped) {
  return convoy_backward_data(on, &conv, of(&y, wrapped), of(&w, wrapped), 0, of(&x, wrapped),
                              NULL);
}
static convoy_status backward_weights(convoy_context *on, bool wrapped) {
  return convoy_backward_weights(on, &conv, of(&x, wrapped), of(&y, wrapped), 0, of(&w, wrapped),
                                 NULL);
}
static convoy_status sum_weights(convoy_context *on, bool wrapped) {
  return convoy_backward_weights(on, &conv, of(&x, wrapped), of(&y, wrapped), 1, of(&w, wrapped),
                                 NULL);
}
static convoy_status relu_in_place(convoy_context *on, bool wrapped) {
  return convoy_relu(on, of(&x, wrapped), of(&x, wrapped), NULL);
}
static convoy_status apply(convoy_context *on, const char *text, const array *in, const array *out,
                           bool wrapped) {
  convoy_program *program;
  const convoy_tensor *from[] = {of(in, wrapped)};
  convoy_tensor *to[] = {of(out, wrapped)};
  assert_int_equal(convoy_program_parse(text, &program), CONVOY_OK);
  convoy_status status = convoy_apply(on, program, from, to, NULL);
  convoy_program_free(program);
  return status;
}
static convoy_status program(convoy_context *on, bool wrapped) {
  return apply(on, "b = a * sigmoid(a) + 1", &y, &y, wrapped);
}
static convoy_status reduction(convoy_context *on, bool wrapped) {
  return apply(on, "b = sum over n h w of a * a", &x, &s, wrapped);
}

static const struct {
  const char *name;
  operation *run;
  const array *result;
  bool changes_operand;
} operations[] = {
    {"forward", forward, &y, false},
    {"backward_data", backward_data, &x, false},
    {"backward_weights", backward_weights, &w, false},
    {"backward_weights, added", sum_weights, &w, true},
    {"relu in place", relu_in_place, &x, true},
    {"program in place", program, &y, true},
    {"reduction", reduction, &s, false},
};

static void check_near(const char *name, const float *got, const float *wanted, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(wanted[i]));
  for (int64_t i = 0; i < count; i++) {
    if (!(fabsf(got[i] - wanted[i]) <= 2e-5F * largest))
      fail_msg("%s: element %d is %.9g, not %.9g", name, (int)i, (double)got[i], (double)wanted[i]);
  }
}

static void compare(const char *name, const array *a, float *got) {
  float wanted[MOST];
  framework_read(got, a->memory, a->count, stream);
  assert_int_equal(convoy_tensor_read(a->cpu, wanted, a->count), CONVOY_OK);
  check_near(name, got, wanted, a->count);
}

/* The first time is proved and copied, the others are not looked at. */
static void test_operations(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
    float first[MOST], again[MOST];
    const array *result = operations[i].result;
    convoy_health before = {.struct_size = sizeof before}, after = before;
    for (int time = 0; time < 3; time++) {
      if (time == 1) assert_int_equal(convoy_get_health(card, &before), CONVOY_OK);
      if (operations[i].run(card, true))
        fail_msg("%s: %s", operations[i].name, convoy_last_error());
      if (operations[i].run(processor, false)) fail_msg("%s", convoy_last_error());
      compare(operations[i].name, result, time ? again : first);
      if (time && !operations[i].changes_operand)
        assert_memory_equal(first, again, (size_t)result->count * sizeof(float));
    }
    assert_int_equal(convoy_get_health(card, &after), CONVOY_OK);
    assert_int_equal(after.verified, before.verified);
    assert_int_equal(after.device_operations, before.device_operations + 2);
  }
}

/* Each as a graph: proved, carried out as it is from then on, and on other memory. */
static void test_graphs(void **state) {
  float got[MOST];
  (void)state;
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
    convoy_graph *graph;
    assert_int_equal(convoy_capture_begin(card), CONVOY_OK);
    assert_int_equal(operations[i].run(card, true), CONVOY_OK);
    assert_int_equal(convoy_capture_end(card, &graph), CONVOY_OK);
    for (int run = 0; run < 3; run++) {
      assert_int_equal(convoy_graph_run(graph, NULL), CONVOY_OK);
      assert_int_equal(operations[i].run(processor, false), CONVOY_OK);
      compare(operations[i].name, operations[i].result, got);
    }
    convoy_graph_free(graph);
  }
}

static void test_graph_on_other_memory(void **state) {
  float got[MOST], before[MOST];
  convoy_graph *graph;
  void *other = framework_memory(y.count);
  (void)state;
  framework_read(before, y.memory, y.count, stream);
  framework_write(other, before, y.count, stream);
  assert_int_equal(convoy_capture_begin(card), CONVOY_OK);
  assert_int_equal(forward(card, true), CONVOY_OK);
  assert_int_equal(convoy_capture_end(card, &graph), CONVOY_OK);
  assert_int_equal(convoy_graph_run(graph, NULL), CONVOY_OK);
  framework_write(y.memory, before, y.count, stream);
  assert_int_equal(convoy_tensors_rewrap(1, &y.wrapped, &other), CONVOY_OK);
  assert_int_equal(convoy_graph_run(graph, NULL), CONVOY_OK);
  framework_read(got, y.memory, y.count, stream);
  assert_memory_equal(got, before, (size_t)y.count * sizeof *got);
  assert_int_equal(convoy_tensors_rewrap(1, &y.wrapped, &y.memory), CONVOY_OK);
  assert_int_equal(forward(processor, false), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(y.cpu, before, y.count), CONVOY_OK);
  framework_read(got, other, y.count, stream);
  check_near("forward elsewhere", got, before, y.count);
  framework_write(y.memory, before, y.count, stream);
  convoy_graph_free(graph);
  framework_free(other);
}

/* Weights that the framework has changed: nothing may be left of what they were. */
static void test_changed_operand(void **state) {
  float got[MOST];
  (void)state;
  assert_int_equal(convoy_set_algorithm(card, "ocl.implicit_gemm"), CONVOY_OK);
  for (uint64_t time = 0; time < 4; time++) {
    fill(&w, 20 + time);
    assert_int_equal(forward(card, true), CONVOY_OK);
    assert_int_equal(forward(processor, false), CONVOY_OK);
    compare("changed weights", &y, got);
  }
}

/* What is Convoy's own and what is the framework's in one operation. */
static void test_mixed(void **state) {
  float got[MOST], wanted[MOST];
  convoy_tensor *own;
  (void)state;
  assert_int_equal(convoy_tensor_new(card, 4, y_shape, &own), CONVOY_OK);
  for (int time = 0; time < 3; time++) {
    fill(&x, 30 + (uint64_t)time);
    assert_int_equal(convoy_forward(card, &conv, x.wrapped, w.wrapped, NULL, NULL, own, NULL),
                     CONVOY_OK);
    assert_int_equal(forward(processor, false), CONVOY_OK);
    fill(&x, 90); /* the result does not depend on what becomes of the operand */
    assert_int_equal(convoy_tensor_read(own, got, y.count), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(y.cpu, wanted, y.count), CONVOY_OK);
    check_near("own result", got, wanted, y.count);
    assert_int_equal(convoy_relu(card, own, y.wrapped, NULL), CONVOY_OK);
    assert_int_equal(convoy_relu(processor, y.cpu, y.cpu, NULL), CONVOY_OK);
    compare("own operand", &y, got);
  }
  convoy_tensor_free(own);
}

static void test_read_and_write(void **state) {
  float values[MOST], got[MOST];
  test_random random = {7};
  (void)state;
  test_fill_reals(&random, values, x.count);
  assert_int_equal(convoy_tensor_write(x.wrapped, values, x.count), CONVOY_OK);
  framework_read(got, x.memory, x.count, stream);
  assert_memory_equal(got, values, (size_t)x.count * sizeof(float));
  for (int time = 0; time < 2; time++) {
    fill(&x, 40 + (uint64_t)time);
    framework_read(values, x.memory, x.count, stream);
    assert_int_equal(convoy_tensor_read(x.wrapped, got, x.count), CONVOY_OK);
    assert_memory_equal(got, values, (size_t)x.count * sizeof(float));
  }
}

/* Each operation reads what the one before wrote in the other stream. */
static void test_two_streams(void **state) {
  void *const streams[] = {stream, framework_stream()};
  float got[MOST];
  (void)state;
  for (int time = 0; time < 8; time++) {
    assert_int_equal(convoy_set_stream(card, streams[time % 2]), CONVOY_OK);
    assert_int_equal(program(card, true), CONVOY_OK);
    assert_int_equal(program(processor, false), CONVOY_OK);
  }
  assert_int_equal(convoy_set_stream(card, stream), CONVOY_OK);
  compare("two streams", &y, got);
  framework_stream_free(streams[1]);
}

/* ------------------------------------------------------------------------------ what is refused */

static void refuse(convoy_status wanted, convoy_status got, const char *words) {
  assert_int_equal(got, wanted);
  if (!strstr(convoy_last_error(), words)) fail_msg("it says: %s", convoy_last_error());
}

static void test_wrong_arguments(void **state) {
  convoy_tensor *out;
  const int64_t bytes = x.count * (int64_t)sizeof(float), bad[] = {1, -2, 3, 4};
  (void)state;
#define WRAP(shape, memory, bytes) \
  convoy_tensor_wrap(card, CONVOY_FLOAT32, 4, shape, memory, bytes, &out)
  refuse(CONVOY_ERR_ARGUMENT, WRAP(x_shape, NULL, bytes), "the address is 0");
  refuse(CONVOY_ERR_ARGUMENT, WRAP(x_shape, (char *)x.memory + 4, bytes), "multiple of 64");
  refuse(CONVOY_ERR_ARGUMENT, WRAP(x_shape, (void *)-64, bytes), "are no memory");
  refuse(CONVOY_ERR_SHAPE, WRAP(x_shape, x.memory, bytes - 4), "has 9212 bytes, the extents need");
  refuse(CONVOY_ERR_SHAPE, WRAP(bad, x.memory, bytes), "extent 1 is -2");
  refuse(CONVOY_ERR_ARGUMENT, WRAP(NULL, x.memory, bytes), "shape is NULL");
#undef WRAP
  refuse(CONVOY_ERR_UNSUPPORTED, convoy_commit(x.wrapped), "belongs to somebody else");
}

static void test_wrong_moves(void **state) {
  convoy_tensor *own, *tensors[2] = {x.wrapped, NULL};
  void *memory[2] = {x.memory, x.memory};
  (void)state;
  assert_int_equal(convoy_tensor_new(card, 4, x_shape, &own), CONVOY_OK);
  refuse(CONVOY_ERR_ARGUMENT, convoy_tensors_rewrap(0, tensors, memory), "count is 0");
  refuse(CONVOY_ERR_ARGUMENT, convoy_tensors_rewrap(2, tensors, memory), "a tensor in tensors");
  refuse(CONVOY_ERR_ARGUMENT, convoy_tensors_rewrap(1, tensors, NULL), "memory is NULL");
  tensors[1] = own;
  refuse(CONVOY_ERR_ARGUMENT, convoy_tensors_rewrap(2, tensors, memory), "tensor 1 is no wrapped");
  tensors[1] = x.cpu;
  refuse(CONVOY_ERR_ARGUMENT, convoy_tensors_rewrap(2, tensors, memory), "another context");
  memory[0] = (char *)x.memory + 4;
  refuse(CONVOY_ERR_ARGUMENT, convoy_tensors_rewrap(1, tensors, memory), "multiple of 64");
  memory[0] = x.memory;
  assert_int_equal(convoy_capture_begin(card), CONVOY_OK);
  refuse(CONVOY_ERR_ARGUMENT, convoy_tensors_rewrap(1, tensors, memory), "a capture is open");
  assert_int_equal(convoy_capture_end(card, NULL), CONVOY_OK);
  convoy_tensor_free(own);
}

static void test_other_contexts(void **state) {
  convoy_context *const ours = card;
  convoy_tensor *out;
  (void)state;
  const struct {
    const char *name, *words;
    int32_t isolation;
  } others[] = {{"cpu", "isolation caller", CONVOY_ISOLATION_NONE},
                {"ocl:0", "reached through OpenCL", CONVOY_ISOLATION_NONE},
                {device, "worker process", CONVOY_ISOLATION_PROCESS}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    assert_int_equal(open_on(others[i].name, others[i].isolation, &card), CONVOY_OK);
    refuse(CONVOY_ERR_UNSUPPORTED, wrap(&x, &out), others[i].words);
    refuse(CONVOY_ERR_UNSUPPORTED, convoy_set_stream(card, stream), others[i].words);
    convoy_close(card);
  }
  card = ours;
}

/* ------------------------------------------------------------------------------- what goes wrong
 */

/* Memory that is not there any more when it is used: the launch fails, other memory is good. */
static void test_failing_launch(void **state) {
  float got[MOST];
  array gone;
  (void)state;
  assert_int_equal(forward(card, true), CONVOY_OK);
  make(&gone, y_shape, 5);
  framework_free(gone.memory);
  convoy_status status =
      convoy_forward(card, &conv, x.wrapped, w.wrapped, NULL, NULL, gone.wrapped, NULL);
  refuse(CONVOY_ERR_DEVICE, status, "memory is not ours to compute elsewhere");
  convoy_tensor_free(gone.wrapped);
  convoy_tensor_free(gone.cpu);
  assert_int_equal(forward(card, true), CONVOY_OK);
  assert_int_equal(forward(processor, false), CONVOY_OK);
  compare("after a fault", &y, got);
}

/* Handles outlive the context, and the memory does not outlive the handles. */
static void test_order_of_freeing(void **state) {
  convoy_context *const ours = card;
  array late;
  (void)state;
  assert_int_equal(open_on(device, CONVOY_ISOLATION_NONE, &card), CONVOY_OK);
  make(&late, x_shape, 6);
  assert_int_equal(convoy_relu(card, late.wrapped, late.wrapped, NULL), CONVOY_OK);
  convoy_close(card);
  framework_free(late.memory);
  convoy_tensor_free(late.wrapped);
  convoy_tensor_free(late.cpu);
  card = ours;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_operations, begin, end),
      cmocka_unit_test_setup_teardown(test_graphs, begin, end),
      cmocka_unit_test_setup_teardown(test_graph_on_other_memory, begin, end),
      cmocka_unit_test_setup_teardown(test_changed_operand, begin, end),
      cmocka_unit_test_setup_teardown(test_mixed, begin, end),
      cmocka_unit_test_setup_teardown(test_read_and_write, begin, end),
      cmocka_unit_test_setup_teardown(test_two_streams, begin, end),
      cmocka_unit_test_setup_teardown(test_wrong_arguments, begin, end),
      cmocka_unit_test_setup_teardown(test_wrong_moves, begin, end),
      cmocka_unit_test_setup_teardown(test_other_contexts, begin, end),
      cmocka_unit_test_setup_teardown(test_failing_launch, begin, end),
      cmocka_unit_test_setup_teardown(test_order_of_freeing, begin, end),
  };
  device = getenv("CONVOY_TEST_DEVICE");
  if (!device) return 77;
  framework_start(device);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
