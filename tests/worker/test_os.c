/* src/os: files, folders, shared memory, doorbell, processes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/convoy-os-XXXXXX");
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

/* ---------------------------------------------------------------------------- files */

static void test_file_round_trip(void **state) {
  char path[128];
  size_t count = 0;
  (void)state;
  snprintf(path, sizeof path, "%s/a/b/c.bin", folder);
  assert_null(cvy_file_read(path, &count));
  for (size_t size = 0; size < 20000; size = 3 * size + 1) {
    unsigned char *bytes = malloc(size + 1);
    lane_fill(bytes, (int64_t)size, size);
    assert_int_equal(cvy_file_write(path, bytes, size), CONVOY_OK);
    unsigned char *got = cvy_file_read(path, &count);
    assert_non_null(got);
    assert_int_equal(count, size);
    assert_memory_equal(got, bytes, size);
    assert_int_equal(got[size], 0);
    free(got);
    free(bytes);
  }
}

static void test_file_failure_leaves_the_old_one(void **state) {
  char path[128], below[192];
  size_t count;
  (void)state;
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(below, sizeof below, "%s/under", path);
  assert_int_equal(cvy_file_write(path, "old", 3), CONVOY_OK);
  assert_int_equal(cvy_file_write(below, "new", 3), CONVOY_ERR_IO);
  assert_sentence_has(below);
  assert_int_equal(cvy_file_write(folder, "new", 3), CONVOY_ERR_IO); /* a folder is there */
  char *got = cvy_file_read(path, &count);
  assert_string_equal(got, "old");
  free(got);
  assert_null(cvy_file_read(folder, &count));
}

/* Readers see one of the two texts, never a part or a mixture. */
static void *write_often(void *path) {
  static char texts[2][9000];
  memset(texts[0], 'a', sizeof texts[0]);
  memset(texts[1], 'b', sizeof texts[1]);
  for (int i = 0; i < 40; ++i) cvy_file_write(path, texts[i % 2], sizeof texts[0]);
  return NULL;
}

static void test_file_is_replaced_as_a_whole(void **state) {
  char path[128];
  pthread_t writer;
  (void)state;
  snprintf(path, sizeof path, "%s/whole", folder);
  assert_int_equal(cvy_file_write(path, "", 0), CONVOY_OK);
  pthread_create(&writer, NULL, write_often, path);
  for (int i = 0; i < 500; ++i) {
    size_t count;
    char *got = cvy_file_read(path, &count);
    assert_non_null(got);
    assert_true(count == 0 || count == 9000);
    for (size_t j = 0; j < count; ++j) assert_int_equal(got[j], got[0]);
    free(got);
  }
  pthread_join(writer, NULL);
}

/* -------------------------------------------------------------------------- folders */

static void test_folders(void **state) {
  char path[256];
  (void)state;
  unsetenv("CONVOY_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", "/home/x", 1);
  assert_true(cvy_cache_folder(path, sizeof path));
  assert_string_equal(path, "/home/x/.cache/convoy");
  assert_true(cvy_config_folder(path, sizeof path));
  assert_string_equal(path, "/home/x/.config/convoy");
  setenv("XDG_CACHE_HOME", "/c", 1);
  setenv("XDG_CONFIG_HOME", "relative", 1); /* to be ignored, says XDG */
  assert_true(cvy_cache_folder(path, sizeof path));
  assert_string_equal(path, "/c/convoy");
  assert_true(cvy_config_folder(path, sizeof path));
  assert_string_equal(path, "/home/x/.config/convoy");
  setenv("CONVOY_CACHE_DIR", "/own", 1);
  assert_true(cvy_cache_folder(path, sizeof path));
  assert_string_equal(path, "/own");
  assert_false(cvy_cache_folder(path, 4));
  unsetenv("HOME");
  assert_false(cvy_config_folder(path, sizeof path));
}

