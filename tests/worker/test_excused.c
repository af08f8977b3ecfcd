/* What only looks like hanging, with real processes: work that takes long and gets on, a trainer or a worker
 * that somebody holds, a machine with too much to do. No deadline passes, and the worker stays. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

#define DEADLINES "run=1,compile=1,transfer=1"
enum { HELD_MICROSECONDS = 2500000 }; /* longer than each of them */

static void refused(void) {
  print_message("PTRACE_SEIZE is refused here\n");
  skip();
}

/* ------------------------------------------------------------------------ it gets on */

static void check_patient(const char *script, double least) {
  cvy_device *device = lane_open_impatient(DEADLINES, script);
  const int worker = lane_worker(device);
  double seconds;
  if (lane_use(device, &seconds)) fail_msg("%s: %s", script, cvy_last_error());
  assert_true(seconds >= least);
  assert_int_equal(lane_worker(device), worker);
  LANE->close(device);
}

static void test_slow_compiler(void **state) {
  (void)state;
  check_patient("build:1", 1.4);
}

static void test_long_work_with_progress(void **state) {
  (void)state;
  check_patient("steps:1", 2);
}

/* Programs that do nothing but use the processors, many for each. They end by themselves and with
 * this one: a test that fails jumps out of here. */
static void test_overloaded_machine(void **state) {
  enum { HOGS = 8, HOG_SECONDS = 20 };
  pid_t hogs[HOGS];
  (void)state;
  for (int i = 0; i < HOGS; ++i) {
    hogs[i] = fork();
    if (hogs[i] != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(HOG_SECONDS);
    for (volatile int burn = 0;;) ++burn;
  }
  check_patient("build:1", 0);
  for (int i = 0; i < HOGS; ++i) {
    kill(hogs[i], SIGKILL);
    waitpid(hogs[i], NULL, 0);
  }
}

/* ------------------------------------------------------------------ somebody holds it */

enum { TRAINER_HELD_MICROSECONDS = 2500000 };

/* In a trainer of its own: a wait without any progress, with a deadline of 2 s. */
static void train(int tell) {
  cvy_device *device = lane_open_impatient("run=2,transfer=2", "slow:1");
  const int worker = lane_worker(device);
  double seconds;
  if (write(tell, &worker, sizeof worker) != sizeof worker) _exit(2);
  const convoy_status status = lane_use(device, &seconds);
  const bool same = lane_worker(device) == worker;
  LANE->close(device);
  _exit(status || !same || seconds < 2 ? 1 : 0);
}

static pid_t start_trainer(int *worker) {
  int pipes[2];
  assert_int_equal(pipe(pipes), 0);
  fflush(NULL);
  const pid_t trainer = fork();
  if (trainer == 0) train(pipes[1]);
  assert_int_equal(read(pipes[0], worker, sizeof *worker), sizeof *worker);
  close(pipes[0]);
  close(pipes[1]);
  usleep(200000); /* by now it waits */
  return trainer;
}

static void check_trainer_is_fine(pid_t trainer) {
  int status;
  assert_int_equal(waitpid(trainer, &status, 0), trainer);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void stop(pid_t trainer) {
  kill(trainer, SIGSTOP);
}

static void let_run(pid_t trainer) {
  kill(trainer, SIGCONT);
}

static void seize(pid_t trainer) {
  int status;
  if (ptrace(PTRACE_SEIZE, trainer, NULL, NULL) != 0) {
    kill(trainer, SIGKILL);
    waitpid(trainer, &status, 0);
    refused();
  }
  ptrace(PTRACE_INTERRUPT, trainer, NULL, NULL);
  assert_int_equal(waitpid(trainer, &status, __WALL), trainer);
  assert_true(WIFSTOPPED(status));
}

static void detach(pid_t trainer) {
  ptrace(PTRACE_DETACH, trainer, NULL, NULL);
}

/* The worker is stopped too, and a little longer: when the trainer goes on its result is still to come.
 * Were the time in between counted, the trainer would give it up at once. */
static void check_held_trainer(void (*hold)(pid_t), void (*let_go)(pid_t)) {
  int worker;
  const pid_t trainer = start_trainer(&worker);
  hold(trainer);
  kill(worker, SIGSTOP);
  usleep(TRAINER_HELD_MICROSECONDS);
  let_go(trainer);
  usleep(200000);
  kill(worker, SIGCONT);
  check_trainer_is_fine(trainer);
}

static void test_stopped_trainer(void **state) {
  (void)state;
  check_held_trainer(stop, let_run);
}

static void test_debugger_on_trainer(void **state) {
  (void)state;
  check_held_trainer(seize, detach);
}

typedef struct debugger {
  int worker;
  bool refused;
} debugger;

/* Holds the worker for longer than any deadline. */
static void *debug(void *argument) {
  debugger *self = argument;
  self->refused = ptrace(PTRACE_SEIZE, self->worker, NULL, NULL) != 0;
  if (self->refused) return NULL;
  ptrace(PTRACE_INTERRUPT, self->worker, NULL, NULL);
  waitpid(self->worker, NULL, __WALL);
  usleep(HELD_MICROSECONDS);
  ptrace(PTRACE_DETACH, self->worker, NULL, NULL);
  return NULL;
}

static void test_debugger_on_worker(void **state) {
  cvy_device *device = lane_open_impatient(DEADLINES, NULL);
  debugger own = {lane_worker(device), false};
  pthread_t thread;
  double seconds;
  (void)state;
  assert_int_equal(pthread_create(&thread, NULL, debug, &own), 0);
  usleep(100000);
  convoy_status status = lane_use(device, &seconds);
  pthread_join(thread, NULL);
  LANE->close(device);
  if (own.refused) refused();
  assert_int_equal(status, CONVOY_OK);
  assert_true(seconds > 2);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slow_compiler),       cmocka_unit_test(test_long_work_with_progress),
      cmocka_unit_test(test_overloaded_machine),  cmocka_unit_test(test_stopped_trainer),
      cmocka_unit_test(test_debugger_on_trainer), cmocka_unit_test(test_debugger_on_worker),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
