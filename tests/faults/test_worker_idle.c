/* A worker that has nothing to do sleeps until the next call: after each call of a training step, waited
 * for or not, it is not woken a single time. On PoCL, whose work ends when nobody looks. */
#include <stdio.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "common/sleeps.h"
#include "faults/net.h"

/* The work itself may take as long on a loaded machine; a worker that keeps looking does so for good. */
#define WINDOW_US 50000
#define WINDOWS 200

static char pocl[16];

/* How often the worker's main thread went to sleep. */
static long sleeps(const struct net *net) {
  convoy_health health = {.struct_size = sizeof health};
  char path[64];
  assert_int_equal(convoy_get_health(net->context, &health), CONVOY_OK);
  assert_int_not_equal(health.worker_pid, 0);
  snprintf(path, sizeof path, "/proc/%ld/status", (long)health.worker_pid);
  const long count = test_sleeps(path);
  assert_true(count >= 0);
  return count;
}

static void assert_sleeps(const struct net *net, int call) {
  for (int i = 0; i < WINDOWS; i++) {
    const long before = sleeps(net);
    usleep(WINDOW_US);
    if (sleeps(net) == before) return;
  }
  fail_msg("after call %d the worker was woken at least every %d us", call, WINDOW_US);
}

static void check_calls(bool tensors) {
  struct net net;
  net_open(&net, pocl, tensors, 1);
  assert_sleeps(&net, -1);
  for (int call = 0; call < NET_CALLS; call++) {
    assert_int_equal(net_call(&net, call, NULL), CONVOY_OK);
    assert_sleeps(&net, call);
  }
  net_read(&net);
  assert_sleeps(&net, NET_CALLS);
  net_close(&net);
}

static void test_after_host_calls(void **state) {
  (void)state;
  check_calls(false);
}

static void test_after_tensor_calls(void **state) {
  (void)state;
  check_calls(true);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_after_host_calls),
      cmocka_unit_test(test_after_tensor_calls),
  };
  const int status = test_find("pocl", pocl, sizeof pocl);
  if (status != 0) return status;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