static void test_libexec_folder(void **state) {
  char *libexec = strdup(getenv("CONVOY_LIBEXEC"));
  char path[4096];
  (void)state;
  assert_true(cvy_libexec_folder(path, sizeof path));
  assert_string_equal(path, libexec);
  unsetenv("CONVOY_LIBEXEC");
  assert_true(cvy_libexec_folder(path, sizeof path));
  assert_int_equal(path[0], '/');
  assert_string_equal(strrchr(path, '/'), "/convoy-libexec");
  setenv("CONVOY_LIBEXEC", libexec, 1);
  free(libexec);
}

/* ------------------------------------------------------------------ shared, doorbell */

static void test_shared_memory(void **state) {
  cvy_shared a, b;
  (void)state;
  assert_int_equal(cvy_shared_make(8192, false, &a), CONVOY_OK);
  assert_int_equal(cvy_shared_map(dup(a.fd), 8193, &b), CONVOY_ERR_DEVICE);
  assert_int_equal(cvy_shared_map(dup(a.fd), 0, &b), CONVOY_ERR_DEVICE);
  assert_int_equal(cvy_shared_map(dup(a.fd), 8192, &b), CONVOY_OK);
  ((char *)a.memory)[5000] = 42;
  assert_int_equal(((char *)b.memory)[5000], 42);
  assert_int_not_equal(ftruncate(b.fd, 4096), 0); /* nobody can cut it short */
  cvy_shared_drop(&a);
  assert_int_equal(((char *)b.memory)[5000], 42);
  cvy_shared_drop(&b);
  assert_int_equal(cvy_shared_make(SIZE_MAX / 2, false, &a), CONVOY_ERR_MEMORY);
  cvy_shared_drop(&a);
}

