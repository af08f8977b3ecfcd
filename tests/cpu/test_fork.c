/* A child made by fork() computes with a pool of its own, whatever the parent was doing and on
 * whose threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/forks.h"
#include "cpu/team.h"
#include "cpu/threads/threads.h"

enum { THREADS = 3 };
#define CHILD_SECONDS 20 /* then SIGALRM ends a child that hangs */

#if defined(__SANITIZE_THREAD__)
#define CHILDREN_MAY_START_THREADS false
#else
#define CHILDREN_MAY_START_THREADS true
#endif

static void add(void *arg, int64_t begin, int64_t end, int32_t slot) {
  atomic_llong *sum = arg;
  (void)slot;
  *sum += end - begin;
}

static int sums_right(cvy_threads *threads) {
  for (int i = 0; i < 50; i++) {
    atomic_llong sum = 0;
    cvy_parallel_items(threads, 1000, add, &sum);
    if (sum != 1000) return 0;
  }
  return 1;
}

/* Lets a child compute, whose verdict is its exit status. It may call no team that its parent was
 * lent: the threads of that are not there, and it might wait for them. */
static void expect_child_computes(cvy_threads *threads) {
  int status = -1;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(CHILD_SECONDS);
    team_calls = 0;
    int right = sums_right(threads);
    cvy_threads_close(threads);
    _exit(right && team_calls == 0 ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static cvy_threads *open_threads(void) {
  cvy_threads *threads;
  assert_int_equal(cvy_threads_open(THREADS, &threads), CONVOY_OK);
  return threads;
}

static void note_slot(void *arg, int64_t begin, int64_t end, int32_t slot) {
  atomic_uint *seen = arg;
  (void)begin, (void)end;
  *seen |= 1u << slot;
  usleep(100); /* leaves the other threads something to do */
}

/* Returns when every thread of the pool has worked: it allocates while it starts, and never
 * again. */
static void let_start(cvy_threads *threads) {
  atomic_uint seen = 0;
  while (seen != (1u << THREADS) - 1) cvy_parallel_items(threads, THREADS * 8, note_slot, &seen);
}

static void child_of_idle_pool(void **state) {
  (void)state;
  cvy_threads *threads = open_threads();
  expect_child_computes(threads); /* before any thread was started */
  assert_true(sums_right(threads));
  if (!FORKS_WITHIN_MALLOC) let_start(threads);
  expect_child_computes(threads);
  assert_true(sums_right(threads));
  cvy_threads_close(threads);
}

static void child_of_lent_team(void **state) {
  (void)state;
  cvy_threads *threads = open_threads();
  cvy_threads_lend(threads, team_of_test);
  assert_true(sums_right(threads));
  expect_child_computes(threads);
  team_calls = 0;
  assert_true(sums_right(threads));
  assert_true(team_calls > 0); /* the parent has it still */
  cvy_threads_close(threads);
}

typedef struct busy {
  cvy_threads *threads;
  atomic_bool started, stop;
} busy;

static void *keep_busy(void *arg) {
  busy *b = arg;
  if (!FORKS_WITHIN_MALLOC) let_start(b->threads);
  b->started = true;
  while (!b->stop && sums_right(b->threads)) continue;
  return NULL;
}

/* Forks find the locks of the pool in all states. */
static void child_of_busy_pool(void **state) {
  (void)state;
  busy b = {.threads = open_threads()};
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, keep_busy, &b), 0);
  while (!b.started && !FORKS_WITHIN_MALLOC) usleep(100);
  for (int i = 0; i < 20; i++) expect_child_computes(b.threads);
  b.stop = true;
  pthread_join(other, NULL);
  cvy_threads_close(b.threads);
}

int main(void) {
  if (!CHILDREN_MAY_START_THREADS) {
    fputs("skipped: ThreadSanitizer ends a forked child that starts threads\n", stderr);
    return SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(child_of_idle_pool),
      cmocka_unit_test(child_of_busy_pool),
      cmocka_unit_test(child_of_lent_team),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
