/* Workers that hang, at every place the lane waits for them: each wait ends in its time and says
 * why, and a fresh worker takes over. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

#define DEADLINES "run=0.5,compile=0.5,transfer=0.5,probe=0.5,start=0.8,restarts=1000"

static cvy_device *open_with(const char *script) {
  return lane_open_impatient(DEADLINES, script);
}

static bool is_there(int pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

/* The lane works again, with an empty device and a worker that behaves. */
static void check_mended(cvy_device *device, int gone) {
  bool emptied = false;
  setenv("FAKE_ENGINE", "", 1);
  if (command_clear(LANE, device, &emptied)) fail_msg("clear: %s", cvy_last_error());
  assert_true(emptied);
  assert_int_not_equal(lane_worker(device), gone);
  lane_put(device, 7, 5000000, 3);
  lane_expect(device, 7, 5000000, 3);
}

/* The deadline is missed after `least` seconds; by `most` the worker has been killed too. */
static void check_hang(const char *script, double least, double most, const char *doing) {
  cvy_device *device = open_with(script);
  const int worker = lane_worker(device);
  double seconds;
  assert_int_equal(lane_use(device, &seconds), CONVOY_ERR_DEADLINE);
  assert_sentence_has(doing);
  if (!(seconds >= least && seconds < most))
    fail_msg("%s: %g s, not %g to %g", script, seconds, least, most);
  assert_false(is_there(worker));
  assert_int_equal(lane_use(device, &seconds), CONVOY_ERR_DEADLINE);
  assert_true(seconds < 0.05);
  check_mended(device, worker);
  LANE->close(device);
}

static void test_command_hangs(void **state) {
  (void)state;
  check_hang("hang:1", 0.5, 2, "was transferring");
}

static void test_compiler_hangs(void **state) {
  (void)state;
  check_hang("wait:1", 0.5, 2, "was compiling a program");
}

static void test_compiler_loops(void **state) {
  (void)state;
  /* On a busy machine longer: what it waits for a processor does not count. */
  check_hang("compile:1", 5, 40, "was compiling a program");
}

static void test_gpu_hangs_while_its_driver_polls(void **state) {
  (void)state;
  setenv("FAKE_GPU", "1", 1);
  check_hang("spin:1", 0.5, 2, "was transferring");
  unsetenv("FAKE_GPU");
}

static void test_wait_hangs(void **state) {
  (void)state;
  check_hang("slow:1", 0.5, 2, "was running");
}

static void test_worker_alone_is_stopped(void **state) {
  cvy_device *device = open_with(NULL);
  const int worker = lane_worker(device);
  double seconds;
  (void)state;
  kill(worker, SIGSTOP);
  assert_int_equal(lane_use(device, &seconds), CONVOY_ERR_DEADLINE);
  assert_true(seconds >= 0.5 && seconds < 2);
  check_mended(device, worker);
  LANE->close(device);
}

static void test_list_hangs(void **state) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  int32_t count = 7;
  (void)state;
  setenv("CONVOY_DEADLINE", DEADLINES, 1);
  setenv("FAKE_ENGINE", "list:0", 1);
  const double start = cvy_clock();
  assert_int_equal(LANE->list(&options, NULL, 0, &count), CONVOY_ERR_DEADLINE);
  assert_sentence_has("was listing devices");
  assert_true(cvy_clock() - start < 2);
  assert_int_equal(count, 0);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_open_hangs(void **state) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device = NULL;
  (void)state;
  setenv("CONVOY_DEADLINE", DEADLINES, 1);
  setenv("FAKE_ENGINE", "open:0", 1);
  double start = cvy_clock();
  assert_int_equal(LANE->open(0, &options, &device), CONVOY_ERR_DEADLINE);
  assert_sentence_has("was opening the device");
  assert_true(cvy_clock() - start < 2.4);
  double budget = 0.3;
  options.budget = &budget;
  start = cvy_clock();
  assert_int_equal(LANE->open(0, &options, &device), CONVOY_ERR_DEADLINE);
  assert_sentence_has("budget");
  assert_true(cvy_clock() - start < 1.9);
  assert_null(device);
}

