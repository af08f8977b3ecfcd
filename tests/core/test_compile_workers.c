/* Compile workers on the fake device: what they are asked to build, when they are started, and that neither their
 * failure nor their hanging costs anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"
#include "os/os.h"

static const int64_t x_shape[] = {1, 1, 8}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 7};
static const convoy_conv conv = CONVOY_CONV_INIT(1);
static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, w[] = {1, -2},
                   y[] = {-3, -4, -5, -6, -7, -8, -9};

static void compile(const cvy_job *job) {
  (void)job;
  __atomic_fetch_add(&fake.compiled, 1, __ATOMIC_RELAXED);
}

static int reset(void **state) {
  (void)state;
  fake_reset();
  fake.on_run = compile;
  setenv("CONVOY_COMPILE_WORKERS", "2", 1);
  return 0;
}

typedef struct layer {
  convoy_context *context;
  convoy_tensor *x, *w, *y;
} layer;

static layer make_layer(convoy_context *context) {
  return (layer){context, tensor_of(context, x_shape, x), tensor_of(context, w_shape, w),
                 tensor_of(context, y_shape, NULL)};
}

static void forward(layer *of, convoy_run *run) {
  assert_int_equal(convoy_forward(of->context, &conv, of->x, of->w, NULL, NULL, of->y, run),
                   CONVOY_OK);
}

static void free_layer(layer *of) {
  convoy_tensor_free(of->x);
  convoy_tensor_free(of->w);
  convoy_tensor_free(of->y);
}

/* One operation that is waited for, on a fresh context. */
static layer run_one(void) {
  convoy_run run = CONVOY_RUN_INIT;
  layer made = make_layer(open_named("fake:1", CONVOY_ON));
  forward(&made, &run);
  assert_string_equal(run.device, "fake:1");
  return made;
}

static int64_t builds_of(int direction) {
  return __atomic_load_n(&fake_seen.builds[direction], __ATOMIC_RELAXED);
}

static int64_t builds(void) {
  int64_t sum = 0;
  for (int d = 0; d < CONVOY_DIRECTIONS; d++) sum += builds_of(d);
  return sum;
}

static int64_t closes(void) {
  return __atomic_load_n(&fake_seen.closes, __ATOMIC_SEQ_CST);
}

static void await_builds(int64_t wanted) {
  const double end = cvy_clock() + 20;
  while (builds() < wanted && cvy_clock() < end) usleep(1000);
  assert_int_equal(builds(), wanted);
}

/* As many compile workers as that have been, and none is left. */
static void close_all(layer *of, int64_t workers) {
  check_tensor(of->y, y);
  const convoy_health health = health_of(of->context);
  assert_int_equal(health.faults + health.failovers + health.downgrades, 0);
  free_layer(of);
  convoy_close(of->context);
  assert_int_equal(fake_seen.opens, 1 + workers);
  assert_int_equal(fake_seen.closes, fake_seen.opens);
}

/* ---------------------------------------------------------------------------- what is built */

static void test_all_passes_of_a_layer(void **state) {
  (void)state;
  layer all = run_one();
  await_builds(3);
  for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_WEIGHTS; d++) assert_int_equal(builds_of(d), 1);
  for (int i = 0; i < 5; i++) forward(&all, NULL); /* nothing new in these */
  convoy_sync(all.context);
  usleep(20000);
  assert_int_equal(builds(), 3);
  close_all(&all, 2);
}

/* Whether something had to be compiled shows when the wait begins. */
static void test_enqueued(void **state) {
  (void)state;
  layer all = make_layer(open_named("fake:1", CONVOY_ON));
  forward(&all, NULL);
  usleep(20000);
  assert_int_equal(fake_seen.opens, 1);
  assert_int_equal(convoy_sync(all.context), CONVOY_OK);
  await_builds(3);
  close_all(&all, 2);
}

static void test_nothing_starts_when_nothing_is_compiled(void **state) {
  (void)state;
  fake.on_run = NULL;
  layer all = run_one();
  convoy_sync(all.context);
  fake.compiled = 1; /* what ran until now is not built for it */
  convoy_sync(all.context);
  usleep(20000);
  assert_int_equal(builds(), 0);
  close_all(&all, 0);
}

