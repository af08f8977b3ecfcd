/* The worker as a process: its death, and what it leaves behind. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/build_config.h"
#include "base/build_id.h"
#include "common/sleeps.h"
#include "os/os.h"
#include "worker/lane.h"
#include "worker/wire.h"

static cvy_device *open_process(const char *script) {
  return lane_open(CONVOY_ISOLATION_PROCESS, script);
}

static int worker_of(const cvy_device *device) {
  cvy_usage usage;
  LANE->usage(device, &usage);
  assert_int_not_equal(usage.process, 0);
  return (int)usage.process;
}

static bool is_there(int pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

static void assert_no_children(void) {
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

/* --------------------------------------------------------------------- its death */

/* A few commands of every kind; whatever happens, each call returns. */
static convoy_status use(cvy_device *device, uint64_t *fault) {
  char bytes[1000] = {0};
  uint64_t ticket = 0;
  cvy_job job = lane_job(1, 1, 2);
  command_allocate(LANE, device, 1, sizeof bytes, &ticket);
  LANE->write(device, 1, bytes, sizeof bytes, &ticket);
  command_allocate(LANE, device, 2, sizeof bytes, &ticket);
  command_run(LANE, device, &job, &ticket);
  command_copy(LANE, device, 2, 1, sizeof bytes, &ticket);
  command_zero(LANE, device, 2, sizeof bytes, &ticket);
  LANE->read(device, 1, bytes, sizeof bytes);
  command_release(LANE, device, 1);
  return LANE->wait(device, ticket, NULL, fault);
}

/* A fresh worker with an empty device takes the place of the one that has gone. */
static void check_mended(cvy_device *device, int gone) {
  bool emptied = false;
  uint64_t ticket = 0, fault = 0;
  setenv("FAKE_ENGINE", "", 1);
  assert_int_equal(command_clear(LANE, device, &emptied), CONVOY_OK);
  assert_true(emptied);
  assert_int_not_equal(worker_of(device), gone);
  assert_false(is_there(gone));
  lane_put(device, 1, 100, 5);
  lane_expect(device, 1, 100, 5);
  assert_int_equal(command_zero(LANE, device, 1, 100, &ticket), CONVOY_OK);
  assert_int_equal(LANE->wait(device, ticket, NULL, &fault), CONVOY_OK);
  assert_int_equal(LANE->wait(device, 1, NULL, &fault), CONVOY_OK); /* before its time */
}

static void check_death(const char *action, int when, const char *how) {
  char script[32], sentence[128];
  uint64_t ticket, fault = 0;
  int64_t value = 0;
  snprintf(script, sizeof script, "%s:%d", action, when);
  cvy_device *device = open_process(script);
  int worker = worker_of(device);
  snprintf(sentence, sizeof sentence, "worker process %d %s", worker, how);
  use(device, &fault);
  assert_int_equal(LANE->read(device, 2, &value, sizeof value), CONVOY_ERR_DEVICE);
  assert_sentence_has(sentence);
  assert_int_equal(command_allocate(LANE, device, 9, 8, &ticket), CONVOY_ERR_DEVICE);
  assert_int_equal(LANE->wait(device, 1, NULL, &fault), CONVOY_ERR_DEVICE);
  assert_true(fault >= 1);
  assert_sentence_has(sentence);
  check_mended(device, worker);
  LANE->close(device);
  assert_false(is_there(worker));
  assert_no_children();
}

static void test_death_at_every_command(void **state) {
  static const struct {
    const char *action, *how;
  } deaths[] = {{"kill", "was killed by signal 9 (Killed)"},
                {"segv", "was killed by signal 11 (Segmentation fault)"},
                {"abort", "was killed by signal 6 (Aborted)"},
                {"exit", "exited with status 7"}};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(deaths); ++i)
    for (int when = 1; when <= 8; ++when) check_death(deaths[i].action, when, deaths[i].how);
}

