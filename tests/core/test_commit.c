/* Commits in the background: nobody waits, a copy counts only when it is complete, and whatever
 * fails on the way, what was committed before stays and the new values come from somewhere. */
#include <stdlib.h>

#include "common/cmocka.h"
#include "core/contents.h"
#include "core/fake.h"
#include "core/open.h"

enum { COUNT = 50, MANY = 100 };
static const int64_t shape[] = {1, 1, COUNT}, point[] = {1, 1, 1};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

/* x is 0, 1, 2 ... and w is 2, so that w applied n times to x is i * 2^n. */
typedef struct net {
  convoy_context *context;
  convoy_tensor *x, *w;
} net;

static net make(convoy_verify verify) {
  float values[COUNT];
  const float two[] = {2};
  net out = {.context = NULL};
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "fake";
  options.verify = (int32_t)verify;
  options.tune = CONVOY_NO;
  for (int i = 0; i < COUNT; i++) values[i] = (float)i;
  assert_int_equal(convoy_open(&options, &out.context), CONVOY_OK);
  out.x = tensor_of(out.context, shape, values);
  out.w = tensor_of(out.context, point, two);
  return out;
}

static net begin(void) {
  fake_reset();
  fake.fetches = true;
  return make(CONVOY_VERIFY_OFF);
}

static void end(const net *n) {
  convoy_tensor_free(n->x);
  convoy_tensor_free(n->w);
  convoy_close(n->context);
  assert_int_equal(fake_seen.copies, 0);
  assert_int_equal(fake_seen.arrays, 0);
}

static convoy_tensor *forward(const net *n, convoy_tensor *from) {
  convoy_tensor *y = tensor_of(n->context, shape, NULL);
  assert_int_equal(convoy_forward(n->context, &conv, from, n->w, NULL, NULL, y, NULL), CONVOY_OK);
  return y;
}

static void expect(convoy_tensor *y, float factor) {
  float wanted[COUNT];
  for (int i = 0; i < COUNT; i++) wanted[i] = factor * (float)i;
  check_tensor(y, wanted);
}

static void die_at_once(void) {
  fake.fail_at = fake_seen.commands + 1;
  fake.dies = true;
}

/* The fake device works only while somebody waits for it: nobody does. */
static void test_does_not_wait(void **state) {
  (void)state;
  net n = begin();
  convoy_tensor *y = forward(&n, n.x);
  int64_t commands = fake_seen.commands;
  assert_int_equal(convoy_commit(y), CONVOY_OK);
  assert_int_equal(convoy_commit(y), CONVOY_OK);
  assert_int_equal(fake_seen.commands, commands);
  assert_int_equal(fake_seen.copies, 1);
  assert_null(y->store->host);
  assert_int_equal(convoy_sync(n.context), CONVOY_OK);
  assert_non_null(y->store->host);
  die_at_once();
  convoy_tensor *z = forward(&n, n.x);
  expect(z, 2);
  expect(y, 2);
  assert_int_equal(health_of(n.context).failovers, 1); /* z alone */
  convoy_tensor_free(y);
  convoy_tensor_free(z);
  end(&n);
}

/* What has come is taken by any call that follows, without anybody's asking for it. */
static void test_taken_by_the_next_call(void **state) {
  (void)state;
  net n = begin();
  convoy_tensor *y = forward(&n, n.x), *z = forward(&n, y);
  assert_int_equal(convoy_commit(y), CONVOY_OK);
  convoy_mark_step(n.context, 1);
  assert_null(y->store->host);
  expect(z, 4); /* the device has come past the copy */
  assert_int_equal(fake_seen.copies, 1);
  convoy_mark_step(n.context, 2);
  assert_int_equal(fake_seen.copies, 0);
  assert_non_null(y->store->host);
  expect(y, 2);
  convoy_tensor_free(y);
  convoy_tensor_free(z);
  end(&n);
}

/* Sums: the earlier one has been committed, the later one is on its way when the device dies. */
static void test_earlier_commit_stays(void **state) {
  (void)state;
  net n = begin();
  float one[COUNT];
  for (int i = 0; i < COUNT; i++) one[i] = 1;
  convoy_tensor *dy = tensor_of(n.context, shape, one), *dw = tensor_of(n.context, point, NULL);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(convoy_backward_weights(n.context, &conv, n.x, dy, 1, dw, NULL), CONVOY_OK);
    assert_int_equal(convoy_commit(dw), CONVOY_OK);
    if (i == 0) assert_int_equal(convoy_sync(n.context), CONVOY_OK);
  }
  die_at_once();
  check_tensor(dw, (const float[]){COUNT * (COUNT - 1)});
  assert_int_equal(health_of(n.context).failovers, 1); /* the first sum was not computed again */
  convoy_tensor_free(dy);
  convoy_tensor_free(dw);
  end(&n);
}