/* Every kind of call on a hung device, one after the other, within one budget. */
static void test_budget_holds_for_all_attempts(void **state) {
  setenv("CONVOY_DEADLINE", "run=60,transfer=60,start=60", 1);
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device = NULL;
  double budget = 60;
  options.budget = &budget;
  setenv("FAKE_ENGINE", "hang:1", 1);
  assert_int_equal(LANE->open(0, &options, &device), CONVOY_OK);
  char *bytes = calloc(1, 80 << 20);
  uint64_t ticket, fault;
  bool emptied = false;
  const double start = cvy_clock();
  (void)state;
  budget = 0.6;
  command_allocate(LANE, device, 1, 80 << 20, &ticket);
  assert_int_equal(LANE->write(device, 1, bytes, 80 << 20, &ticket), CONVOY_ERR_DEADLINE);
  assert_sentence_has("budget");
  assert_int_equal(LANE->read(device, 1, bytes, 80 << 20), CONVOY_ERR_DEADLINE);
  assert_int_equal(LANE->wait(device, ticket, NULL, &fault), CONVOY_ERR_DEADLINE);
  assert_int_equal(command_clear(LANE, device, &emptied), CONVOY_ERR_DEADLINE);
  assert_true(emptied);
  const double seconds = cvy_clock() - start;
  assert_true(seconds >= 0.6 && seconds < 2);
  budget = 5; /* the next call may try again */
  setenv("FAKE_ENGINE", "", 1);
  assert_int_equal(command_clear(LANE, device, &emptied), CONVOY_OK);
  lane_put(device, 1, 100, 1);
  LANE->close(device);
  free(bytes);
}

/* A debugger may take its time with a worker, unless the worker has brought it along: the budget
 * ends the wait in any case. */
static void test_worker_that_brings_its_debugger(void **state) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device = NULL;
  double budget = 60, seconds;
  (void)state;
  options.budget = &budget;
  setenv("CONVOY_DEADLINE", "run=0.3,transfer=0.3", 1);
  setenv("FAKE_ENGINE", "traced:1", 1);
  assert_int_equal(LANE->open(0, &options, &device), CONVOY_OK);
  const int worker = lane_worker(device);
  budget = 1.5;
  if (!lane_use(device, &seconds)) {
    LANE->close(device);
    print_message("PTRACE_SEIZE is refused here\n");
    skip();
  }
  assert_sentence_has("no more time in the call's budget");
  assert_true(seconds >= 1.4 && seconds < 3);
  assert_false(is_there(worker));
  budget = 60;
  check_mended(device, worker);
  LANE->close(device);
}

static void test_ring_fills_behind_a_hang(void **state) {
  cvy_device *device = open_with("hang:2");
  uint64_t ticket;
  convoy_status status = command_allocate(LANE, device, 1, 8, &ticket);
  const double start = cvy_clock();
  (void)state;
  for (int i = 0; i < 2000 && !status; ++i) status = command_zero(LANE, device, 1, 8, &ticket);
  assert_int_equal(status, CONVOY_ERR_DEADLINE);
  assert_true(cvy_clock() - start < 2);
  LANE->close(device);
}

static void test_host_alloc_behind_a_hang(void **state) {
  cvy_device *device = open_with("hang:1");
  uint64_t ticket;
  (void)state;
  command_allocate(LANE, device, 1, 8, &ticket);
  const double start = cvy_clock();
  void *memory = LANE->host_alloc(device, 4 << 20); /* ordinary memory then */
  assert_non_null(memory);
  assert_true(cvy_clock() - start < 2);
  LANE->host_free(device, memory);
  LANE->close(device);
}

static void test_restarts_are_limited(void **state) {
  cvy_device *device;
  bool emptied = false;
  (void)state;
  setenv("CONVOY_DEADLINE", "restarts=3", 1);
  device = lane_open(CONVOY_ISOLATION_PROCESS, NULL);
  for (int i = 0; i < 3; ++i) {
    kill(lane_worker(device), SIGKILL);
    command_allocate(LANE, device, 1, 8, NULL);
    LANE->wait(device, UINT64_MAX, NULL, &(uint64_t){0});
    assert_int_equal(command_clear(LANE, device, &emptied), CONVOY_OK);
  }
  kill(lane_worker(device), SIGKILL);
  command_allocate(LANE, device, 1, 8, NULL);
  LANE->wait(device, UINT64_MAX, NULL, &(uint64_t){0});
  assert_int_equal(command_clear(LANE, device, &emptied), CONVOY_ERR_DEADLINE);
  assert_sentence_has("3 fresh workers");
  assert_int_equal(command_clear(LANE, device, &emptied), CONVOY_ERR_DEADLINE);
  LANE->close(device);
}

