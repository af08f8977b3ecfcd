/* Reading in two halves: the first does not wait, the second gets what the commands before it left,
 * and what is on its way when the worker is lost is lost with it. */
#include <signal.h>
#include <stdlib.h>

#include "os/os.h"
#include "worker/lane.h"

enum { MIB = 1 << 20 };

static uint64_t fetch(cvy_device *device, uint64_t id, int64_t bytes) {
  uint64_t ticket = 0;
  if (LANE->fetch(device, id, bytes, &ticket)) fail_msg("fetch: %s", cvy_last_error());
  return ticket;
}

static void expect(cvy_device *device, uint64_t ticket, int64_t bytes, uint64_t seed) {
  unsigned char *want = malloc((size_t)bytes), *got = malloc((size_t)bytes + 1);
  lane_fill(want, bytes, seed);
  got[bytes] = 0x5a;
  if (LANE->collect(device, ticket, got, bytes)) fail_msg("collect: %s", cvy_last_error());
  assert_memory_equal(want, got, (size_t)bytes);
  assert_int_equal(got[bytes], 0x5a);
  free(want);
  free(got);
}

/* What is written later does not show, and the order of collecting is free. */
static void test_halves(void **state) {
  static const int64_t sizes[] = {1, 4097, 3 * MIB + 5, 20 * MIB};
  uint64_t tickets[CVY_COUNT(sizes)];
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  for (size_t i = 0; i < CVY_COUNT(sizes); ++i) {
    lane_put(device, i + 1, sizes[i], i);
    tickets[i] = fetch(device, i + 1, sizes[i]);
    assert_true(tickets[i] > 0);
    command_zero(LANE, device, i + 1, sizes[i], NULL);
  }
  for (size_t i = CVY_COUNT(sizes); i-- > 0;) expect(device, tickets[i], sizes[i], i);
  assert_true(LANE->fetched(device, tickets[0]));
  assert_int_equal(LANE->collect(device, tickets[0], NULL, 0), CONVOY_OK);
  LANE->close(device);
}

/* What is not collected keeps its place; what is given back makes room, and the ring goes round. */
static void test_room(void **state) {
  enum { FIT = 64 / 20 };
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  uint64_t tickets[FIT + 1];
  lane_put(device, 1, 20 * MIB, 1);
  lane_put(device, 2, 65 * MIB, 2);
  assert_int_equal(fetch(device, 2, 65 * MIB), 0);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < FIT; ++i) tickets[i] = fetch(device, 1, 20 * MIB);
    assert_int_equal(fetch(device, 1, 20 * MIB), 0);
    assert_int_equal(LANE->collect(device, tickets[1], NULL, 0), CONVOY_OK);
    assert_int_equal(fetch(device, 1, 20 * MIB), 0); /* the oldest first */
    expect(device, tickets[0], 20 * MIB, 1);
    tickets[FIT] = fetch(device, 1, 20 * MIB);
    assert_true(tickets[FIT] > 0);
    for (int i = 2; i <= FIT; ++i) expect(device, tickets[i], 20 * MIB, 1);
  }
  lane_expect(device, 2, 65 * MIB, 2); /* the ordinary way */
  LANE->close(device);
}

static void test_does_not_wait(void **state) {
  (void)state;
  setenv("CONVOY_DEADLINE", "run=0.5,transfer=0.5", 1);
  cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, "hang:3");
  lane_put(device, 1, 1000, 1);
  const double start = cvy_clock();
  const uint64_t ticket = fetch(device, 1, 1000);
  assert_true(cvy_clock() - start < 0.4);
  assert_false(LANE->fetched(device, ticket));
  char bytes[1000];
  assert_int_equal(LANE->collect(device, ticket, bytes, sizeof bytes), CONVOY_ERR_DEADLINE);
  unsetenv("CONVOY_DEADLINE");
  LANE->close(device);
}

/* A fault before it is the copy's too; without a copy there is nothing to hand out. */
static void test_fault(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), "fail:3");
  char bytes[64];
  lane_put(device, 1, 64, 1);
  command_zero(LANE, device, 1, 64, NULL);
  const uint64_t ticket = fetch(device, 1, 64);
  assert_int_equal(LANE->collect(device, ticket, bytes, sizeof bytes), CONVOY_ERR_DEVICE);
  assert_int_equal(lane_clear(device), CONVOY_OK);
  assert_int_equal(LANE->collect(device, ticket, bytes, sizeof bytes), CONVOY_ERR_DEVICE);
  assert_sentence_has("went with its worker");
  expect(device, fetch(device, 1, 64), 64, 1);
  LANE->close(device);
}

static void test_lost_worker(void **state) {
  cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, NULL);
  cvy_usage usage;
  char bytes[64];
  uint64_t fault;
  (void)state;
  lane_put(device, 1, 64, 1);
  const uint64_t ticket = fetch(device, 1, 64);
  LANE->usage(device, &usage);
  kill((int)usage.process, SIGKILL);
  while (!LANE->wait(device, UINT64_MAX, NULL, &fault)) command_zero(LANE, device, 1, 64, NULL);
  assert_true(LANE->fetched(device, ticket)); /* nothing to wait for */
  assert_int_equal(lane_clear(device), CONVOY_OK);
  assert_int_equal(LANE->collect(device, ticket, bytes, sizeof bytes), CONVOY_ERR_DEVICE);
  assert_int_equal(LANE->collect(device, ticket, NULL, 0), CONVOY_OK);
  lane_put(device, 1, 64, 2);
  expect(device, fetch(device, 1, 64), 64, 2);
  LANE->close(device);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_halves),        cmocka_unit_test(test_room),
      cmocka_unit_test(test_does_not_wait), cmocka_unit_test(test_fault),
      cmocka_unit_test(test_lost_worker),
  };
  return lane_run_all(tests, CVY_COUNT(tests));
}