/* A chain with commits in its middle, up to the failure of every command in every way. */
static void run_chain(void) {
  net n = make(CONVOY_VERIFY_OFF);
  convoy_tensor *y[6];
  for (int i = 0; i < 6; i++) {
    y[i] = forward(&n, i ? y[i - 1] : n.x);
    assert_int_equal(convoy_commit(y[i]), CONVOY_OK);
    if (i == 2) assert_int_equal(convoy_sync(n.context), CONVOY_OK);
  }
  convoy_tensor_free(y[1]); /* on its way or not */
  for (int i = 5; i >= 0; i--) {
    if (i == 1) continue;
    expect(y[i], (float)(2 << i));
    convoy_tensor_free(y[i]);
  }
  end(&n);
}

static void test_every_command_fails(void **state) {
  (void)state;
  fake_reset();
  fake.fetches = true;
  run_chain();
  const int64_t commands = fake_seen.commands;
  assert_true(commands > 20);
  for (int64_t at = 1; at <= commands; at++) {
    for (int way = 0; way < 4; way++) {
      fake_reset();
      fake.fetches = true;
      fake.fail_at = at;
      fake.dies = way & 1;
      fake.refuses_at_once = way & 2;
      run_chain();
      assert_true(fake_seen.commands >= at);
    }
  }
}

/* More than the device fetches at once: the oldest are waited for, none is lost. */
static void test_bounded(void **state) {
  (void)state;
  net n = begin();
  convoy_tensor *y[MANY];
  for (int i = 0; i < MANY; i++) {
    y[i] = forward(&n, n.x);
    assert_int_equal(convoy_commit(y[i]), CONVOY_OK);
    assert_true(fake_seen.copies <= FAKE_COPIES);
  }
  assert_non_null(y[0]->store->host);
  assert_int_equal(convoy_sync(n.context), CONVOY_OK);
  assert_int_equal(fake_seen.copies, 0);
  die_at_once();
  for (int i = 0; i < MANY; i++) {
    expect(y[i], 2);
    convoy_tensor_free(y[i]);
  }
  assert_int_equal(health_of(n.context).failovers, 0);
  end(&n);
}

/* Waiting for room can be interrupted, and is not for long: the next commit goes on. */
static void test_interrupted(void **state) {
  (void)state;
  net n = begin();
  convoy_tensor *y[FAKE_COPIES + 1];
  for (int i = 0; i <= FAKE_COPIES; i++) {
    y[i] = forward(&n, n.x);
    if (i < FAKE_COPIES) assert_int_equal(convoy_commit(y[i]), CONVOY_OK);
  }
  fake.interrupts = true;
  assert_int_equal(convoy_commit(y[FAKE_COPIES]), CONVOY_ERR_INTERRUPTED);
  assert_int_equal(convoy_commit(y[FAKE_COPIES]), CONVOY_OK);
  for (int i = 0; i <= FAKE_COPIES; i++) {
    expect(y[i], 2);
    convoy_tensor_free(y[i]);
  }
  assert_int_equal(health_of(n.context).faults, 0);
  end(&n);
}

/* A lie is found when the copy is taken, and computed anew. */
static void test_verified(void **state) {
  (void)state;
  fake_reset();
  fake.fetches = true;
  net n = make(CONVOY_VERIFY_ALL);
  convoy_tensor *y = forward(&n, n.x); /* a first use is waited for, the next is not */
  fake.lie = FAKE_WRONG;
  fake.lie_element = 7;
  convoy_tensor *z = forward(&n, n.x);
  assert_int_equal(convoy_commit(z), CONVOY_OK);
  assert_null(z->store->host);
  assert_int_equal(convoy_sync(n.context), CONVOY_OK);
  assert_int_equal(health_of(n.context).wrong_results, 1);
  expect(z, 2);
  expect(y, 2);
  convoy_tensor_free(y);
  convoy_tensor_free(z);
  end(&n);
}

int main(void) {
  setenv("CONVOY_FAULT_LIMIT", "0", 1); /* a device that fails often is used all the same */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_does_not_wait),
      cmocka_unit_test(test_taken_by_the_next_call),
      cmocka_unit_test(test_earlier_commit_stays),
      cmocka_unit_test(test_every_command_fails),
      cmocka_unit_test(test_bounded),
      cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_verified),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