static void test_death_is_noticed_at_once(void **state) {
  cvy_device *device = open_process("hang:2");
  uint64_t ticket, fault;
  int worker = worker_of(device);
  (void)state;
  command_allocate(LANE, device, 1, 8, &ticket);
  command_zero(LANE, device, 1, 8, &ticket);
  pid_t killer = fork();
  if (killer == 0) {
    usleep(200000);
    kill(worker, SIGKILL);
    _exit(0);
  }
  double start = cvy_clock();
  assert_int_equal(LANE->wait(device, ticket, NULL, &fault), CONVOY_ERR_DEVICE);
  double seconds = cvy_clock() - start;
  assert_true(seconds > 0.1 && seconds < 2.0);
  waitpid(killer, NULL, 0);
  LANE->close(device);
  assert_no_children();
}

/* The caller's own reaping must not confuse the lane. */
static void test_reaped_by_the_host(void **state) {
  cvy_device *device = open_process(NULL);
  int worker = worker_of(device);
  (void)state;
  kill(worker, SIGKILL);
  assert_int_equal(waitpid(-1, NULL, 0), worker);
  command_allocate(LANE, device, 1, 8, NULL);
  assert_int_equal(LANE->wait(device, 1, NULL, &(uint64_t){0}), CONVOY_ERR_DEVICE);
  assert_sentence_has("ended");
  check_mended(device, worker);
  LANE->close(device);
  assert_no_children();
}

static void test_hung_worker_is_closed(void **state) {
  cvy_device *device = open_process("hang:1");
  int worker = worker_of(device);
  double start = cvy_clock();
  (void)state;
  command_allocate(LANE, device, 1, 8, NULL);
  LANE->close(device);
  assert_true(cvy_clock() - start < 5.0);
  assert_false(is_there(worker));
  assert_no_children();
}

static void test_stopped_worker_is_closed(void **state) {
  cvy_device *device = open_process(NULL);
  int worker = worker_of(device);
  (void)state;
  kill(worker, SIGSTOP);
  LANE->close(device);
  assert_false(is_there(worker));
  assert_no_children();
}

/* ------------------------------------------------------------------------- hygiene */

static int count_maps(const char *path, const char *part) {
  char line[512];
  int count = 0;
  FILE *maps = fopen(path, "r");
  while (fgets(line, sizeof line, maps)) count += strstr(line, part) != NULL;
  fclose(maps);
  return count;
}

static void test_session_and_signals(void **state) {
  cvy_device *device = open_process(NULL);
  int worker = worker_of(device);
  (void)state;
  assert_int_equal(getsid(worker), worker);
  kill(worker, SIGINT);
  kill(worker, SIGPIPE);
  kill(worker, SIGXFSZ); /* a file of the driver's has grown too large */
  lane_put(device, 1, 100, 1);
  lane_expect(device, 1, 100, 1);
  LANE->close(device);
}

static void test_fork_does_not_inherit_the_ring(void **state) {
  cvy_device *device = open_process(NULL);
  int status;
  (void)state;
  lane_put(device, 1, 100, 1);
  assert_int_equal(count_maps("/proc/self/maps", "memfd:convoy"), 2); /* ring, staging */
  pid_t child = fork();
  if (child == 0) _exit(count_maps("/proc/self/maps", "memfd:convoy"));
  waitpid(child, &status, 0);
  assert_int_equal(WEXITSTATUS(status), 0);
  lane_expect(device, 1, 100, 1);
  LANE->close(device);
}

static void open_use_close(int32_t isolation) {
  cvy_device *device = lane_open(isolation, NULL);
  void *memory = LANE->host_alloc(device, 2 << 20);
  lane_put(device, 1, 5000, 1);
  lane_expect(device, 1, 5000, 1);
  LANE->close(device);
  LANE->host_free(NULL, memory);
}

/* Sanitizers keep what is freed for a while, and map memory for it now and then. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PAGES_MAY_GROW = 20000, MAPS_MAY_GROW = 50 };
#else
enum { PAGES_MAY_GROW = 512, MAPS_MAY_GROW = 2 };
#endif
enum { FILES_MAY_GROW = 2 }; /* a thread that is ending may have some open for a moment */
enum { ROUNDS = 200 };       /* many more than these may grow: one that each leaves behind shows */

static long resident_pages(void) {
  long size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
  fclose(file);
  return resident;
}

