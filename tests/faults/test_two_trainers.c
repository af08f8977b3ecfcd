/* Two trainers on one device, with the same caches and records: each computes right, and what happens to
 * the worker of one is none of the other's business. On PoCL. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "faults/net.h"

enum { TRAINERS = 2, STEPS = 3 };

static char pocl[16];

/* The step's result where nothing disturbs it. */
static bool is_like_cpu(struct net *net, uint64_t seed) {
  struct net cpu;
  bool good = true;
  net_open(&cpu, "cpu", true, seed);
  for (int call = 0; call < NET_CALLS; call++) good &= net_call(&cpu, call, NULL) == CONVOY_OK;
  net_read(&cpu);
  net_read(net);
  good &= net_difference(net, &cpu) < 0;
  net_close(&cpu);
  return good;
}

static const char *step(uint64_t seed, bool is_struck) {
  struct net net;
  convoy_health health = {.struct_size = sizeof health};
  const char *wrong = NULL;
  net_open(&net, pocl, true, seed);
  for (int call = 0; call < NET_CALLS && !wrong; call++) {
    if (net_call(&net, call, NULL)) wrong = convoy_last_error();
    convoy_get_health(net.context, &health);
    if (is_struck && call == NET_CALLS / 2) kill((pid_t)health.worker_pid, SIGKILL);
  }
  if (!wrong && !is_like_cpu(&net, seed)) wrong = "the results are not the CPU's";
  convoy_get_health(net.context, &health);
  if (!wrong && (health.faults > 0) != is_struck) wrong = "the faults are not its own";
  net_close(&net);
  return wrong;
}

/* Does not return. The second one's worker is killed in every step. */
static void train(int number) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must not leave it behind */
  for (int i = 0; i < STEPS; i++) {
    const char *wrong = step((uint64_t)(STEPS * number + i), number == 1);
    if (wrong) fprintf(stderr, "trainer %d, step %d: %s\n", number, i, wrong);
    if (wrong) _exit(1);
  }
  _exit(0);
}

static void each_has_its_own_results_and_faults(void **state) {
  pid_t trainers[TRAINERS];
  (void)state;
  fflush(NULL);
  for (int i = 0; i < TRAINERS; i++) {
    trainers[i] = fork();
    assert_true(trainers[i] >= 0);
    if (trainers[i] == 0) train(i);
  }
  int failed = 0;
  for (int i = 0; i < TRAINERS; i++) {
    int status;
    assert_int_equal(waitpid(trainers[i], &status, 0), trainers[i]);
    failed += status != 0;
  }
  assert_int_equal(failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_has_its_own_results_and_faults)};
  const int status = test_find("pocl", pocl, sizeof pocl);
  if (status != 0) return status;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
