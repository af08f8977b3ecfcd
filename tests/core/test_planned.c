/* Runs of graphs by one command: the same results, whatever happens to the device, and nothing left
 * over. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/fake.h"
#include "core/graph/device_plan.h"
#include "core/open.h"

enum { LINKS = 4, RUNS = 60, KIB = 1024 };

/* s = w + x, by a chain that is not fused; w = w + s. Both are read. */
typedef struct training {
  convoy_context *context;
  convoy_tensor *x, *w, *s;
  convoy_graph *graph;
  float w_now, s_now;
} training;

static training capture_training(convoy_context *context) {
  training t = {.context = context};
  t.x = filled(context, 0);
  t.w = filled(context, 1);
  t.s = filled(context, 0);
  t.w_now = 1;
  begin(context);
  convoy_tensor *y = filled(context, 0), *z = filled(context, 0);
  add(context, t.x, t.w, y);
  add(context, y, t.x, z);
  add(context, z, t.x, t.s);
  add(context, t.w, t.s, t.w);
  convoy_tensor_free(y);
  convoy_tensor_free(z);
  t.graph = end(context);
  return t;
}

/* Numbers stay small enough to be exact. */
static void step(training *t, float x) {
  fill(t->x, x);
  run(t->graph);
  t->s_now = 3 * x + t->w_now;
  t->w_now = t->w_now + t->s_now;
  if (t->w_now > 1e5f) {
    fill(t->w, 1);
    t->w_now = 1;
  }
}

static void close_training(training *t) {
  convoy_graph_free(t->graph);
  convoy_tensor_free(t->x);
  convoy_tensor_free(t->w);
  convoy_tensor_free(t->s);
  convoy_close(t->context);
  assert_int_equal(fake_seen.arrays, 0);
  assert_int_equal(fake_seen.plans, 0);
}

static training planned_training(convoy_verify verify) {
  fake_takes_plans();
  return capture_training(open_verified("fake", verify, CONVOY_ON));
}

/* --------------------------------------------------------------------------------- one command */

static void the_first_run_proves_and_the_next_are_one_command(void **state) {
  (void)state;
  training t = planned_training(CONVOY_VERIFY_SAMPLE);
  step(&t, 1);
  assert_int_equal(t.graph->plan->device->trust, CVY_PLAN_PROVEN);
  assert_int_equal(fake_seen.plan_runs, 1);
  int64_t operations = health_of(t.context).operations;
  for (int k = 0; k < 5; k++) step(&t, (float)k);
  expect(t.s, t.s_now);
  expect(t.w, t.w_now);
  assert_int_equal(fake_seen.plan_runs, 6);
  assert_int_equal(health_of(t.context).operations - operations, 5 * LINKS);
  close_training(&t);
}

static void nothing_is_proved_where_nothing_is_verified(void **state) {
  (void)state;
  training t = planned_training(CONVOY_VERIFY_OFF);
  for (int k = 0; k < 5; k++) step(&t, (float)k);
  expect(t.w, t.w_now);
  assert_int_equal(fake_seen.plan_runs, 5);
  close_training(&t);
}

static void verifying_all_takes_operation_by_operation(void **state) {
  (void)state;
  training t = planned_training(CONVOY_VERIFY_ALL);
  for (int k = 0; k < 5; k++) step(&t, (float)k);
  expect(t.w, t.w_now);
  assert_int_equal(fake_seen.plan_runs, 0);
  close_training(&t);
}

/* As a plan that is wrong would look. */
static void a_plan_that_makes_other_bits_is_refused(void **state) {
  (void)state;
  fake.lie = FAKE_WRONG;
  fake.lie_one_of = 1;
  fake.honest_calls = true;
  training t = planned_training(CONVOY_VERIFY_SAMPLE);
  for (int k = 0; k < 5; k++) step(&t, (float)k);
  assert_int_equal(t.graph->plan->device->trust, CVY_PLAN_REFUSED);
  assert_int_equal(health_of(t.context).downgrades, 1);
  assert_int_equal(fake_seen.plan_runs, 1);
  expect(t.w, t.w_now);
  expect(t.s, t.s_now);
  close_training(&t);
}

/* Other algorithms, which a fault or the trainer brings, are proved anew. */
static void other_algorithms_are_proved_anew(void **state) {
  (void)state;
  training t = planned_training(CONVOY_VERIFY_SAMPLE);
  step(&t, 1);
  step(&t, 1);
  expect(t.w, t.w_now);
  assert_int_equal(fake_seen.plan_runs, 2);
  assert_int_equal(convoy_set_algorithm(t.context, "fake.direct"), CONVOY_OK);
  step(&t, 2); /* it is the same algorithm: only the device is told anew */
  expect(t.w, t.w_now);
  assert_int_equal(fake_seen.plan_runs, 3);
  assert_int_equal(t.graph->plan->device->trust, CVY_PLAN_PROVEN);
  assert_int_equal(fake_seen.plans, 1);
  close_training(&t);
}