/* Nor does it end the program, as writing beyond that limit does. */
static void test_shared_memory_beyond_the_limit(void **state) {
  cvy_shared shared;
  struct rlimit before, limit;
  (void)state;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = (struct rlimit){1 << 20, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  assert_int_equal(cvy_shared_make((1 << 20) + 1, false, &shared), CONVOY_ERR_MEMORY);
  assert_sentence_has("1048577 bytes");
  assert_sentence_has("is 1048576 bytes");
  assert_int_equal(cvy_shared_make(1 << 20, false, &shared), CONVOY_OK);
  setrlimit(RLIMIT_FSIZE, &before);
  cvy_shared_drop(&shared);
}

static void *ring_later(void *bell) {
  usleep(50000);
  cvy_doorbell_ring(bell);
  return NULL;
}

static void test_doorbell(void **state) {
  static cvy_doorbell bell;
  pthread_t thread;
  (void)state;
  double start = cvy_clock();
  cvy_doorbell_wait(&bell, cvy_doorbell_seen(&bell), 0.03);
  assert_true(cvy_clock() - start >= 0.029);
  uint32_t seen = cvy_doorbell_seen(&bell);
  cvy_doorbell_ring(&bell);
  start = cvy_clock();
  cvy_doorbell_wait(&bell, seen, -1); /* already rung: does not wait */
  assert_true(cvy_clock() - start < 1.0);
  seen = cvy_doorbell_seen(&bell);
  pthread_create(&thread, NULL, ring_later, &bell);
  while (cvy_doorbell_seen(&bell) == seen) cvy_doorbell_wait(&bell, seen, 5.0);
  assert_true(cvy_clock() - start < 2.0);
  pthread_join(thread, NULL);
}

enum { CALLS = 20000, CALLERS = 2 };

typedef struct call_box {
  cvy_doorbell work, news;
  _Atomic uint32_t posted, done;
} call_box;

static void *answer_calls(void *user) {
  call_box *box = user;
  while (atomic_load(&box->done) < CALLERS * CALLS) {
    const uint32_t seen = cvy_doorbell_seen(&box->work);
    if (atomic_load(&box->done) == atomic_load(&box->posted)) {
      cvy_doorbell_wait(&box->work, seen, -1);
      continue;
    }
    atomic_fetch_add(&box->done, 1);
    cvy_doorbell_ring(&box->news);
  }
  return NULL;
}

static void *make_calls(void *user) {
  call_box *box = user;
  for (int i = 0; i < CALLS; i++) {
    const uint32_t mine = atomic_fetch_add(&box->posted, 1) + 1;
    cvy_doorbell_ring(&box->work);
    for (;;) {
      const uint32_t seen = cvy_doorbell_seen(&box->news);
      if (atomic_load(&box->done) >= mine) break;
      cvy_doorbell_wait(&box->news, seen, -1);
    }
  }
  return NULL;
}

/* Nobody sleeps through a ring: a single one that is lost stops everybody for good. */
static void test_no_ring_is_lost(void **state) {
  static call_box box;
  pthread_t callers[CALLERS], answering;
  (void)state;
  pthread_create(&answering, NULL, answer_calls, &box);
  for (int i = 0; i < CALLERS; i++) pthread_create(&callers[i], NULL, make_calls, &box);
  for (int i = 0; i < CALLERS; i++) pthread_join(callers[i], NULL);
  pthread_join(answering, NULL);
  assert_int_equal(atomic_load(&box.done), CALLERS * CALLS);
}

static void test_lingering(void **state) {
  static cvy_doorbell bell;
  pthread_t thread;
  (void)state;
  const uint32_t seen = cvy_doorbell_seen(&bell);
  const double start = cvy_clock();
  assert_false(cvy_doorbell_linger(&bell, seen, 0.03));
  assert_in_range((int)(1e3 * (cvy_clock() - start)), 30, 1000);
  pthread_create(&thread, NULL, ring_later, &bell);
  assert_true(cvy_doorbell_linger(&bell, seen, 5.0));
  assert_true(cvy_clock() - start < 2.0);
  pthread_join(thread, NULL);
}

static void test_pass(void **state) {
  int pair[2], fd;
  char got[8];
  (void)state;
  assert_int_equal(cvy_pass_pair(pair), CONVOY_OK);
  assert_int_equal(cvy_pass_receive(pair[0], got, 4, &fd, 0.02), CONVOY_ERR_IO);
  assert_int_equal(cvy_pass_send(pair[1], "abcd", 4, 1), CONVOY_OK);
  assert_int_equal(cvy_pass_receive(pair[0], got, 4, &fd, 1.0), CONVOY_OK);
  assert_memory_equal(got, "abcd", 4);
  assert_true(fd > 2 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
  close(fd);
  cvy_pass_send(pair[1], "abcdef", 6, 1); /* longer than asked for: refused, nothing leaks */
  assert_int_equal(cvy_pass_receive(pair[0], got, 4, &fd, 1.0), CONVOY_ERR_IO);
  assert_int_equal(fd, -1);
  close(pair[1]);
  double start = cvy_clock();
  assert_int_equal(cvy_pass_receive(pair[0], got, 4, &fd, 5.0), CONVOY_ERR_IO);
  assert_true(cvy_clock() - start < 1.0);
  close(pair[0]);
}

static int count_open(void) {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* Four bytes with so many descriptors, as a process may send them that is not ours. */
static void send_many(int socket, int descriptors) {
  enum { MOST = 20 };
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(MOST * sizeof(int))];
  } room = {0};
  char bytes[] = "abc";
  const size_t size = (size_t)descriptors * sizeof(int);
  int fds[MOST];
  struct iovec part = {bytes, sizeof bytes};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = CMSG_SPACE(size)};
  for (int i = 0; i < descriptors; ++i) fds[i] = 1;
  room.header = (struct cmsghdr){
      .cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&room.header), fds, size);
  assert_int_equal(sendmsg(socket, &message, 0), sizeof bytes);
}

