/* Many runs of a graph without reading anything: what stands behind the results stays small, and
 * whatever happens to the device it is enough. */
#include <pthread.h>
#include <stdlib.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/exec/commit.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/tensor.h"

enum { LONG = 300, RUNS = 100, COMMITTED = 16, UNDER_WAY = 3, KIB = 1024 };

/* Of a thread. glibc takes a library's thread-local storage from it, which ThreadSanitizer's needs
 * most of. */
#ifdef __SANITIZE_THREAD__
enum { STACK = 1024 * KIB };
#else
enum { STACK = 256 * KIB };
#endif

/* w = w + links * x, by so many additions one after the other, of which only the last is seen. */
typedef struct chain {
  convoy_context *context;
  convoy_tensor *x, *w;
  convoy_graph *graph;
  int32_t links;
  float sum;
} chain;

static chain capture_chain(convoy_context *context, int32_t links) {
  chain c = {.context = context, .links = links};
  c.x = filled(context, 0);
  c.w = filled(context, 0);
  begin(context);
  convoy_tensor *last = c.w;
  for (int32_t i = 1; i < links; i++) {
    convoy_tensor *next = filled(context, 0);
    add(context, last, c.x, next);
    if (last != c.w) convoy_tensor_free(last);
    last = next;
  }
  add(context, last, c.x, c.w);
  if (last != c.w) convoy_tensor_free(last);
  c.graph = end(context);
  return c;
}

static void step(chain *c, float x) {
  fill(c->x, x);
  run(c->graph);
  c->sum += (float)c->links * x;
}

static void close_chain(chain *c) {
  convoy_graph_free(c->graph);
  convoy_tensor_free(c->x);
  convoy_tensor_free(c->w);
  convoy_close(c->context);
  assert_int_equal(fake_seen.arrays, 0);
}

/* The weights that are being committed, x and w of the runs under way; nothing of those before. */
static void nothing_of_earlier_runs_stays_on_the_device(void **state) {
  (void)state;
  for (int fetches = 0; fetches < 2; fetches++) {
    fake_reset();
    fake.fetches = fetches;
    chain c = capture_chain(open_named("fake", CONVOY_ON), 5);
    int64_t most = 0;
    for (int k = 0; k < RUNS; k++) {
      step(&c, (float)(k % 3));
      assert_true(c.w->store->depth <= COMMITTED + UNDER_WAY);
      if (fake_seen.arrays > most) most = fake_seen.arrays;
    }
    assert_true(most <= 2LL * (1 + UNDER_WAY));
    /* The inputs of runs that may have to be carried out again, which the host has. */
    int64_t bytes = COUNT * (int64_t)sizeof(float);
    assert_true(health_of(c.context).history_bytes <= 2LL * (COMMITTED + UNDER_WAY) * bytes);
    expect(c.w, c.sum);
    assert_int_equal(health_of(c.context).failovers, 0);
    close_chain(&c);
  }
}

/* Copies have a fiftieth of the time, at 6 GB/s. */
static void commits_come_by_runs_and_by_time(void **state) {
  (void)state;
  assert_false(cvy_commit_is_due(15, 0, 1e9));
  assert_true(cvy_commit_is_due(16, 0, 0));
  assert_true(cvy_commit_is_due(16, 6e6, 0.051));
  assert_false(cvy_commit_is_due(16, 6e6, 0.049));
  assert_false(cvy_commit_is_due(127, 6e9, 49));
  assert_true(cvy_commit_is_due(128, 6e9, 0));
}

/* Wherever it happens; and it costs no more than the runs since the last commit. */
static void a_device_that_dies_loses_no_run(void **state) {
  (void)state;
  enum { LINKS = 5, MOST = (COMMITTED + 2 * UNDER_WAY) * LINKS };
  for (int fetches = 0; fetches < 2; fetches++)
    for (int64_t at = 1; at < 500; at += 7) {
      fake_reset();
      fake.fetches = fetches;
      chain c = capture_chain(open_named("fake", CONVOY_ON), LINKS);
      fake.fail_at = at;
      fake.dies = true;
      for (int k = 0; k < 60; k++) {
        int64_t before = health_of(c.context).device_operations;
        step(&c, (float)(k % 3));
        assert_true(health_of(c.context).device_operations >= before - MOST);
      }
      expect(c.w, c.sum);
      assert_int_equal(fake_seen.deaths, 1);
      close_chain(&c);
    }
}

/* Thousands of operations behind one result. */
static void *lose_a_long_chain(void *unused) {
  chain c = capture_chain(open_named("fake", CONVOY_ON), LONG);
  for (int k = 0; k < COMMITTED - 1; k++) step(&c, 1);
  fake.fail_at = fake_seen.commands + 1;
  fake.dies = true;
  expect(c.w, c.sum);
  assert_int_equal(fake_seen.deaths, 1);
  for (int k = 0; k < 3; k++) step(&c, 1);
  expect(c.w, c.sum);
  close_chain(&c);
  return unused;
}

static void chains_may_be_longer_than_the_stack(void **state) {
  (void)state;
  pthread_attr_t attributes;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, lose_a_long_chain, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
}

/* Nothing is read, and what is wrong is between: only a tap can see it. */
static void lies_between_are_found(void **state) {
  (void)state;
  chain c = capture_chain(open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON), 5);
  step(&c, 1); /* proves what it uses */
  fake.lie = FAKE_WRONG;
  fake.lie_one_of = 1;
  int runs = 0;
  while (health_of(c.context).wrong_results == 0 && runs < COMMITTED - 1) {
    step(&c, 1);
    runs++;
  }
  assert_true(runs <= 2 * UNDER_WAY);
  fake.lie = FAKE_HONEST;
  for (int k = 0; k < RUNS; k++) step(&c, 1);
  expect(c.w, c.sum);
  close_chain(&c);
}

/* What is verified wholly needs all operands: the chain is cut as that of single calls. */
static void all_is_verified_where_asked_for(void **state) {
  (void)state;
  chain c = capture_chain(open_verified("fake", CONVOY_VERIFY_ALL, CONVOY_ON), LONG);
  for (int k = 0; k < 3; k++) step(&c, 1);
  fake.lie = FAKE_WRONG;
  fake.lie_one_of = 1;
  step(&c, 1);
  assert_true(health_of(c.context).wrong_results > 0);
  expect(c.w, c.sum);
  close_chain(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(commits_come_by_runs_and_by_time),
      cmocka_unit_test_setup(nothing_of_earlier_runs_stays_on_the_device, capturing_reset),
      cmocka_unit_test_setup(a_device_that_dies_loses_no_run, capturing_reset),
      cmocka_unit_test_setup(chains_may_be_longer_than_the_stack, capturing_reset),
      cmocka_unit_test_setup(lies_between_are_found, capturing_reset),
      cmocka_unit_test_setup(all_is_verified_where_asked_for, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
