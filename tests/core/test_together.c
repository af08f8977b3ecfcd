/* What goes between host and device together: small arrays by one command, and values that are the
 * caller's until they are returned. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/fake.h"
#include "core/open.h"

enum { PAIRS = 8, BIG = 300000 };

/* sum[i] = a[i] + b[i] as one plan. */
typedef struct sums {
  convoy_context *context;
  convoy_graph *graph;
  convoy_tensor *read[2 * PAIRS], *made[PAIRS];
  float given[2 * PAIRS][COUNT], got[PAIRS][COUNT];
} sums;

static void give(sums *s, float first) {
  const void *values[2 * PAIRS];
  int64_t counts[2 * PAIRS];
  for (int i = 0; i < 2 * PAIRS; i++) {
    for (int j = 0; j < COUNT; j++) s->given[i][j] = first + (float)(i * COUNT + j);
    values[i] = s->given[i];
    counts[i] = COUNT;
  }
  assert_int_equal(convoy_tensors_lend(2 * PAIRS, s->read, values, counts), CONVOY_OK);
}

static sums capture_sums_on(convoy_context *context) {
  sums s = {.context = context};
  for (int i = 0; i < 2 * PAIRS; i++) s.read[i] = filled(s.context, 0);
  for (int i = 0; i < PAIRS; i++) s.made[i] = filled(s.context, 0);
  begin(s.context);
  for (int i = 0; i < PAIRS; i++) add(s.context, s.read[2 * i], s.read[2 * i + 1], s.made[i]);
  s.graph = end(s.context);
  return s;
}

static sums capture_sums(const char *device) {
  return capture_sums_on(open_named(device, CONVOY_ON));
}

static void take(sums *s) {
  void *places[PAIRS];
  int64_t counts[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    memset(s->got[i], 0, sizeof s->got[i]);
    places[i] = s->got[i];
    counts[i] = COUNT;
  }
  assert_int_equal(convoy_tensors_read(PAIRS, s->made, places, counts), CONVOY_OK);
}

static void check(const sums *s, float first) {
  for (int i = 0; i < PAIRS; i++)
    for (int j = 0; j < COUNT; j++)
      assert_true(s->got[i][j] == 2 * first + (float)((4 * i + 1) * COUNT + 2 * j));
}

static void step(sums *s, float first) {
  give(s, first);
  run(s->graph);
  assert_int_equal(convoy_return_lent(s->context), CONVOY_OK);
  memset(s->given, 0xff, sizeof s->given); /* NaN: it is the caller's again */
  take(s);
  check(s, first);
}

static void close_sums(sums *s) {
  convoy_graph_free(s->graph);
  for (int i = 0; i < 2 * PAIRS; i++) convoy_tensor_free(s->read[i]);
  for (int i = 0; i < PAIRS; i++) convoy_tensor_free(s->made[i]);
  convoy_close(s->context);
  assert_int_equal(fake_seen.arrays, 0);
}

/* Beside the plan's eight steps, which count, a write, a read and what names arrays: not 16 writes
 * and 8 reads. */
static void small_arrays_are_one_command(void **state) {
  (void)state;
  fake_takes_plans();
  sums s = capture_sums("fake");
  for (int k = 0; k < 3; k++) step(&s, (float)k);
  int64_t before = fake_seen.commands;
  step(&s, 7);
  assert_true(fake_seen.commands - before < 2 * PAIRS);
  close_sums(&s);
}

static void every_fault_is_made_good(void **state) {
  (void)state;
  for (int at = 1; at < 60; at++) {
    fake_reset();
    fake_takes_plans();
    fake.fail_at = at;
    fake.failures = 1;
    fake.empties = at % 2;
    sums s = capture_sums("fake");
    for (int k = 0; k < 4; k++) step(&s, (float)k);
    close_sums(&s);
  }
}

