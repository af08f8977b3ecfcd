/* A state saved and loaded through C: all or nothing, and what a file must not do. The layout is
 * tested in Python, by a reader of its own (bindings/python/tests/test_state.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "convoy/convoy.h"

enum { COUNT = 6 };

typedef struct fixture {
  convoy_context *context;
  convoy_tensor *w, *labels;
  convoy_graph *graph;
  int64_t numbers[2];
  convoy_state *state;
  char path[64];
} fixture;

static void good(convoy_status status) {
  if (status) fail_msg("%s: %s", convoy_status_name(status), convoy_last_error());
}

static void write_values(const fixture *f, float value, int32_t label) {
  float values[COUNT];
  int32_t labels[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = value + (float)i, labels[i] = label - i;
  good(convoy_tensor_write(f->w, values, COUNT));
  good(convoy_tensor_write(f->labels, labels, COUNT));
}

static void expect(const fixture *f, float value, int32_t label) {
  float values[COUNT];
  int32_t labels[COUNT];
  good(convoy_tensor_read(f->w, values, COUNT));
  good(convoy_tensor_read(f->labels, labels, COUNT));
  for (int i = 0; i < COUNT; i++) {
    assert_true(values[i] == value + (float)i);
    assert_int_equal(labels[i], label - i);
  }
}

static void add_members(fixture *f, convoy_state *state) {
  good(convoy_state_tensor(state, "w", f->w));
  good(convoy_state_tensor(state, "labels", f->labels));
  good(convoy_state_numbers(state, "numbers", f->numbers, 2));
  good(convoy_state_graph(state, "graph", f->graph));
  good(convoy_state_seed(state, "seed"));
}

static int set_up(void **state) {
  static fixture f;
  convoy_options options = CONVOY_OPTIONS_INIT;
  const int64_t shape[] = {2, 3};
  f = (fixture){.path = "/tmp/convoy-state-XXXXXX"};
  options.device = "cpu";
  close(mkstemp(f.path));
  good(convoy_open(&options, &f.context));
  good(convoy_seed(f.context, UINT64_MAX));
  good(convoy_tensor_new(f.context, 2, shape, &f.w));
  good(convoy_tensor_new_typed(f.context, CONVOY_INT32, 2, shape, &f.labels));
  good(convoy_capture_begin(f.context));
  good(convoy_dropout(f.context, 0.0, f.w, f.w, NULL));
  good(convoy_capture_end(f.context, &f.graph));
  good(convoy_state_new(f.context, &f.state));
  add_members(&f, f.state);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  convoy_state_free(f->state);
  convoy_graph_free(f->graph);
  convoy_tensor_free(f->w);
  convoy_tensor_free(f->labels);
  convoy_close(f->context);
  unlink(f->path);
  return 0;
}

static void saved_and_loaded(void **state) {
  fixture *f = *state;
  uint64_t runs;
  write_values(f, 0.5f, 7);
  f->numbers[0] = INT64_MIN, f->numbers[1] = 9;
  good(convoy_graph_set_runs(f->graph, 12));
  good(convoy_state_save(f->state, f->path));
  write_values(f, 3.0f, 1);
  f->numbers[0] = f->numbers[1] = 0;
  good(convoy_graph_run(f->graph, NULL));
  good(convoy_state_load(f->state, f->path, 0));
  expect(f, 0.5f, 7);
  good(convoy_graph_runs(f->graph, &runs));
  assert_int_equal(runs, 12);
  assert_true(f->numbers[0] == INT64_MIN && f->numbers[1] == 9);
}

static void expect_refused(fixture *f, convoy_state *state, uint32_t flags, convoy_status status,
                           const char *words) {
  assert_int_equal(convoy_state_load(state, f->path, flags), status);
  if (!strstr(convoy_last_error(), words)) fail_msg("'%s' lacks '%s'", convoy_last_error(), words);
  expect(f, 3.0f, 1);
  assert_int_equal(f->numbers[0], 4);
}

static void refused_files_change_nothing(void **state) {
  fixture *f = *state;
  convoy_state *other;
  good(convoy_state_save(f->state, f->path));
  write_values(f, 3.0f, 1);
  f->numbers[0] = 4;
  good(convoy_state_new(f->context, &other));
  good(convoy_state_tensor(other, "w", f->w));
  good(convoy_state_tensor(other, "labels", f->labels));
  expect_refused(f, other, 0, CONVOY_ERR_SHAPE, "which the state lacks");
  expect_refused(f, other, 4, CONVOY_ERR_ARGUMENT, "unknown");
  good(convoy_state_numbers(other, "numbers", f->numbers, 1));
  expect_refused(f, other, CONVOY_STATE_EXTRA, CONVOY_ERR_SHAPE, "I64 [2] there and I64 [] here");
  good(convoy_state_numbers(other, "more", f->numbers, 1));
  expect_refused(f, other, CONVOY_STATE_EXTRA, CONVOY_ERR_SHAPE, "numbers");
  convoy_state_free(other);
  assert_int_equal(truncate(f->path, 40), 0);
  expect_refused(f, f->state, 3, CONVOY_ERR_IO, "cut off");
  unlink(f->path);
  expect_refused(f, f->state, 3, CONVOY_ERR_NOT_FOUND, "no file");
}

static void what_is_null_is_said(void **state) {
  fixture *f = *state;
  convoy_state *none;
  assert_int_equal(convoy_state_new(f->context, NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_new(NULL, &none), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_tensor(f->state, "t", NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_tensor(f->state, NULL, f->w), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_tensor(NULL, "t", f->w), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_graph(f->state, "g", NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_numbers(f->state, "n", NULL, 1), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_seed(f->state, NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_save(f->state, NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_load(NULL, f->path, 0), CONVOY_ERR_ARGUMENT);
  convoy_state_free(NULL);
}

/* Its tensors outlive their handles, and it outlives its context. */
static void a_state_outlives_all(void **state) {
  fixture *f = *state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  convoy_tensor *tensor;
  convoy_state *kept;
  const int64_t one = 1;
  options.device = "cpu";
  good(convoy_open(&options, &context));
  good(convoy_tensor_new(context, 1, &one, &tensor));
  good(convoy_state_new(context, &kept));
  good(convoy_state_tensor(kept, "t", tensor));
  convoy_tensor_free(tensor);
  good(convoy_state_save(kept, f->path));
  convoy_close(context);
  assert_int_equal(convoy_state_save(kept, f->path), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_state_load(kept, f->path, 0), CONVOY_ERR_ARGUMENT);
  convoy_state_free(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(saved_and_loaded, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refused_files_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_null_is_said, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_state_outlives_all, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
