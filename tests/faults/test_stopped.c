/* A trainer that is stopped again and again (Ctrl-Z, a scheduler that makes room), each time for
 * longer than a call may wait for the device, and anywhere: while it opens, lists, allocates,
 * posts, waits, reads, closes. The device is healthy: no worker is lost, no fault is seen. On
 * PoCL. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "common/random.h"
#include "faults/net.h"

#define BUDGET "2"
enum { STOPS = 15, STOPPED_US = 2300000, MOST_BETWEEN_US = 150000 };

static char pocl[16];

/* --------------------------------------------------------------------------- the trainer */

static const char *use(struct net *net) {
  convoy_device_info infos[4] = {{.struct_size = sizeof infos[0]}};
  int32_t count;
  static char why[256];
  void *memory;
  for (int call = 0; call < NET_CALLS; call++)
    if (net_call(net, call, NULL)) return convoy_last_error();
  if (convoy_host_alloc(net->context, 3 << 20, &memory)) return convoy_last_error();
  convoy_host_free(net->context, memory);
  if (convoy_devices(NULL, infos, 4, &count, why, sizeof why)) return convoy_last_error();
  if (*why) return why;
  net_read(net);
  return NULL;
}

static const char *step(uint64_t seed) {
  convoy_health before = {.struct_size = sizeof before}, after = before;
  struct net net;
  net_open(&net, pocl, seed % 2, seed);
  convoy_get_health(net.context, &before);
  const char *wrong = use(&net);
  convoy_get_health(net.context, &after);
  net_close(&net);
  if (wrong) return wrong;
  if (!before.worker_pid) return "the device was not opened";
  if (after.worker_pid != before.worker_pid) return "the worker was lost";
  if (after.faults || after.failovers || after.downgrades) return "a fault was seen";
  return NULL;
}

/* Does not return. Says when everything is compiled, and ends when it is told to. */
static void train(int tell, int told) {
  struct pollfd end = {.fd = told, .events = POLLIN};
  const char *wrong = NULL;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must not leave it behind */
  for (uint64_t seed = 0; seed < 2 && !wrong; seed++) wrong = step(seed);
  setenv("CONVOY_DEVICE_WAIT_BUDGET", BUDGET, 1);
  if (!wrong && write(tell, "", 1) != 1) wrong = "nobody listens";
  for (uint64_t seed = 2; !wrong && poll(&end, 1, 0) == 0; seed++) wrong = step(seed);
  if (wrong) fprintf(stderr, "the trainer: %s\n", wrong);
  _exit(wrong ? 1 : 0);
}

/* ---------------------------------------------------------------------------- the shell */

static void stop_and_continue(pid_t group, test_random *random) {
  usleep((useconds_t)test_between(random, 0, MOST_BETWEEN_US));
  kill(-group, SIGSTOP);
  usleep(STOPPED_US);
  kill(-group, SIGCONT);
}

static void stops_are_no_faults(void **state) {
  int ready[2], end[2], status;
  char byte;
  test_random random = {1};
  (void)state;
  assert_int_equal(pipe(ready) + pipe(end), 0);
  fflush(NULL);
  const pid_t trainer = fork();
  if (trainer == 0) {
    setpgid(0, 0);
    train(ready[1], end[0]);
  }
  setpgid(trainer, trainer);
  close(ready[1]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  for (int i = 0; i < STOPS; i++) stop_and_continue(trainer, &random);
  assert_int_equal(write(end[1], "", 1), 1);
  assert_int_equal(waitpid(trainer, &status, 0), trainer);
  assert_int_equal(status, 0);
  close(ready[0]);
  close(end[0]);
  close(end[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(stops_are_no_faults)};
  const int status = test_find("pocl", pocl, sizeof pocl);
  if (status != 0) return status;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
