/* Tensors that share an array under extents of their own, within captures and outside, and many
 * tensors that are written and read at once. */
#include <string.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/exec/store.h"
#include "core/fake.h"
#include "core/open.h"

static convoy_tensor *shaped(convoy_context *context, int32_t dims, const int64_t *shape) {
  convoy_tensor *tensor = NULL;
  assert_int_equal(convoy_tensor_new(context, dims, shape, &tensor), CONVOY_OK);
  return tensor;
}

static void copy(const convoy_tensor *from, convoy_tensor *to) {
  assert_int_equal(convoy_tensor_copy(from, to), CONVOY_OK);
}

static void free_all(convoy_tensor *const *tensors, size_t count) {
  for (size_t i = 0; i < count; i++) convoy_tensor_free(tensors[i]);
}

static void close_empty(convoy_context *context) {
  assert_null(context->stores);
  convoy_close(context);
  assert_int_equal(fake_seen.arrays, 0);
}

/* --------------------------------------------------------------------------------- one by one */

static void a_copy_keeps_what_it_got(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    const int64_t other[] = {3, 2};
    convoy_tensor *const t[] = {filled(context, 1), filled(context, 0), shaped(context, 2, other)};
    add(context, t[0], t[0], t[1]);
    copy(t[1], t[2]);
    copy(t[1], t[1]); /* nothing happens */
    add(context, t[1], t[1], t[1]);
    expect(t[2], 2);
    expect(t[1], 4);
    fill(t[1], 9);
    copy(t[2], t[1]);
    fill(t[2], 5);
    expect(t[1], 2);
    free_all(t, 3);
    close_empty(context);
  }
}

/* The same array takes part in an operation under two extents. */
static void extents_are_each_tensors_own(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  const int64_t row[] = {1, 1, 4}, column[] = {4}, maps[] = {1, 4, 4};
  convoy_tensor *const t[] = {tensor_of(context, row, (const float[]){1, 2, 3, 4}),
                              shaped(context, 1, column), shaped(context, 3, maps)};
  copy(t[0], t[1]);
  add(context, t[0], t[1], t[2]); /* along w, and along c */
  const float wanted[] = {2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7, 5, 6, 7, 8};
  check_tensor(t[2], wanted);
  free_all(t, 3);
  close_empty(context);
}

static void misfits_are_refused(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON), *other = open_named("cpu", CONVOY_ON);
  const int64_t five[] = {5};
  convoy_tensor *bytes = NULL;
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_UINT8, 3, capturing_shape, &bytes),
                   CONVOY_OK);
  convoy_tensor *const t[] = {filled(context, 1), shaped(context, 1, five), bytes,
                              filled(other, 2)};
  assert_int_equal(convoy_tensor_copy(t[0], t[1]), CONVOY_ERR_SHAPE);
  check_says(convoy_last_error(), "6");
  expect_refused(convoy_tensor_copy(t[0], t[2]), "types");
  expect_refused(convoy_tensor_copy(t[0], t[3]), "contexts");
  expect_refused(convoy_tensor_copy(NULL, t[0]), "from");
  expect_refused(convoy_tensor_copy(t[0], NULL), "to");
  expect(t[3], 2);
  convoy_close(other);
  expect_refused(convoy_tensor_copy(t[0], t[3]), "");
  free_all(t, 4);
  close_empty(context);
}

/* --------------------------------------------------------------------------------- in captures */

/* y is x under other extents; z, an output, is what w was before the run, and w its double. */
static void captured_copies_belong_to_the_graph(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    const int64_t flat[] = {6};
    convoy_tensor *const t[] = {filled(context, 1), filled(context, 3), filled(context, 7),
                                filled(context, 0), filled(context, 0)};
    convoy_tensor *y = shaped(context, 1, flat);
    begin(context);
    copy(t[1], t[2]);
    add(context, t[1], t[1], t[1]);
    copy(t[0], y);
    copy(y, t[4]);
    add(context, t[4], t[0], t[3]);
    convoy_tensor_free(y);
    convoy_graph *graph = end(context);
    expect(t[2], 7); /* nothing has happened yet */
    run(graph);
    expect(t[2], 3);
    expect(t[1], 6);
    expect(t[3], 2);
    expect(t[4], 1);
    fill(t[0], 4);
    run(graph);
    expect(t[2], 6);
    expect(t[1], 12);
    expect(t[3], 8);
    convoy_graph_free(graph);
    free_all(t, 5);
    close_empty(context);
  }
}

static void gradients_pass_through_copies(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  const int64_t flat[] = {1, 6};
  convoy_tensor *const t[] = {filled(context, 3), shaped(context, 2, flat),
                              shaped(context, 2, flat), filled(context, 0), filled(context, 2)};
  begin(context);
  copy(t[0], t[1]);
  assert_int_equal(convoy_multiply(context, t[1], t[1], t[2], NULL), CONVOY_OK);
  assert_int_equal(convoy_gradients(context, t[2], t[4], 1, &t[0], &t[3]), CONVOY_OK);
  convoy_graph *graph = end(context);
  run(graph);
  expect(t[3], 12); /* 2 x, times 2 */
  convoy_graph_free(graph);
  free_all(t, 5);
  close_empty(context);
}

