/* Host memory runs out at any allocation: the call says so or succeeds, outputs stay untouched. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/compositions.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/step.h"

/* The linker sends the library's allocations here (--wrap). One of them fails. */
static int64_t countdown;

static int fails(void) {
  return countdown > 0 && --countdown == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes) {
  return fails() ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes) {
  return fails() ? 12 : __real_posix_memalign(out, alignment, bytes);
}

/* ------------------------------------------------------------------------------ the tests */

static step_result expected;

static void ignore_event(void *user, const convoy_event *event) {
  (void)user;
  (void)event;
}

/* Open, allocate, run a step, with a record to load; the first status that is not OK. */
static convoy_status everything(step_result *result) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  void *block;
  options.device = "cpu";
  options.threads = 1;
  convoy_status status = convoy_open(&options, &context);
  if (status) return status;
  status = convoy_set_event_callback(context, ignore_event, NULL);
  if (!status) status = convoy_host_alloc(context, 10, &block);
  if (!status) convoy_host_free(context, block);
  if (!status) status = step_host(context, result);
  if (!status) status = step_tensors(context, result);
  convoy_close(context);
  return status;
}

static void test_cpu(void **state) {
  (void)state;
  static step_result result;
  int64_t refused = 0;
  for (int64_t n = 1;; n++) {
    step_poison(&result);
    countdown = n;
    convoy_status status = everything(&result);
    bool done = countdown > 0; /* nothing failed: all allocations have had their turn */
    countdown = 0;
    refused += status == CONVOY_ERR_MEMORY;
    assert_true(status == CONVOY_OK || status == CONVOY_ERR_MEMORY);
    if (!status) assert_int_equal(step_difference(&result, &expected), -1);
    if (done) break;
  }
  assert_true(refused > 40);
}

/* Borrowing the caller's memory for a device, and keeping results, may fail at each piece. The fake
 * device itself does not survive a lack of memory, so it is given what it needs. */
static void test_failed_operation_touches_nothing(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
  const float x[] = {1, 2, 3, 4}, w[] = {1, 10};
  for (int64_t n = 1; n <= 3; n++) {
    convoy_options options = CONVOY_OPTIONS_INIT;
    convoy_context *context;
    float y[3] = {-1, -1, -1};
    fake_reset();
    options.device = "fake";
    assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
    countdown = n; /* the result's store, x's, w's */
    assert_int_equal(
        convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL),
        CONVOY_ERR_MEMORY);
    countdown = 0;
    assert_true(y[0] == -1 && y[1] == -1 && y[2] == -1);
    convoy_close(context);
  }
}

/* ---------------------------------------------------------------------------- compositions */

/* At each allocation in turn: what is refused has changed nothing, and noted nothing in a capture,
 * so that the next try does all. Says how often it was refused. */
static int64_t refuse_each(const composition *c, bool captured) {
  float before[SET_VALUES], now[SET_VALUES], wanted[SET_VALUES];
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_graph *graph;
  int64_t refused = 0;
  set s;
  set_make(context, &s);
  set_read(&s, before);
  if (captured) assert_int_equal(convoy_capture_begin(context), CONVOY_OK);
  for (convoy_status status = CONVOY_ERR_MEMORY; status; refused += status != CONVOY_OK) {
    countdown = refused + 1;
    status = c->call(&s);
    countdown = 0;
    if (!status) break;
    if (status != CONVOY_ERR_MEMORY) fail_msg("%s: %s", c->name, convoy_last_error());
    if (!captured) {
      set_read(&s, now);
      assert_memory_equal(before, now, sizeof now);
    }
  }
  if (captured) {
    assert_int_equal(convoy_capture_end(context, &graph), CONVOY_OK);
    assert_int_equal(convoy_graph_run(graph, NULL), CONVOY_OK);
    convoy_graph_free(graph);
  }
  set_read(&s, now);
  set_free(&s);
  set_make(context, &s);
  assert_int_equal(convoy_seed(context, 0), CONVOY_OK);
  assert_int_equal(c->call(&s), CONVOY_OK);
  set_read(&s, wanted);
  assert_memory_equal(now, wanted, sizeof now);
  set_free(&s);
  convoy_close(context);
  return refused;
}

static void test_compositions(void **state) {
  (void)state;
  for (int i = 0; i < COMPOSITIONS; i++) {
    int64_t called = refuse_each(&compositions[i], false);
    int64_t noted = refuse_each(&compositions[i], true);
    assert_true(called >= 3 && noted >= 2);
  }
}

/* ---------------------------------------------------------------------------------- states */

static convoy_state *make_state(const set *s) {
  convoy_state *state;
  assert_int_equal(convoy_state_new(s->context, &state), CONVOY_OK);
  for (int i = 0; i < SET; i++) {
    const char name[] = {(char)('a' + i), '\0'};
    assert_int_equal(convoy_state_tensor(state, name, s->tensor[i]), CONVOY_OK);
  }
  assert_int_equal(convoy_state_seed(state, "seed"), CONVOY_OK);
  return state;
}

/* Saved at the last of some tries, loaded at the last of others, and nothing changed before. */
static void test_states(void **state) {
  (void)state;
  char path[] = "/tmp/convoy-exhausted-XXXXXX";
  float before[SET_VALUES], now[SET_VALUES];
  int64_t refused = 0, kept;
  convoy_status status;
  set s;
  close(mkstemp(path));
  set_make(open_named("cpu", CONVOY_ON), &s);
  convoy_state *saved = make_state(&s);
  set_read(&s, before);
  do {
    countdown = ++refused;
    status = convoy_state_save(saved, path);
    countdown = 0;
  } while (status == CONVOY_ERR_MEMORY);
  assert_int_equal(status, CONVOY_OK);
  assert_true(refused > 5);
  assert_int_equal(convoy_softmax(s.context, 1, s.tensor[X], s.tensor[X], NULL), CONVOY_OK);
  for (kept = 0, status = CONVOY_ERR_MEMORY; status == CONVOY_ERR_MEMORY; kept++) {
    set_read(&s, now);
    assert_memory_not_equal(now, before, sizeof now);
    countdown = kept + 1;
    status = convoy_state_load(saved, path, 0);
    countdown = 0;
  }
  assert_int_equal(status, CONVOY_OK);
  assert_true(kept > 20);
  set_read(&s, now);
  assert_memory_equal(now, before, sizeof now);
  convoy_state_free(saved);
  set_free(&s);
  convoy_close(s.context);
  unlink(path);
}

static int make_expected(void **state) {
  (void)state;
  fake_reset();
  step_expected(&expected);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cpu),
      cmocka_unit_test(test_compositions),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_failed_operation_touches_nothing),
  };
  return cmocka_run_group_tests(tests, make_expected, NULL);
}