/* Nothing is read, and every result is wrong: only a sample can see it. */
static void lies_between_are_found(void **state) {
  (void)state;
  training t = planned_training(CONVOY_VERIFY_SAMPLE);
  step(&t, 1);
  fake.lie = FAKE_WRONG;
  fake.lie_one_of = 1;
  int64_t operations = 0;
  while (health_of(t.context).wrong_results == 0 && operations < 200 * CVY_SAMPLED_EVERY) {
    fill(t.w, 1);
    run(t.graph);
    operations += LINKS;
  }
  assert_int_equal(health_of(t.context).wrong_results, 1);
  assert_true(operations >= CVY_SAMPLED_EVERY);
  fake.lie = FAKE_HONEST;
  fill(t.w, 1);
  t.w_now = 1;
  for (int k = 0; k < RUNS; k++) step(&t, 1);
  expect(t.w, t.w_now);
  close_training(&t);
}

/* What is right is sampled again and again, and stays right; how often, the time that it takes
 * says. */
static void samples_of_runs_are_taken(void **state) {
  (void)state;
  training t = planned_training(CONVOY_VERIFY_SAMPLE);
  step(&t, 1);
  int64_t verified = health_of(t.context).verified;
  for (int k = 0; k < 200 * CVY_SAMPLED_EVERY / LINKS; k++) {
    if (health_of(t.context).verified > verified + 1) break;
    step(&t, (float)(k % 3));
  }
  expect(t.w, t.w_now);
  assert_true(health_of(t.context).verified > verified + 1);
  assert_int_equal(health_of(t.context).wrong_results, 0);
  close_training(&t);
}

/* ----------------------------------------------------------------------------------- memory */

static void memory_is_flat(void **state) {
  (void)state;
  for (int fetches = 0; fetches < 2; fetches++) {
    fake_reset();
    fake.fetches = fetches;
    training t = planned_training(CONVOY_VERIFY_SAMPLE);
    int64_t most = 0, later = 0;
    for (int k = 0; k < 4 * RUNS; k++) {
      step(&t, (float)(k % 3));
      int64_t *seen = k < 2 * RUNS ? &most : &later;
      if (fake_seen.arrays > *seen) *seen = fake_seen.arrays;
    }
    assert_true(later <= most);
    expect(t.w, t.w_now);
    assert_int_equal(health_of(t.context).failovers, 0);
    close_training(&t);
  }
}

static void graphs_share_what_they_make_on_the_way(void **state) {
  (void)state;
  training a = planned_training(CONVOY_VERIFY_OFF), b = capture_training(a.context);
  for (int k = 0; k < 6; k++) {
    step(&a, (float)k);
    step(&b, (float)(2 * k));
  }
  assert_int_equal(a.context->shared.plans, 2);
  assert_int_equal(a.context->shared.count, 1);
  expect(a.w, a.w_now);
  expect(b.w, b.w_now);
  convoy_graph_free(b.graph);
  step(&a, 1);
  expect(a.w, a.w_now);
  expect(b.w, b.w_now); /* what stands behind it outlives the graph */
  convoy_tensor_free(b.x);
  convoy_tensor_free(b.w);
  convoy_tensor_free(b.s);
  close_training(&a);
}

static void freed_graphs_leave_nothing_behind(void **state) {
  (void)state;
  fake_takes_plans();
  convoy_context *context = open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON);
  int64_t stores = 0;
  for (int k = 0; k < 20; k++) {
    training t = capture_training(context);
    for (int i = 0; i < 5; i++) step(&t, 1);
    convoy_graph_free(t.graph);
    convoy_tensor_free(t.x);
    convoy_tensor_free(t.w);
    convoy_tensor_free(t.s);
    int64_t count = 0;
    for (const cvy_store *each = context->stores; each; each = each->next) count++;
    if (k == 0) stores = count;
    assert_int_equal(count, stores);
  }
  convoy_close(context);
  assert_int_equal(fake_seen.arrays, 0);
  assert_int_equal(fake_seen.plans, 0);
}

/* ----------------------------------------------------------------------------------- faults */

static void faults_anywhere_lose_nothing(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++)
    for (int64_t at = 1; at < 400; at += 3) {
      fake_reset();
      fake.fetches = at % 2;
      training t = planned_training(CONVOY_VERIFY_SAMPLE);
      fake.fail_at = at;
      fake.dies = kind == 1;
      fake.empties = kind == 2;
      for (int k = 0; k < RUNS; k++) {
        step(&t, (float)(k % 3));
        if (k % 9 == 8) expect(t.s, t.s_now);
      }
      expect(t.w, t.w_now);
      expect(t.s, t.s_now);
      assert_int_equal(health_of(t.context).faults, 1);
      close_training(&t);
    }
}