static void check_growth(int32_t isolation) {
  for (int i = 0; i < 20; ++i) open_use_close(isolation);
  int files = lane_count_files(getpid()), maps = count_maps("/proc/self/maps", "-");
  long pages = resident_pages();
  for (int i = 0; i < ROUNDS; ++i) open_use_close(isolation);
  assert_in_range(lane_count_files(getpid()), 0, files + FILES_MAY_GROW);
  assert_in_range(count_maps("/proc/self/maps", "-"), 0, maps + MAPS_MAY_GROW);
  assert_true(resident_pages() - pages < PAGES_MAY_GROW);
  assert_no_children();
}

static void test_no_growth_process(void **state) {
  (void)state;
  check_growth(CONVOY_ISOLATION_PROCESS);
}

static void test_no_growth_thread(void **state) {
  (void)state;
  check_growth(CONVOY_ISOLATION_NONE);
}

/* How often its main thread went to sleep. */
static long sleeps_of(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  const long count = test_sleeps(path);
  assert_true(count >= 0);
  return count;
}

#define WINDOW_US 100000
#define WINDOWS 20

/* However loaded the machine is. */
static void test_idle_is_not_woken(void **state) {
  cvy_device *device = open_process(NULL);
  const int worker = worker_of(device);
  bool slept = false;
  (void)state;
  lane_put(device, 1, 100, 1);
  for (int i = 0; i < WINDOWS && !slept; i++) {
    const long before = sleeps_of(worker);
    usleep(WINDOW_US);
    slept = sleeps_of(worker) == before;
  }
  LANE->close(device);
  assert_true(slept);
}

/* ------------------------------------------------------------------------ greeting */

/* Greets a worker by hand. */
static convoy_status greet(cvy_wire_hello *hello, bool with_ring, cvy_wire_hello *answer) {
  char path[4096], *argv[] = {path, path, path, NULL};
  int pair[2], fd;
  cvy_shared ring;
  cvy_process process;
  snprintf(path, sizeof path, "%s/convoy-worker", getenv("CONVOY_LIBEXEC"));
  assert_int_equal(cvy_pass_pair(pair), CONVOY_OK);
  assert_int_equal(cvy_shared_make(sizeof(cvy_wire), false, &ring), CONVOY_OK);
  assert_int_equal(cvy_process_start(path, argv, pair[1], &process), CONVOY_OK);
  close(pair[1]);
  cvy_pass_send(pair[0], hello, sizeof *hello, with_ring ? ring.fd : -1);
  convoy_status status = cvy_pass_receive(pair[0], answer, sizeof *answer, &fd, 5.0);
  char how[64];
  assert_true(cvy_process_ended(&process, 5.0, how, sizeof how));
  assert_string_equal(how, "exited with status 1");
  cvy_process_drop(&process);
  cvy_shared_drop(&ring);
  close(pair[0]);
  return status;
}

static cvy_wire_hello good_hello(void) {
  cvy_wire_hello hello = {.frame = {.magic = CVY_WIRE_MAGIC,
                                    .message = CVY_WIRE_HELLO,
                                    .bytes = (int64_t)sizeof(cvy_wire)},
                          .process = cvy_process_id()};
  cvy_text_copy(hello.build_id, sizeof hello.build_id, cvy_build_id);
  return hello;
}

static void test_other_build_is_refused(void **state) {
  cvy_wire_hello hello = good_hello(), answer;
  (void)state;
  strcpy(hello.build_id, "0123456789abcdef");
  assert_int_equal(greet(&hello, true, &answer), CONVOY_OK);
  assert_int_equal(answer.status, CONVOY_ERR_DEVICE);
  assert_string_equal(answer.build_id, cvy_build_id);
  assert_non_null(strstr(answer.sentence, "0123456789abcdef"));
  assert_non_null(strstr(answer.sentence, cvy_build_id));
}

static void test_bad_greetings_are_refused(void **state) {
  cvy_wire_hello answer, wrong_magic = good_hello(), wrong_message = good_hello(),
                         wrong_size = good_hello(), no_ring = good_hello();
  (void)state;
  wrong_magic.frame.magic ^= 1;
  wrong_message.frame.message = CVY_WIRE_MEMORY;
  wrong_size.frame.bytes += 64;
  const struct {
    cvy_wire_hello *hello;
    bool with_ring;
  } bad[] = {{&wrong_magic, true}, {&wrong_message, true}, {&wrong_size, true}, {&no_ring, false}};
  for (size_t i = 0; i < CVY_COUNT(bad); ++i) {
    assert_int_equal(greet(bad[i].hello, bad[i].with_ring, &answer), CONVOY_OK);
    assert_int_equal(answer.status, CONVOY_ERR_IO);
  }
}