/* However many come, none stays open that nobody knows of. */
static void test_pass_more_than_asked(void **state) {
  int pair[2], fd;
  char got[4];
  (void)state;
  assert_int_equal(cvy_pass_pair(pair), CONVOY_OK);
  const int before = count_open();
  for (int descriptors = 1; descriptors <= 20; ++descriptors) {
    send_many(pair[1], descriptors);
    const convoy_status status = cvy_pass_receive(pair[0], got, sizeof got, &fd, 1.0);
    assert_int_equal(status, descriptors == 1 ? CONVOY_OK : CONVOY_ERR_IO);
    if (!status) close(fd);
    assert_int_equal(count_open(), before);
    send_many(pair[1], descriptors);
    assert_int_equal(cvy_pass_receive(pair[0], got, sizeof got, NULL, 1.0), CONVOY_ERR_IO);
    assert_int_equal(count_open(), before);
  }
  close(pair[0]);
  close(pair[1]);
}

/* ------------------------------------------------------------------------ processes */

static convoy_status start(const char *program, const char *script, cvy_process *process) {
  char name[] = "sh", option[] = "-c", text[128];
  char *argv[] = {name, option, text, NULL};
  cvy_text_copy(text, sizeof text, script);
  return cvy_process_start(program, argv, 1, process);
}

static void test_process(void **state) {
  cvy_process process;
  char how[64];
  (void)state;
  assert_int_equal(start("/nonexistent", "exit 5", &process), CONVOY_ERR_DEVICE);
  assert_sentence_has("/nonexistent");
  assert_int_equal(start("/bin/sh", "exit 5", &process), CONVOY_OK);
  assert_true(cvy_process_ended(&process, 5.0, how, sizeof how));
  assert_string_equal(how, "exited with status 5");
  cvy_process_drop(&process);
  assert_int_equal(start("/bin/sh", "trap '' ABRT; while :; do sleep 1; done", &process),
                   CONVOY_OK);
  assert_false(cvy_process_ended(&process, 0.1, how, sizeof how));
  assert_true(cvy_process_kill(&process, 0.3));
  cvy_process_drop(&process);
}

static void test_process_signals_are_default(void **state) {
  cvy_process process;
  sigset_t block, before;
  char how[64];
  (void)state;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  sigprocmask(SIG_BLOCK, &block, &before);
  signal(SIGTERM, SIG_IGN);
  assert_int_equal(start("/bin/sh", "kill -TERM $$; exit 9", &process), CONVOY_OK);
  signal(SIGTERM, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  assert_true(cvy_process_ended(&process, 5.0, how, sizeof how));
  assert_string_equal(how, "was killed by signal 15 (Terminated)");
  cvy_process_drop(&process);
}

/* The linker sends the library's calls here. */
static bool no_locks;
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  if (!no_locks) return __real_flock(fd, operation);
  errno = ENOLCK;
  return -1;
}

/* Nor is anything waited for where a file system has none. */
static void test_locks(void **state) {
  char path[] = "/tmp/convoy-lock-XXXXXX";
  (void)state;
  close(mkstemp(path));
  const int lock = cvy_file_lock(path, 0);
  assert_true(lock >= 0);
  const double start = cvy_clock();
  assert_int_equal(cvy_file_lock(path, 0.1), -1);
  assert_true(cvy_clock() - start >= 0.1);
  cvy_file_unlock(lock);
  no_locks = true;
  assert_int_equal(cvy_file_lock(path, 60), -1);
  no_locks = false;
  assert_true(cvy_clock() - start < 30);
  unlink(path);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_file_round_trip),
      cmocka_unit_test(test_file_failure_leaves_the_old_one),
      cmocka_unit_test(test_file_is_replaced_as_a_whole),
      cmocka_unit_test(test_locks),
      cmocka_unit_test(test_folders),
      cmocka_unit_test(test_libexec_folder),
      cmocka_unit_test(test_shared_memory),
      cmocka_unit_test(test_shared_memory_beyond_the_limit),
      cmocka_unit_test(test_doorbell),
      cmocka_unit_test(test_no_ring_is_lost),
      cmocka_unit_test(test_lingering),
      cmocka_unit_test(test_pass),
      cmocka_unit_test(test_pass_more_than_asked),
      cmocka_unit_test(test_process),
      cmocka_unit_test(test_process_signals_are_default),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