/* What is announced is built when something else had to be compiled, and not before. */
static void test_prepared(void **state) {
  (void)state;
  const int64_t other[] = {1, 1, 30}, none[] = {0, 1, 30};
  convoy_context *context = open_named("fake:1", CONVOY_ON);
  assert_int_equal(convoy_prepare(context, &conv, CONVOY_FORWARD, other, w_shape), CONVOY_OK);
  assert_int_equal(convoy_prepare(context, &conv, CONVOY_FORWARD, none, w_shape), CONVOY_OK);
  assert_int_equal(convoy_prepare(context, &conv, CONVOY_FORWARD, NULL, w_shape),
                   CONVOY_ERR_ARGUMENT);
  usleep(20000);
  assert_int_equal(fake_seen.opens, 1);
  layer all = make_layer(context);
  convoy_run run = CONVOY_RUN_INIT;
  forward(&all, &run);
  await_builds(4);
  assert_int_equal(builds_of(CONVOY_FORWARD), 2);
  close_all(&all, 2);
}

static void test_tuning_announces_candidates(void **state) {
  (void)state;
  char folder[] = "/tmp/convoy-test-XXXXXX", file[64], lock[80];
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/tune.txt", folder);
  snprintf(lock, sizeof lock, "%s.lock", file);
  setenv("CONVOY_TUNE_FILE", file, 1);
  layer all = run_one();
  convoy_tuned found = {.struct_size = sizeof found};
  await_builds(3);
  assert_int_equal(convoy_tune(all.context, &conv, CONVOY_FORWARD, x_shape, w_shape, 0.3, &found),
                   CONVOY_OK);
  const int64_t of_layer = 3, already = 1; /* what is chosen untuned was built with the layer */
  assert_true(builds() >= of_layer + 2 - already);
  close_all(&all, 2);
  unlink(lock);
  unlink(file);
  unsetenv("CONVOY_TUNE_FILE");
  assert_int_equal(rmdir(folder), 0);
}

/* --------------------------------------------------------------------------- what they cost */

static void test_failing(void **state) {
  (void)state;
  fake.build_status = CONVOY_ERR_DEVICE;
  layer all = run_one();
  await_builds(2); /* each compile worker fails once; the third job is left to whoever needs it */
  usleep(20000);
  convoy_run run = CONVOY_RUN_INIT;
  forward(&all, &run);
  close_all(&all, 2);
}

static void test_hanging(void **state) {
  (void)state;
  fake.builds_hang = true;
  layer all = run_one();
  await_builds(2);
  const double start = cvy_clock();
  close_all(&all, 2);
  assert_true(cvy_clock() - start < 2.0);
}

/* One that does not even end is left behind, and cleans up after itself. */
static void test_stuck(void **state) {
  (void)state;
  fake.builds_stuck = 1;
  layer all = run_one();
  await_builds(2);
  const double start = cvy_clock();
  free_layer(&all);
  convoy_close(all.context);
  assert_true(cvy_clock() - start < 10.0);
  assert_int_equal(closes(), 1);
  __atomic_store_n(&fake.builds_stuck, 0, __ATOMIC_RELAXED);
  while (closes() < 3) usleep(1000);
  usleep(20000);
}

static void test_fork(void **state) {
  (void)state;
  fake.builds_hang = true;
  layer all = run_one();
  await_builds(2);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    assert_int_equal(health_of(all.context).downgrades, 1); /* the CPU computes from now on */
    free_layer(&all);
    convoy_close(all.context);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  close_all(&all, 2);
}

/* -------------------------------------------------------------------------------- how many */

static void test_none(void **state) {
  (void)state;
  setenv("CONVOY_COMPILE_WORKERS", "0", 1);
  layer all = run_one();
  usleep(20000);
  close_all(&all, 0);
}

static void test_no_number(void **state) {
  (void)state;
  static const char *const wrong[] = {"two", "-1", "65"};
  for (size_t i = 0; i < CVY_COUNT(wrong); i++) {
    convoy_context *context = NULL;
    setenv("CONVOY_COMPILE_WORKERS", wrong[i], 1);
    assert_int_equal(convoy_open(NULL, &context), CONVOY_ERR_ARGUMENT);
    assert_non_null(strstr(convoy_last_error(), "CONVOY_COMPILE_WORKERS"));
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, reset)
  const struct CMUnitTest tests[] = {
      TEST(test_all_passes_of_a_layer),
      TEST(test_enqueued),
      TEST(test_nothing_starts_when_nothing_is_compiled),
      TEST(test_prepared),
      TEST(test_tuning_announces_candidates),
      TEST(test_failing),
      TEST(test_hanging),
      TEST(test_stuck),
      TEST(test_fork),
      TEST(test_none),
      TEST(test_no_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