static void test_wrong_setting_is_named(void **state) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device;
  (void)state;
  setenv("CONVOY_DEADLINE", "walk=3", 1);
  assert_int_equal(LANE->open(0, &options, &device), CONVOY_ERR_ARGUMENT);
  assert_sentence_has("walk=3");
  assert_int_equal(LANE->list(&options, NULL, 0, &(int32_t){0}), CONVOY_ERR_ARGUMENT);
}

/* ------------------------------------------------------------------------ unkillable */

static void no_signal(int pidfd, int number) {
  (void)pidfd;
  (void)number;
}

static void test_unkillable_worker_is_abandoned(void **state) {
  cvy_usage before, after;
  double seconds;
  cvy_device *device = open_with("stop:1");
  const int worker = lane_worker(device);
  void (*const truly)(int, int) = cvy_os.signal;
  (void)state;
  LANE->usage(NULL, &before);
  char *memory = LANE->host_alloc(device, 3 << 20);
  cvy_os.signal = no_signal;
  assert_int_equal(lane_use(device, &seconds), CONVOY_ERR_DEADLINE);
  assert_true(seconds < 2);
  assert_true(is_there(worker));
  check_mended(device, worker);
  LANE->usage(device, &after);
  assert_int_equal(after.workers_abandoned - before.workers_abandoned, 1);
  assert_true(after.retired_bytes - before.retired_bytes >= 3 << 20);
  memory[0] = 1; /* still the caller's */
  LANE->host_free(device, memory);
  char *other = LANE->host_alloc(device, 3 << 20);
  assert_int_equal(other[0], 0);
  LANE->host_free(device, other);
  cvy_os.signal = truly;
  LANE->close(device);
  LANE->usage(NULL, &after); /* also after the device is closed */
  assert_int_equal(after.workers_abandoned - before.workers_abandoned, 1);
  assert_true(after.retired_bytes > before.retired_bytes);
  kill(worker, SIGKILL);
  for (int i = 0; i < 500 && after.retired_bytes > before.retired_bytes; ++i) {
    usleep(10000);
    LANE->usage(NULL, &after);
  }
  assert_int_equal(after.retired_bytes, before.retired_bytes);
  assert_false(is_there(worker));
}

static void wait_until_gone(int worker) {
  for (int i = 0; i < 1000 && is_there(worker); ++i) {
    waitpid(worker, NULL, WNOHANG);
    usleep(10000);
  }
  assert_false(is_there(worker));
}

/* What an abandoned worker reads late does not land in memory that is the caller's again. */
static void test_late_answer_lands_nowhere(void **state) {
  const size_t bytes = 5 << 20, given = bytes - 100;
  cvy_device *device = open_with("stop:4"); /* the read: the array goes there in two parts */
  const int worker = lane_worker(device);
  void (*const truly)(int, int) = cvy_os.signal;
  (void)state;
  unsigned char *memory = LANE->host_alloc(device, bytes);
  lane_put(device, 1, (int64_t)given, 4);
  cvy_os.signal = no_signal;
  assert_int_equal(LANE->read(device, 1, memory, (int64_t)given), CONVOY_ERR_DEADLINE);
  cvy_os.signal = truly;
  assert_true(is_there(worker));
  memset(memory, 9, bytes);
  kill(worker, SIGCONT); /* it answers, and ends */
  wait_until_gone(worker);
  for (size_t i = 0; i < bytes; ++i) assert_int_equal(memory[i], 9);
  LANE->host_free(device, memory);
  LANE->close(device);
}

/* --------------------------------------------------------------------------------- behind */

static double behind_budget;
static cvy_spent behind_spent;

