/* Building without running: what a lane makes of a compiler that fails, hangs or crashes, and how
 * long an interrupt takes. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

static convoy_status build(cvy_device *device) {
  const cvy_job job = lane_job(0, 0, 0); /* needs no arrays */
  return command_build(LANE, device, &job);
}

static void check_usable(cvy_device *device) {
  assert_int_equal(build(device), CONVOY_OK);
  lane_put(device, 1, 1000, 1);
  lane_expect(device, 1, 1000, 1);
}

static void test_builds(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  check_usable(device);
  LANE->close(device);
}

/* A program that does not compile is no fault of the device. */
static void test_refused(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), "refuse:1");
  assert_int_equal(build(device), CONVOY_ERR_DEVICE);
  assert_sentence_has("fake refusal of build");
  check_usable(device);
  LANE->close(device);
}

static void test_impossible_job(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  cvy_job job = lane_job(0, 0, 0);
  job.algorithm = 1;
  assert_int_equal(command_build(LANE, device, &job), CONVOY_ERR_DEVICE);
  assert_sentence_has("algorithm 1 of 1");
  check_usable(device);
  LANE->close(device);
}

/* What was begun has been compiled: the counts say so. */
static void test_begun(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  uint64_t ticket = 0;
  cvy_usage usage;
  assert_int_equal(command_allocate(LANE, device, 1, 8, &ticket), CONVOY_OK);
  assert_int_equal(LANE->begun(device, ticket, NULL), CONVOY_OK);
  LANE->usage(device, &usage);
  assert_int_equal(usage.bytes, 8);
  LANE->close(device);
}

/* ------------------------------------------------------------------- in a process only */

static bool is_there(int pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

static void test_crashes(void **state) {
  (void)state;
  cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, "segv:1");
  assert_int_equal(build(device), CONVOY_ERR_DEVICE);
  assert_sentence_has("was killed by signal 11");
  assert_int_equal(LANE->begun(device, 1, NULL), CONVOY_ERR_DEVICE);
  LANE->close(device);
}

static void test_hangs(void **state) {
  (void)state;
  cvy_device *device = lane_open_impatient("compile=0.5", "wait:1");
  const int worker = lane_worker(device);
  const double start = cvy_clock();
  assert_int_equal(build(device), CONVOY_ERR_DEADLINE);
  assert_sentence_has("was compiling a program");
  assert_true(cvy_clock() - start < 2.0);
  assert_false(is_there(worker));
  LANE->close(device);
  unsetenv("CONVOY_DEADLINE");
}

static void *interrupt_soon(void *unused) {
  usleep(200000);
  __atomic_store_n(&lane_interrupt, 1, __ATOMIC_RELAXED);
  return unused;
}

static void test_interrupted(void **state) {
  (void)state;
  pthread_t thread;
  cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, "compile:1");
  const int worker = lane_worker(device);
  const double start = cvy_clock();
  assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, NULL), 0);
  assert_int_equal(build(device), CONVOY_ERR_INTERRUPTED);
  assert_true(cvy_clock() - start < 1.0);
  LANE->close(device); /* asks it to leave, and ends it when it does not */
  assert_true(cvy_clock() - start < 4.0);
  assert_false(is_there(worker));
  pthread_join(thread, NULL);
  lane_interrupt = 0;
}

int main(void) {
  const struct CMUnitTest both[] = {
      cmocka_unit_test(test_builds),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_impossible_job),
      cmocka_unit_test(test_begun),
  };
  const struct CMUnitTest process[] = {
      cmocka_unit_test(test_crashes),
      cmocka_unit_test(test_hangs),
      cmocka_unit_test(test_interrupted),
  };
  return lane_run_all(both, CVY_COUNT(both)) + cmocka_run_group_tests(process, NULL, NULL);
}
