/* Descriptors: the program's are not the library's business, nor the other way about. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/lane.h"

/* ---------------------------------------------------------------- the program's files */

static void test_inherits_no_files(void **state) {
  int careless[20]; /* without close-on-exec */
  (void)state;
  for (int i = 0; i < 20; ++i) careless[i] = dup(1);
  cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, NULL);
  lane_put(device, 1, 100, 1);
  lane_expect(device, 1, 100, 1);
  assert_in_range(lane_count_files(lane_worker(device)), 4,
                  6); /* std, socket, the trainer's pidfd */
  LANE->close(device);
  for (int i = 0; i < 20; ++i) close(careless[i]);
}

/* Whether anything has been transferred or not. Descriptor 0 is what zeroed memory names. */
static void test_closes_no_file_of_the_host(void **state) {
  (void)state;
  assert_int_equal(dup2(1, 0), 0); /* whatever the test was started with, there is one now */
  for (int used = 0; used < 2; ++used) {
    cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, NULL);
    if (used) lane_put(device, 1, 100, 1);
    LANE->close(device);
    assert_true(fcntl(0, F_GETFD) >= 0);
  }
}

/* ---------------------------------------------------------------- foreign bytes */

static bool is_socket(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

/* The program prints into a socket that is not its own. */
static void print_into_sockets(const bool before[], int most) {
  int sockets = 0;
  for (int fd = 0; fd < most; ++fd) {
    if (before[fd] || !is_socket(fd)) continue;
    assert_int_equal(write(fd, "loss 0.25\n", 10), 10);
    ++sockets;
  }
  assert_int_equal(sockets, 1);
}

/* Before each kind of use that maps memory. */
static void test_foreign_bytes(void **state) {
  enum { MOST = 256 };
  bool before[MOST];
  (void)state;
  for (int fd = 0; fd < MOST; ++fd) before[fd] = is_socket(fd);
  for (int kind = 0; kind < 3; ++kind) {
    cvy_device *device = lane_open(CONVOY_ISOLATION_PROCESS, NULL);
    char bytes[100] = {0};
    uint64_t ticket;
    void *memory = NULL;
    convoy_status status = command_allocate(LANE, device, 1, sizeof bytes, &ticket);
    if (kind == 2) lane_put(device, 2, sizeof bytes, 1);
    print_into_sockets(before, MOST);
    if (kind == 0) status = LANE->write(device, 1, bytes, sizeof bytes, &ticket);
    if (kind == 1) status = LANE->fetch(device, 1, sizeof bytes, &ticket);
    if (kind == 2) memory = LANE->host_alloc(device, 3 << 20); /* ordinary memory then */
    if (kind == 2) status = LANE->wait(device, ticket, NULL, &ticket);
    assert_int_equal(status, CONVOY_ERR_IO);
    assert_sentence_has("the worker was not given block");
    assert_sentence_has("message of 10 bytes");
    assert_int_equal(lane_clear(device), CONVOY_OK);
    lane_put(device, 1, 5000, 1);
    lane_expect(device, 1, 5000, 1);
    LANE->host_free(device, memory);
    LANE->close(device);
  }
}

/* ------------------------------------------------------------- closed standard streams */

enum { STREAMS = 3 };

static int close_streams(void **state) {
  static int kept[STREAMS];
  fflush(NULL);
  for (int fd = 0; fd < STREAMS; ++fd) kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
  for (int fd = 0; fd < STREAMS; ++fd) close(fd);
  *state = kept;
  return 0;
}

static int open_streams(void **state) {
  const int *kept = *state;
  for (int fd = 0; fd < STREAMS; ++fd) {
    dup2(kept[fd], fd);
    close(kept[fd]);
  }
  return 0;
}

/* What the program prints goes nowhere, as it would without the library. */
static void assert_closed(void) {
  for (int fd = 0; fd < STREAMS; ++fd) {
    assert_int_equal(write(fd, "loss 0.25\n", 10), -1);
    assert_int_equal(errno, EBADF);
  }
}

static void assert_has_streams(int pid) {
  for (int fd = 0; fd < STREAMS; ++fd) {
    char path[64], target[64] = "";
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    assert_true(readlink(path, target, sizeof target - 1) > 0);
    assert_string_equal(target, "/dev/null");
  }
}

/* A daemon has closed its standard streams, and goes on printing. */
static void test_closed_streams(void **state) {
  static const int32_t isolations[] = {CONVOY_ISOLATION_PROCESS, CONVOY_ISOLATION_NONE};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(isolations); ++i) {
    cvy_device *device = lane_open(isolations[i], NULL);
    assert_closed();
    if (isolations[i] == CONVOY_ISOLATION_PROCESS) assert_has_streams(lane_worker(device));
    void *memory = LANE->host_alloc(device, 2 << 20);
    assert_closed();
    lane_put(device, 1, 5 << 20, 1);
    assert_closed();
    lane_expect(device, 1, 5 << 20, 1);
    LANE->host_free(device, memory);
    LANE->close(device);
    assert_closed();
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inherits_no_files),
      cmocka_unit_test(test_closes_no_file_of_the_host),
      cmocka_unit_test(test_foreign_bytes),
      cmocka_unit_test_setup_teardown(test_closed_streams, close_streams, open_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