/* What no transfer can do without is looked for when the device is opened. */
static void test_limit_on_files(void **state) {
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  cvy_device *device = NULL;
  struct rlimit before, limit;
  int32_t count = 0;
  (void)state;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = (struct rlimit){8 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const convoy_status listed = LANE->list(&options, NULL, 0, &count);
  const convoy_status opened = LANE->open(0, &options, &device);
  setrlimit(RLIMIT_FSIZE, &before);
  assert_int_equal(listed, CONVOY_OK);
  assert_int_equal(opened, CONVOY_ERR_MEMORY);
  assert_sentence_has("cannot reserve 67108864 bytes of shared memory");
  assert_no_children();
}

/* Another program in the worker's place: /bin/true ends without a word. */
static void test_no_worker_at_all(void **state) {
  char folder[] = "/tmp/convoy-test-XXXXXX", path[4096], module[4096];
  char *libexec = strdup(getenv("CONVOY_LIBEXEC"));
  cvy_open_options options = lane_options(CONVOY_ISOLATION_PROCESS);
  int32_t count;
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(module, sizeof module, "%s/convoy-ocl.so", folder);
  snprintf(path, sizeof path, "%s/convoy-worker", folder);
  assert_int_equal(cvy_file_write(module, "", 0), CONVOY_OK);
  setenv("CONVOY_LIBEXEC", folder, 1);
  convoy_status missing = CONVOY_HAVE_OPENCL ? CONVOY_ERR_DEVICE : CONVOY_ERR_UNSUPPORTED;
  assert_int_equal(LANE->list(&options, NULL, 0, &count), missing);
  assert_sentence_has(path);
  assert_sentence_has("No such file or directory");
  assert_int_equal(cvy_file_write(path, "", 0), CONVOY_OK); /* it is there, and no program */
  assert_int_equal(LANE->list(&options, NULL, 0, &count), missing);
  assert_sentence_has(path);
  assert_sentence_has("Permission denied");
  unlink(path);
  assert_int_equal(symlink("/bin/true", path), 0);
  assert_int_equal(LANE->list(&options, NULL, 0, &count), CONVOY_ERR_DEVICE);
  assert_sentence_has("exited with status 0 before it answered");
  setenv("CONVOY_LIBEXEC", libexec, 1);
  free(libexec);
  unlink(path);
  unlink(module);
  rmdir(folder);
  assert_no_children();
}

/* The engine finds its files by the same relative names as the trainer, wherever that has gone. */
static void test_starts_where_the_trainer_did(void **state) {
  char before[4096];
  (void)state;
  assert_non_null(getcwd(before, sizeof before));
  for (int32_t isolation = CONVOY_ISOLATION_PROCESS; isolation <= CONVOY_ISOLATION_NONE;
       isolation++) {
    assert_string_equal(cvy_start_folder(), before);
    assert_int_equal(chdir("/"), 0);
    cvy_device *device = lane_open(isolation, NULL);
    assert_int_equal(strncmp(LANE->facts(device)->info.platform, before, 127), 0);
    LANE->close(device);
    assert_int_equal(chdir(before), 0);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_death_at_every_command),
      cmocka_unit_test(test_death_is_noticed_at_once),
      cmocka_unit_test(test_reaped_by_the_host),
      cmocka_unit_test(test_hung_worker_is_closed),
      cmocka_unit_test(test_stopped_worker_is_closed),
      cmocka_unit_test(test_session_and_signals),
      cmocka_unit_test(test_fork_does_not_inherit_the_ring),
      cmocka_unit_test(test_no_growth_process),
      cmocka_unit_test(test_no_growth_thread),
      cmocka_unit_test(test_idle_is_not_woken),
      cmocka_unit_test(test_other_build_is_refused),
      cmocka_unit_test(test_bad_greetings_are_refused),
      cmocka_unit_test(test_limit_on_files),
      cmocka_unit_test(test_no_worker_at_all),
      cmocka_unit_test(test_starts_where_the_trainer_did),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