static void wrong_results_are_made_good(void **state) {
  (void)state;
  fake_takes_plans();
  fake.lie = FAKE_WRONG;
  fake.lie_one_of = 1;
  sums s = capture_sums_on(open_verified("fake", CONVOY_VERIFY_ALL, CONVOY_ON));
  for (int k = 0; k < 4; k++) step(&s, (float)k);
  close_sums(&s);
}

/* By the CPU engine and operation by operation, too. */
static void lent_values_are_copied_when_they_are_returned(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    sums s = capture_sums(capturing_devices[d]);
    for (int k = 0; k < 3; k++) step(&s, (float)k);
    float kept[COUNT];
    assert_int_equal(convoy_tensor_read(s.read[3], kept, COUNT), CONVOY_OK);
    for (int j = 0; j < COUNT; j++) assert_true(kept[j] == 2 + (float)(3 * COUNT + j));
    assert_int_equal(convoy_return_lent(s.context), CONVOY_OK); /* nothing is lent now */
    close_sums(&s);
  }
}

static void lending_refuses_what_writing_does(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *t[] = {filled(context, 1)};
  const float values[COUNT] = {0};
  const void *const given[] = {values};
  const int64_t right[] = {COUNT}, wrong[] = {COUNT - 1};
  assert_int_equal(convoy_tensors_lend(1, t, given, wrong), CONVOY_ERR_SHAPE);
  expect_refused(convoy_tensors_lend(0, t, given, right), "0");
  expect_refused(convoy_tensors_lend(1, t, NULL, right), "NULL");
  assert_int_equal(convoy_return_lent(NULL), CONVOY_ERR_ARGUMENT);
  expect(t[0], 1);
  convoy_tensor_free(t[0]);
  convoy_close(context);
}

/* Large ones among the small: they go alone, and by the device itself into memory that it reaches.
 */
static void large_results_come_where_they_are_wanted(void **state) {
  (void)state;
  fake_takes_plans();
  fake.shared_memory = true;
  convoy_context *context = open_named("fake", CONVOY_ON);
  const int64_t shape[] = {BIG};
  float *values = malloc(BIG * sizeof *values);
  void *shared;
  assert_non_null(values);
  assert_int_equal(convoy_host_alloc(context, BIG * sizeof *values, &shared), CONVOY_OK);
  convoy_tensor *big = NULL, *twice = NULL, *small = filled(context, 1), *sum = filled(context, 0);
  assert_int_equal(convoy_tensor_new(context, 1, shape, &big), CONVOY_OK);
  assert_int_equal(convoy_tensor_new(context, 1, shape, &twice), CONVOY_OK);
  begin(context);
  add(context, big, big, twice);
  add(context, small, small, sum);
  convoy_graph *graph = end(context);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < BIG; i++) values[i] = (float)(i + k);
    assert_int_equal(convoy_tensor_write(big, values, BIG), CONVOY_OK);
    run(graph);
    float got[COUNT];
    convoy_tensor *t[] = {sum, twice};
    void *const places[] = {got, shared};
    const int64_t counts[] = {COUNT, BIG};
    assert_int_equal(convoy_tensors_read(2, t, places, counts), CONVOY_OK);
    assert_true(got[0] == 2);
    for (int i = 0; i < BIG; i++) assert_true(((float *)shared)[i] == (float)(2 * (i + k)));
  }
  convoy_graph_free(graph);
  convoy_tensor *const all[] = {big, twice, small, sum};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_host_free(context, shared);
  convoy_close(context);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(small_arrays_are_one_command, capturing_reset),
      cmocka_unit_test_setup(every_fault_is_made_good, capturing_reset),
      cmocka_unit_test_setup(wrong_results_are_made_good, capturing_reset),
      cmocka_unit_test_setup(lent_values_are_copied_when_they_are_returned, capturing_reset),
      cmocka_unit_test_setup(lending_refuses_what_writing_does, capturing_reset),
      cmocka_unit_test_setup(large_results_come_where_they_are_wanted, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
