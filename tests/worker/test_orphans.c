/* The trainer's death: its worker goes with it, and takes the marker of the device's use along. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

#define SOON 5.0 /* seconds; it takes milliseconds, unless the machine is loaded */

static const char *const marker = "orphans_marker";

static void make_marker(void) {
  assert_int_equal(cvy_file_write(marker, "", 0), CONVOY_OK);
}

/* Whether it says so soon. */
static bool marker_says(const char *line) {
  bool found = false;
  for (double end = cvy_clock() + SOON; !found && cvy_clock() < end; usleep(1000)) {
    size_t count;
    char *text;
    if (cvy_file_read(marker, CVY_FILE_TEXT, 1 << 16, &text, &count)) return false;
    found = strstr(text, line) != NULL;
    free(text);
  }
  return found;
}

typedef enum ending { WAITS, BECOMES_ANOTHER } ending;

/* Does not return: what it asserted would end its copy of the test, and go on with the next. */
static void be_trainer(const char *script, int tell, ending how) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device = NULL;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must not leave it behind */
  setenv("FAKE_ENGINE", script, 1);
  if (LANE->open(0, &options, &device)) _exit(1);
  const int worker = lane_worker(device);
  LANE->mark(device, marker);
  command_allocate(LANE, device, 1, 8, NULL);
  if (write(tell, &worker, sizeof worker) != sizeof worker) _exit(1);
  if (how == BECOMES_ANOTHER) execlp("sleep", "sleep", "60", NULL);
  for (;;) pause();
}

/* A trainer of its own that says its worker's number and waits to be killed. */
static pid_t start_trainer(const char *script, ending how, int *worker) {
  int pipe_fds[2];
  assert_int_equal(pipe(pipe_fds), 0);
  const pid_t trainer = fork();
  if (trainer == 0) be_trainer(script, pipe_fds[1], how);
  close(pipe_fds[1]);
  assert_int_equal(read(pipe_fds[0], worker, sizeof *worker), sizeof *worker);
  close(pipe_fds[0]);
  return trainer;
}

/* Its parent is another process, or has been. */
static void assert_ends(int worker) {
  struct pollfd end = {.fd = cvy_process_pidfd(worker), .events = POLLIN};
  const int ended = end.fd < 0 ? 1 : poll(&end, 1, (int)(1e3 * SOON));
  if (end.fd >= 0) close(end.fd);
  if (ended != 1) kill(worker, SIGKILL);
  assert_int_equal(ended, 1);
}

static void kill_trainer(pid_t trainer) {
  kill(trainer, SIGKILL);
  assert_int_equal(waitpid(trainer, NULL, 0), trainer);
}

static void check_orphan(const char *script) {
  int worker;
  make_marker();
  const pid_t trainer = start_trainer(script, WAITS, &worker);
  assert_int_equal(kill(worker, 0), 0);
  kill_trainer(trainer);
  assert_ends(worker);
  assert_int_equal(access(marker, F_OK), -1); /* a trainer that dies is no machine that does */
}

static void test_no_orphan(void **state) {
  (void)state;
  check_orphan("");
}

/* All processes of a session or a unit are told to end. The trainer does, and takes the marker
 * along. */
static void test_no_orphan_of_a_session(void **state) {
  int worker;
  (void)state;
  make_marker();
  const pid_t trainer = start_trainer("", WAITS, &worker);
  kill(worker, SIGTERM);
  kill(worker, SIGHUP);
  kill(trainer, SIGTERM);
  kill_trainer(trainer);
  assert_ends(worker);
  assert_int_equal(access(marker, F_OK), -1);
}

static void test_no_orphan_that_hangs(void **state) {
  (void)state;
  check_orphan("hang:1");
}

/* One that becomes another program keeps its number; its worker must not stay for that. */
static void test_exec_ends_the_worker(void **state) {
  int worker;
  (void)state;
  const pid_t trainer = start_trainer("", BECOMES_ANOTHER, &worker);
  assert_ends(worker);
  assert_int_equal(waitpid(trainer, NULL, WNOHANG), 0);
  kill_trainer(trainer);
}

/* Signals for all processes are the trainer's to act on; so is its device's marker, while it lives.
 * But that the worker was told to end stands there, for it may be killed with the trainer. */
static void test_worker_stays(void **state) {
  (void)state;
  unsetenv("FAKE_ENGINE");
  cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, NULL);
  const int worker = lane_worker(device);
  make_marker();
  LANE->mark(device, marker);
  kill(worker, SIGTERM);
  kill(worker, SIGINT);
  kill(worker, SIGHUP); /* what systemd sends with SIGTERM where a session ends */
  assert_true(marker_says(CVY_MARK_TOLD ": 20"));
  lane_put(device, 1, 1000, 1);
  lane_expect(device, 1, 1000, 1);
  assert_int_equal(lane_worker(device), worker);
  kill(worker, SIGKILL);
  LANE->wait(device, UINT64_MAX, NULL, &(uint64_t){0});
  assert_int_equal(lane_clear(device), CONVOY_OK);
  LANE->close(device);
  assert_int_equal(access(marker, F_OK), 0);
  unlink(marker);
}

/* The orphans are this process's to wait for. */
static int adopt(void **state) {
  (void)state;
  return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int bury(void **state) {
  (void)state;
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  return errno == ECHILD ? 0 : -1;
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_no_orphan, adopt, bury),
      cmocka_unit_test_setup_teardown(test_no_orphan_of_a_session, adopt, bury),
      cmocka_unit_test_setup_teardown(test_no_orphan_that_hangs, adopt, bury),
      cmocka_unit_test_setup_teardown(test_exec_ends_the_worker, adopt, bury),
      cmocka_unit_test_setup_teardown(test_worker_stays, adopt, bury),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