/* A fault takes the device's copies: what was shared is computed anew for both. */
static void shared_values_survive_a_fault(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_tensor *const t[] = {filled(context, 1), filled(context, 0), filled(context, 0),
                              filled(context, 0)};
  add(context, t[0], t[0], t[1]);
  copy(t[1], t[2]);
  fake.fail_at = fake_seen.commands + 2;
  fake.failures = 1;
  fake.empties = true;
  add(context, t[1], t[2], t[3]);
  expect(t[3], 4);
  expect(t[2], 2);
  expect(t[1], 2);
  free_all(t, 4);
  close_empty(context);
}

/* -------------------------------------------------------------------------------- many at once */

static void many_are_written_and_read_together(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    fake.fetches = true;
    convoy_tensor *t[] = {filled(context, 1), filled(context, 0), filled(context, 0)};
    const float ones[COUNT] = {1, 1, 1, 1, 1, 1}, twos[COUNT] = {2, 2, 2, 2, 2, 2};
    const void *const given[] = {ones, twos};
    const int64_t counts[] = {COUNT, COUNT, COUNT};
    assert_int_equal(convoy_tensors_write(2, t, given, counts), CONVOY_OK);
    add(context, t[0], t[1], t[2]);
    float got[3][COUNT] = {{0}};
    void *const places[] = {got[0], got[1], got[2]};
    assert_int_equal(convoy_tensors_read(3, t, places, counts), CONVOY_OK);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < COUNT; j++) assert_true(got[i][j] == (float)(i + 1));
    free_all(t, 3);
    close_empty(context);
  }
}

/* Only what has changed is sent again. */
static void what_is_there_is_not_sent_again(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_tensor *t[] = {filled(context, 0), filled(context, 0), filled(context, 0)};
  float values[2][COUNT] = {{1}, {2}};
  const void *const given[] = {values[0], values[1]};
  const int64_t counts[] = {COUNT, COUNT};
  int64_t commands[3];
  for (int changed = 2; changed >= 0; changed--) {
    for (int i = 0; i < changed; i++) values[i][COUNT - 1] += 1;
    int64_t before = fake_seen.commands;
    assert_int_equal(convoy_tensors_write(2, t, given, counts), CONVOY_OK);
    add(context, t[0], t[1], t[2]);
    const float sum[COUNT] = {3, 0, 0, 0, 0, values[0][COUNT - 1] + values[1][COUNT - 1]};
    check_tensor(t[2], sum); /* which waits for what was enqueued */
    commands[changed] = fake_seen.commands - before;
  }
  assert_true(commands[2] > commands[1]);
  assert_true(commands[1] > commands[0]);
  free_all(t, 3);
  close_empty(context);
}

static void many_are_all_or_none(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON), *other = open_named("cpu", CONVOY_ON);
  convoy_tensor *t[] = {filled(context, 1), filled(context, 2)};
  convoy_tensor *mixed[] = {t[0], filled(other, 3)}, *gap[] = {t[0], NULL};
  float values[2][COUNT] = {{5}, {5}};
  void *const places[] = {values[0], values[1]}, *const hole[] = {values[0], NULL};
  const void *const given[] = {values[0], values[1]}, *const missing[] = {values[0], NULL};
  const int64_t right[] = {COUNT, COUNT}, wrong[] = {COUNT, 7};
  assert_int_equal(convoy_tensors_write(2, t, given, wrong), CONVOY_ERR_SHAPE);
  check_says(convoy_last_error(), "7");
  assert_int_equal(convoy_tensors_read(2, t, places, wrong), CONVOY_ERR_SHAPE);
  expect_refused(convoy_tensors_write(2, mixed, given, right), "another context");
  expect_refused(convoy_tensors_read(2, mixed, places, right), "another context");
  expect_refused(convoy_tensors_write(2, gap, given, right), "NULL");
  expect_refused(convoy_tensors_read(2, t, hole, right), "NULL");
  expect_refused(convoy_tensors_write(2, t, missing, right), "NULL");
  expect_refused(convoy_tensors_write(2, t, given, NULL), "counts");
  expect_refused(convoy_tensors_write(0, t, given, right), "0");
  expect_refused(convoy_tensors_read(-1, t, places, right), "-1");
  begin(context);
  expect_refused(convoy_tensors_read(2, t, places, right), "capture");
  convoy_graph_free(end(context));
  assert_true(values[0][0] == 5 && values[1][0] == 5);
  expect(t[0], 1);
  expect(t[1], 2);
  free_all(t, 2);
  convoy_tensor_free(mixed[1]);
  convoy_close(other);
  close_empty(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_copy_keeps_what_it_got, capturing_reset),
      cmocka_unit_test_setup(extents_are_each_tensors_own, capturing_reset),
      cmocka_unit_test_setup(misfits_are_refused, capturing_reset),
      cmocka_unit_test_setup(captured_copies_belong_to_the_graph, capturing_reset),
      cmocka_unit_test_setup(gradients_pass_through_copies, capturing_reset),
      cmocka_unit_test_setup(shared_values_survive_a_fault, capturing_reset),
      cmocka_unit_test_setup(many_are_written_and_read_together, capturing_reset),
      cmocka_unit_test_setup(what_is_there_is_not_sent_again, capturing_reset),
      cmocka_unit_test_setup(many_are_all_or_none, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
