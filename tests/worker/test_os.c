/* src/os: shared memory, doorbell, processes. */
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
  cvy_doorbell work, progress;
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
    cvy_doorbell_ring(&box->progress);
  }
  return NULL;
}

static void *make_calls(void *user) {
  call_box *box = user;
  for (int i = 0; i < CALLS; i++) {
    const uint32_t mine = atomic_fetch_add(&box->posted, 1) + 1;
    cvy_doorbell_ring(&box->work);
    for (;;) {
      const uint32_t seen = cvy_doorbell_seen(&box->progress);
      if (atomic_load(&box->done) >= mine) break;
      cvy_doorbell_wait(&box->progress, seen, -1);
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

int main(void) {
  static const struct CMUnitTest tests[] = {
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
  return cmocka_run_group_tests(tests, NULL, NULL);
}