static cvy_device *open_compiling(const char *script) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device = NULL;
  options.budget = &behind_budget;
  options.spent = &behind_spent;
  behind_budget = 60;
  setenv("CONVOY_DEADLINE", "run=60,transfer=60,compile=60", 1);
  setenv("FAKE_ENGINE", script, 1);
  assert_int_equal(LANE->open(0, &options, &device), CONVOY_OK);
  return device;
}

static void begin_call(double budget) {
  behind_budget = budget;
  behind_spent = (cvy_spent){.whole = budget};
}

/* The same worker, empty, takes commands again. */
static void check_catches_up(cvy_device *device, int worker) {
  bool emptied = false;
  for (int i = 0; LANE->behind(device, NULL) == CVY_BEHIND_STILL; ++i) {
    if (i > 6000) fail_msg("still behind after a minute");
    usleep(10000);
  }
  assert_int_equal(LANE->behind(device, NULL), CVY_BEHIND_DONE);
  begin_call(30);
  assert_int_equal(command_clear(LANE, device, &emptied), CONVOY_OK);
  assert_true(emptied);
  assert_int_equal(LANE->behind(device, NULL), CVY_BEHIND_NOT);
  assert_int_equal(lane_worker(device), worker);
  lane_put(device, 1, 5000000, 3); /* nothing of that name is there any more */
  lane_expect(device, 1, 5000000, 3);
}

static void test_compiling_outlasts_a_call(void **state) {
  cvy_device *device = open_compiling("build:1");
  const int worker = lane_worker(device);
  double seconds;
  (void)state;
  begin_call(0.3);
  assert_int_equal(lane_use(device, &seconds), CONVOY_ERR_DEADLINE);
  assert_sentence_has("went to compiling");
  assert_true(seconds < 1);
  assert_true(is_there(worker));
  assert_int_equal(LANE->behind(device, NULL), CVY_BEHIND_STILL);
  begin_call(0.3);
  assert_int_equal(lane_use(device, &seconds), CONVOY_ERR_DEADLINE);
  assert_true(seconds < 0.1);
  check_catches_up(device, worker);
  LANE->close(device);
}

/* What the worker reads when nobody waits any more lands nowhere. */
static void test_late_read_of_a_compiler(void **state) {
  const int64_t bytes = 2 << 20;
  cvy_device *device = open_compiling("build:3");
  const int worker = lane_worker(device);
  (void)state;
  char *memory = LANE->host_alloc(device, (size_t)bytes);
  lane_put(device, 1, bytes, 1);
  begin_call(0.3);
  assert_int_equal(LANE->read(device, 1, memory, bytes), CONVOY_ERR_DEADLINE);
  memset(memory, 9, (size_t)bytes);
  check_catches_up(device, worker);
  for (int64_t i = 0; i < bytes; ++i) assert_int_equal(memory[i], 9);
  assert_int_equal(LANE->read(device, 1, memory, bytes), CONVOY_OK); /* as ordinary memory */
  assert_int_not_equal(memory[0], 9);
  LANE->host_free(device, memory);
  LANE->close(device);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_command_hangs),
      cmocka_unit_test(test_compiler_hangs),
      cmocka_unit_test(test_compiler_loops),
      cmocka_unit_test(test_gpu_hangs_while_its_driver_polls),
      cmocka_unit_test(test_wait_hangs),
      cmocka_unit_test(test_worker_alone_is_stopped),
      cmocka_unit_test(test_list_hangs),
      cmocka_unit_test(test_open_hangs),
      cmocka_unit_test(test_budget_holds_for_all_attempts),
      cmocka_unit_test(test_worker_that_brings_its_debugger),
      cmocka_unit_test(test_ring_fills_behind_a_hang),
      cmocka_unit_test(test_host_alloc_behind_a_hang),
      cmocka_unit_test(test_restarts_are_limited),
      cmocka_unit_test(test_wrong_setting_is_named),
      cmocka_unit_test(test_unkillable_worker_is_abandoned),
      cmocka_unit_test(test_late_answer_lands_nowhere),
      cmocka_unit_test(test_compiling_outlasts_a_call),
      cmocka_unit_test(test_late_read_of_a_compiler),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