static void many_faults_lose_nothing(void **state) {
  (void)state;
  fake.fetches = true;
  training t = planned_training(CONVOY_VERIFY_SAMPLE);
  for (int k = 0; k < 20 * RUNS; k++) {
    if (k % 17 == 0) fake.fail_at = fake_seen.commands + 1 + k % 23;
    fake.empties = k % 2;
    step(&t, (float)(k % 3));
    if (k % 31 == 0) expect(t.w, t.w_now);
  }
  expect(t.w, t.w_now);
  assert_true(health_of(t.context).faults > 50);
  close_training(&t);
}

/* The table of faults names the operation, not the run. */
static void a_fault_is_the_steps(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "3", 1);
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_OK);
  training t = planned_training(CONVOY_VERIFY_OFF);
  step(&t, 1);
  expect(t.s, t.s_now);
  fill(t.x, 2);
  assert_int_equal(convoy_sync(t.context), CONVOY_OK);
  int64_t seen = fake_seen.commands;
  step(&t, 2);
  expect(t.s, t.s_now);
  fake.fail_at = fake_seen.commands + (fake_seen.commands - seen) - 2;
  step(&t, 2);
  expect(t.s, t.s_now);
  char table[4 * KIB];
  assert_int_equal(convoy_fault_table(NULL, table, sizeof table), CONVOY_OK);
  check_says(table, "fake.direct");
  check_says(table, "y0 = x0 + x1");
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_OK);
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  close_training(&t);
}

static void without_failover_a_fault_is_the_calls(void **state) {
  (void)state;
  fake_takes_plans();
  training t = capture_training(open_verified("fake", CONVOY_VERIFY_OFF, CONVOY_NO));
  step(&t, 1);
  expect(t.s, t.s_now);
  fake.fail_at = fake_seen.commands + 4;
  fake.failures = 1;
  float values[COUNT];
  convoy_status status = CONVOY_OK;
  for (int k = 0; k < 6 && !status; k++) {
    status = convoy_graph_run(t.graph, NULL);
    if (!status) status = convoy_tensor_read(t.s, values, COUNT);
  }
  assert_int_equal(status, CONVOY_ERR_DEVICE);
  close_training(&t);
}

/* ---------------------------------------------------------------------------------- the NaN watch
 */

static char nonfinite[256];
static void note_event(void *user, const convoy_event *event) {
  (void)user;
  if (event->kind == CONVOY_EVENT_NONFINITE) memcpy(nonfinite, event->message, sizeof nonfinite);
}

static void the_nan_watch_names_the_operation(void **state) {
  (void)state;
  setenv("CONVOY_NAN_WATCH", "1", 1);
  training t = planned_training(CONVOY_VERIFY_SAMPLE);
  assert_int_equal(convoy_set_event_callback(t.context, note_event, NULL), CONVOY_OK);
  step(&t, 1);
  nonfinite[0] = 0;
  fill(t.x, 3.4e38f);
  run(t.graph);
  float values[COUNT];
  assert_int_equal(convoy_tensor_read(t.w, values, COUNT), CONVOY_OK);
  check_says(nonfinite, "y0[0] is inf");
  unsetenv("CONVOY_NAN_WATCH");
  close_training(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_first_run_proves_and_the_next_are_one_command, capturing_reset),
      cmocka_unit_test_setup(nothing_is_proved_where_nothing_is_verified, capturing_reset),
      cmocka_unit_test_setup(verifying_all_takes_operation_by_operation, capturing_reset),
      cmocka_unit_test_setup(a_plan_that_makes_other_bits_is_refused, capturing_reset),
      cmocka_unit_test_setup(other_algorithms_are_proved_anew, capturing_reset),
      cmocka_unit_test_setup(lies_between_are_found, capturing_reset),
      cmocka_unit_test_setup(samples_of_runs_are_taken, capturing_reset),
      cmocka_unit_test_setup(memory_is_flat, capturing_reset),
      cmocka_unit_test_setup(graphs_share_what_they_make_on_the_way, capturing_reset),
      cmocka_unit_test_setup(freed_graphs_leave_nothing_behind, capturing_reset),
      cmocka_unit_test_setup(faults_anywhere_lose_nothing, capturing_reset),
      cmocka_unit_test_setup(many_faults_lose_nothing, capturing_reset),
      cmocka_unit_test_setup(a_fault_is_the_steps, capturing_reset),
      cmocka_unit_test_setup(without_failover_a_fault_is_the_calls, capturing_reset),
      cmocka_unit_test_setup(the_nan_watch_names_the_operation, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
