/* Workers that die while they start: one is replaced, so that an accident does not cost a run its
 * device; one after the other is not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

static char file[] = "/tmp/convoy-deaths-XXXXXX";

static int make_file(void **state) {
  (void)state;
  const int fd = mkstemp(file);
  return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
  (void)state;
  return unlink(file);
}

static void let_die(const char *when, int processes) {
  char text[128];
  snprintf(text, sizeof text, "%s:%s", when, file);
  setenv("FAKE_DEATHS", text, 1);
  assert_int_equal(truncate(file, processes), 0);
}

static struct {
  int lines;
  char last[512];
} heard;

static void hear(void *user, convoy_log_level level, const char *line) {
  (void)user;
  (void)level;
  heard.lines++;
  snprintf(heard.last, sizeof heard.last, "%s", line);
}

static convoy_status list_devices(void) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  int32_t count = 0;
  const convoy_status status = LANE->list(&options, NULL, 0, &count);
  assert_int_equal(count, status ? 0 : 2);
  return status;
}

static convoy_status open_and_use(void) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device = NULL;
  const convoy_status status = LANE->open(0, &options, &device);
  if (status) return status;
  lane_put(device, 1, 1000, 1);
  lane_expect(device, 1, 1000, 1);
  LANE->close(device);
  return status;
}

/* One line at most, which says what befell the first worker. */
static void check_told(int lines, const char *what) {
  assert_int_equal(heard.lines, lines);
  if (!lines) return;
  assert_non_null(strstr(heard.last, what));
  assert_non_null(strstr(heard.last, "; another worker is started"));
}

static convoy_status start_and_hear(convoy_status (*start)(void)) {
  heard.lines = 0;
  cvy_set_log(hear, NULL, CONVOY_LOG_WARNING);
  const convoy_status status = start();
  cvy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  return status;
}

static const struct {
  const char *when;
  convoy_status (*start)(void);
} starts[] = {{"list", list_devices}, {"open", open_and_use}};

static void check(const char *when, convoy_status (*start)(void), int deaths, convoy_status wanted,
                  int lines) {
  let_die(when, deaths);
  assert_int_equal(start_and_hear(start), wanted);
  check_told(lines, "was killed by signal 9 (Killed)");
  if (wanted) assert_sentence_has("was killed by signal 9 (Killed)");
}

static void test_one_is_replaced(void **state) {
  (void)state;
  setenv("CONVOY_DEADLINE", "restarts=6", 1);
  for (size_t i = 0; i < CVY_COUNT(starts); i++) {
    check(starts[i].when, starts[i].start, 1, CONVOY_OK, 1);
    check(starts[i].when, starts[i].start, 2, CONVOY_ERR_DEVICE, 1);
    check(starts[i].when, starts[i].start, 0, CONVOY_OK, 0);
  }
}

static void test_none_where_none_may_be(void **state) {
  (void)state;
  setenv("CONVOY_DEADLINE", "restarts=0.5", 1); /* less than one */
  for (size_t i = 0; i < CVY_COUNT(starts); i++)
    check(starts[i].when, starts[i].start, 1, CONVOY_ERR_DEVICE, 0);
}

/* A worker that says no has not died. */
static void test_a_refusal_is_final(void **state) {
  (void)state;
  setenv("CONVOY_DEADLINE", "restarts=6", 1);
  setenv("FAKE_BUILD_ID", "another", 1);
  assert_int_equal(start_and_hear(list_devices), CONVOY_ERR_DEVICE);
  unsetenv("FAKE_BUILD_ID");
  check_told(0, "");
}

/* ------------------------------------------------------------------------ foreign bytes */

static char folder[] = "/tmp/convoy-workers-XXXXXX";
static char *libexec;

/* A script in the worker's place that does something first. */
static void put_before_the_worker(const char *commands) {
  char path[128], module[4200], target[4200], text[8400];
  snprintf(path, sizeof path, "%s/convoy-worker", folder);
  snprintf(module, sizeof module, "%s/convoy-ocl.so", folder);
  snprintf(target, sizeof target, "%s/convoy-ocl.so", libexec);
  snprintf(text, sizeof text, "#!/bin/sh\n%s\nexec '%s/convoy-worker' \"$@\"\n", commands, libexec);
  assert_int_equal(cvy_file_write(path, text, strlen(text)), CONVOY_OK);
  assert_int_equal(chmod(path, 0755), 0);
  if (access(module, F_OK) != 0) assert_int_equal(symlink(target, module), 0);
}

static int make_workers(void **state) {
  (void)state;
  libexec = strdup(getenv("CONVOY_LIBEXEC"));
  if (!mkdtemp(folder)) return -1;
  setenv("CONVOY_LIBEXEC", folder, 1);
  return setenv("CONVOY_DEADLINE", "restarts=6", 1);
}

static int remove_workers(void **state) {
  char command[64];
  (void)state;
  setenv("CONVOY_LIBEXEC", libexec, 1);
  free(libexec);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static int count_open(void) {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* Something prints into the socket before the worker answers: once, or again and again. */
static void test_foreign_bytes_at_the_start(void **state) {
  char once[128];
  const int before = count_open();
  (void)state;
  snprintf(once, sizeof once, "[ -s %s ] && : > %s && echo loss 0.25 >&3", file, file);
  put_before_the_worker(once);
  for (size_t i = 0; i < CVY_COUNT(starts); i++) {
    assert_int_equal(truncate(file, 1), 0);
    assert_int_equal(start_and_hear(starts[i].start), CONVOY_OK);
    check_told(1, "message of 10 bytes");
  }
  put_before_the_worker("while :; do echo loss 0.25; done >&3 2> /dev/null");
  for (size_t i = 0; i < CVY_COUNT(starts); i++) {
    const double began = cvy_clock();
    assert_int_equal(start_and_hear(starts[i].start), CONVOY_ERR_IO);
    check_told(1, "message of 10 bytes");
    assert_true(cvy_clock() - began < 4);
  }
  assert_int_equal(count_open(), before);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_is_replaced),
      cmocka_unit_test(test_none_where_none_may_be),
      cmocka_unit_test(test_a_refusal_is_final),
      cmocka_unit_test_setup_teardown(test_foreign_bytes_at_the_start, make_workers,
                                      remove_workers),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
