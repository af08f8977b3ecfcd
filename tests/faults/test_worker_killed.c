/* The worker is killed in the middle of a training step: the step's gradients are still right, to
 * the bit, and the call that met it says so. On PoCL, the OpenCL device that is always there. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "common/random.h"
#include "faults/net.h"

static char pocl[16];

static convoy_health health_of(struct net *net) {
  convoy_health health = {.struct_size = sizeof health};
  assert_int_equal(convoy_get_health(net->context, &health), CONVOY_OK);
  return health;
}

static void kill_worker(struct net *net) {
  const convoy_health health = health_of(net);
  assert_int_not_equal(health.worker_pid, 0);
  assert_int_equal(kill((pid_t)health.worker_pid, SIGKILL), 0);
}

static void must(convoy_status status, int call) {
  if (status) fail_msg("call %d: %s", call, convoy_last_error());
}

/* The same step on the CPU engine, which cannot be killed. */
static void assert_like_cpu(struct net *killed, bool tensors, uint64_t seed) {
  struct net cpu;
  net_open(&cpu, "cpu", tensors, seed);
  for (int call = 0; call < NET_CALLS; call++) must(net_call(&cpu, call, NULL), call);
  net_read(&cpu);
  net_read(killed);
  const int array = net_difference(killed, &cpu);
  if (array >= 0) fail_msg("array %d differs from the CPU's", array);
  net_close(&cpu);
}

static void assert_counted(struct net *net) {
  const convoy_health health = health_of(net);
  assert_true(health.faults >= 1);
  assert_true(health.failovers >= 1);
  assert_int_not_equal(health.worker_pid, 0); /* a fresh one */
}

/* --------------------------------------------------------- killed before a call that waits */

static void assert_met_it(const convoy_run *run) {
  assert_int_equal(run->attempts, 2);
  assert_int_equal(run->first_fault, CONVOY_ERR_DEVICE);
  assert_non_null(strstr(run->fault, "was killed by signal 9"));
  assert_string_equal(run->device, "cpu");
}

/* Each call is waited for. Those before the kill ran on PoCL, that one twice, the rest by a
 * fresh worker. */
static void check_waited(bool tensors, int kill_before) {
  const uint64_t seed = 100 + (uint64_t)kill_before;
  struct net net;
  net_open(&net, pocl, tensors, seed);
  for (int call = 0; call < NET_CALLS; call++) {
    convoy_run run = CONVOY_RUN_INIT;
    if (call == kill_before) kill_worker(&net);
    must(net_call(&net, call, &run), call);
    if (call == kill_before) {
      assert_met_it(&run);
    } else {
      assert_int_equal(run.attempts, 1);
      assert_int_equal(run.first_fault, CONVOY_OK);
      assert_string_equal(run.device, pocl);
    }
  }
  assert_like_cpu(&net, tensors, seed);
  assert_counted(&net);
  net_close(&net);
}

static void test_host_calls(void **state) {
  (void)state;
  for (int call = 0; call < NET_CALLS; call++) check_waited(false, call);
}

static void test_tensor_calls_waited_for(void **state) {
  (void)state;
  for (int call = 0; call < NET_CALLS; call++) check_waited(true, call);
}

/* --------------------------------------------------------------- killed between enqueues */

static void test_tensor_calls_enqueued(void **state) {
  (void)state;
  for (int kill_before = 0; kill_before <= NET_CALLS; kill_before++) {
    const uint64_t seed = 200 + (uint64_t)kill_before;
    struct net net;
    net_open(&net, pocl, true, seed);
    for (int call = 0; call < NET_CALLS; call++) {
      if (call == kill_before) kill_worker(&net);
      must(net_call(&net, call, NULL), call);
    }
    if (kill_before == NET_CALLS) kill_worker(&net); /* everything enqueued, nothing read */
    assert_like_cpu(&net, true, seed);
    assert_counted(&net);
    net_close(&net);
  }
}

/* ------------------------------------------------------------------- killed at any moment */

struct killer {
  pid_t worker;
  long nanoseconds;
};

static void *kill_later(void *argument) {
  const struct killer *self = argument;
  const struct timespec delay = {0, self->nanoseconds};
  nanosleep(&delay, NULL);
  kill(self->worker, SIGKILL);
  return NULL;
}

/* The step runs twice: the first time to see how long it takes with everything compiled. */
static void check_moment(bool tensors, uint64_t seed) {
  test_random random = {seed};
  struct timespec start, end;
  pthread_t thread;
  struct net net;
  net_open(&net, pocl, tensors, seed);
  for (int call = 0; call < NET_CALLS; call++) must(net_call(&net, call, NULL), call);
  convoy_sync(net.context);
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int call = 0; call < NET_CALLS; call++) must(net_call(&net, call, NULL), call);
  convoy_sync(net.context);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const pid_t worker = (pid_t)health_of(&net).worker_pid;
  net_close(&net);
  assert_int_not_equal(worker, 0);

  const long took = (end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec;
  net_open(&net, pocl, tensors, seed);
  struct killer killer = {(pid_t)health_of(&net).worker_pid, test_between(&random, 0, took)};
  pthread_create(&thread, NULL, kill_later, &killer);
  int attempts = 0;
  for (int call = 0; call < NET_CALLS; call++) {
    convoy_run run = CONVOY_RUN_INIT;
    must(net_call(&net, call, tensors ? NULL : &run), call);
    attempts += run.attempts > 1;
  }
  pthread_join(thread, NULL);
  assert_in_range(attempts, 0, 1);
  assert_like_cpu(&net, tensors, seed);
  net_close(&net);
}

static void test_any_moment(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    check_moment(false, seed);
    check_moment(true, seed);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host_calls),
      cmocka_unit_test(test_tensor_calls_waited_for),
      cmocka_unit_test(test_tensor_calls_enqueued),
      cmocka_unit_test(test_any_moment),
  };
  const int status = test_find("pocl", pocl, sizeof pocl);
  if (status != 0) return status;
  convoy_set_log(NULL, NULL, CONVOY_LOG_OFF); /* each kill is a line, and there are many */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
