/* Denormals count as 0 in threads that compute for the engine, and are as before in all others. */
#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "cpu/team.h"
#include "cpu/threads/denormals.h"
#include "cpu/threads/threads.h"

static cvy_threads *open_threads(int32_t wanted) {
  cvy_threads *threads;
  assert_int_equal(cvy_threads_open(wanted, &threads), CONVOY_OK);
  return threads;
}

static float half(volatile const float *value) {
  return *value * 0.5f;
}

static void denormals_are_flushed_and_restored(void **state) {
  (void)state;
  volatile const float smallest = FLT_MIN;
  assert_true(half(&smallest) > 0);
  uint64_t mode = cvy_denormals_flush();
#if defined(__SSE2__) || defined(__aarch64__)
  assert_true(half(&smallest) == 0);
#endif
  cvy_denormals_restore(mode);
  assert_true(half(&smallest) > 0);
}

typedef struct flushing {
  pthread_t caller;
  atomic_int pool_flushed, pool_kept, caller_kept;
} flushing;

static void try_denormals(void *arg, int64_t begin, int64_t end, int32_t slot) {
  flushing *f = arg;
  volatile const float smallest = FLT_MIN;
  bool kept = half(&smallest) > 0;
  (void)begin, (void)end, (void)slot;
  if (pthread_equal(pthread_self(), f->caller))
    f->caller_kept += kept;
  else if (kept)
    f->pool_kept++;
  else
    f->pool_flushed++;
  usleep(20000); /* so that the caller does not take all parts */
}

/* Denormals are flushed in the pool's threads, and not in the thread that merely calls: jobs do
 * that for themselves. */
static void denormals_are_flushed_in_the_pool_only(void **state) {
  (void)state;
  flushing f = {.caller = pthread_self()};
  cvy_threads *threads = open_threads(3);
  for (int i = 0; i < 50 && f.pool_flushed == 0; i++)
    cvy_parallel_for(threads, 3, try_denormals, &f);
#if defined(__SSE2__) || defined(__aarch64__)
  assert_true(f.pool_flushed > 0);
  assert_int_equal(f.pool_kept, 0);
#endif
  assert_true(f.caller_kept > 0);
  cvy_threads_close(threads);
}

static convoy_team_member *lent_member;
static atomic_int left_flushed;

/* Looks at the thread after the engine: what that does to it must be undone when it leaves. */
static void look_afterwards(void *arg) {
  volatile const float smallest = FLT_MIN;
  lent_member(arg);
  left_flushed += half(&smallest) == 0;
}

static void looking_team(convoy_team_member *member, void *arg, unsigned count, unsigned flags) {
  lent_member = member;
  team_of_test(look_afterwards, arg, count, flags);
}

static void a_team_gets_its_denormals_back(void **state) {
  (void)state;
  flushing f = {.caller = pthread_self()};
  cvy_threads *threads = open_threads(3);
  cvy_threads_lend(threads, looking_team);
  team_members = 3;
  for (int i = 0; i < 50 && f.pool_flushed == 0; i++)
    cvy_parallel_for(threads, 3, try_denormals, &f);
#if defined(__SSE2__) || defined(__aarch64__)
  assert_true(f.pool_flushed > 0);
  assert_int_equal(f.pool_kept, 0);
#endif
  assert_int_equal(left_flushed, 0);
  cvy_threads_close(threads);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(denormals_are_flushed_and_restored),
      cmocka_unit_test(denormals_are_flushed_in_the_pool_only),
      cmocka_unit_test(a_team_gets_its_denormals_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
