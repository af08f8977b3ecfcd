/* The parallel loop: its parts, which team carries it out, and what becomes of teams in a fork. */
#include "cpu/threads/threads.h"

#include <pthread.h>
#include <stdlib.h>

#include "cpu/threads/choice.h"
#include "cpu/threads/limits.h"

/* Parts per thread where items cost unevenly. */
#define PARTS_PER_THREAD 8

struct cvy_threads {
  int32_t count;
  cvy_watchdog *watchdog; /* may be NULL */
  pthread_mutex_t caller; /* held while a team runs a loop: one loop at a time */
  cvy_team *team;         /* who carries out loops while it is ready: OpenMP's, lent or the pool */
  cvy_team *pool;
  cvy_lent_team lent;
  cvy_threads *next; /* list of all, for fork */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static cvy_threads *all;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ------------------------------------------------------------------------------------- loops */

static cvy_team *ready_team(cvy_threads *threads) {
  cvy_team *team = threads->team;
  return team->ready && !team->ready(team, threads->count) ? threads->pool : team;
}

static void run_loop(cvy_threads *threads, int64_t count, int64_t most, bool slot_is_part,
                     cvy_task *task, void *arg) {
  int64_t members = cvy_threads_count(threads);
  cvy_loop loop = {.task = task,
                   .arg = arg,
                   .count = count,
                   .parts = count < most ? count : most,
                   .slot_is_part = slot_is_part,
                   .members = (int32_t)members,
                   .watchdog = threads ? threads->watchdog : NULL};
  int64_t helpers = (loop.parts < members ? loop.parts : members) - 1;
  if (cvy_loop_is_inside() || helpers < 1) {
    cvy_loop_join(&loop, 0);
    return;
  }
  pthread_mutex_lock(&threads->caller);
  cvy_team *team = ready_team(threads);
  team->run(team, &loop, helpers);
  pthread_mutex_unlock(&threads->caller);
}

void cvy_parallel_for(cvy_threads *threads, int64_t count, cvy_task *task, void *arg) {
  run_loop(threads, count, cvy_threads_count(threads), true, task, arg);
}

void cvy_parallel_items(cvy_threads *threads, int64_t count, cvy_task *task, void *arg) {
  int64_t most = (int64_t)cvy_threads_count(threads) * PARTS_PER_THREAD;
  run_loop(threads, count, most, false, task, arg);
}

/* -------------------------------------------------------------------------------------- fork */

static void before_fork(void) {
  pthread_mutex_lock(&all_lock);
}

static void after_fork(void) {
  pthread_mutex_unlock(&all_lock);
}

/* The child has none of the teams' threads, and locks are in whatever state they were, except the
 * list's, which is the forking thread's own. */
static void after_fork_in_child(void) {
  pthread_mutex_unlock(&all_lock);
  cvy_loop_after_fork();
  for (cvy_threads *threads = all; threads; threads = threads->next) {
    pthread_mutex_init(&threads->caller, NULL);
    threads->team = threads->pool;
    cvy_pool_after_fork(threads->pool);
    if (threads->watchdog) cvy_watchdog_after_fork(threads->watchdog);
  }
}

static void handle_forks(void) {
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ----------------------------------------------------------------------------- open and close */

static int32_t clamp_count(int32_t wanted) {
  int32_t count = wanted > 0 ? wanted : cvy_cpu_allowed();
  if (count <= CVY_MAX_THREADS) return count;
  cvy_log(CONVOY_LOG_WARNING, "cpu: %d threads wanted, %d used: there may be no more", (int)count,
          CVY_MAX_THREADS);
  return CVY_MAX_THREADS;
}

convoy_status cvy_threads_open(int32_t wanted, cvy_threads **out) {
  int32_t count = clamp_count(wanted);
  cvy_team *team;
  convoy_status status = cvy_team_choose(count, &team);
  if (status) return status;
  cvy_threads *threads = calloc(1, sizeof *threads);
  cvy_team *pool = cvy_pool_open();
  if (!threads || !pool) {
    free(threads);
    if (pool) cvy_pool_close(pool);
    return cvy_fail(CONVOY_ERR_MEMORY, "cpu: no memory for a pool of threads");
  }
  threads->count = count;
  threads->pool = pool;
  threads->team = team ? team : pool;
  pthread_mutex_init(&threads->caller, NULL);
  pthread_once(&once, handle_forks);
  pthread_mutex_lock(&all_lock);
  threads->next = all;
  all = threads;
  pthread_mutex_unlock(&all_lock);
  *out = threads;
  return CONVOY_OK;
}

static void forget(cvy_threads *threads) {
  pthread_mutex_lock(&all_lock);
  cvy_threads **at = &all;
  while (*at != threads) at = &(*at)->next;
  *at = threads->next;
  pthread_mutex_unlock(&all_lock);
}

void cvy_threads_close(cvy_threads *threads) {
  if (!threads) return;
  forget(threads);
  cvy_pool_close(threads->pool);
  pthread_mutex_destroy(&threads->caller);
  free(threads);
}

void cvy_threads_lend(cvy_threads *threads, convoy_team *team) {
  threads->lent = cvy_lent_team_of(team);
  if (team) threads->team = &threads->lent.team;
}

void cvy_threads_set_watchdog(cvy_threads *threads, cvy_watchdog *watchdog) {
  threads->watchdog = watchdog;
}

int32_t cvy_threads_count(const cvy_threads *threads) {
  return threads ? threads->count : 1;
}
