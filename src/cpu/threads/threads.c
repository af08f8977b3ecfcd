/* The thread pool. A loop is cut into parts; the caller and the pool's threads claim parts from a
 * counter until none is left. A thread that wakes up late finds the loop closed and sleeps on: the
 * caller never waits for a thread that has no work, which matters when processors are shared. */
#include "cpu/threads/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu/threads/affinity.h"
#include "cpu/threads/denormals.h"
#include "cpu/threads/limits.h"
#include "os/os.h"

/* Rounds of looking before a thread sleeps, some microseconds: enough to bridge the gap between two
 * loops of one operation, too short to be felt by others. */
#define SPIN_ROUNDS 100
/* The same for the caller, whom others still work for: about as long as waking it up takes. */
#define CLOSE_ROUNDS 1000
/* Parts per thread where items cost unevenly. */
#define PARTS_PER_THREAD 8

typedef struct loop {
  cvy_task *task;
  void *arg;
  int64_t count, parts;
  bool slot_is_part;
  atomic_int_fast64_t next;
} loop;

struct cvy_threads {
  int32_t count;
  int32_t started;
  convoy_team *team;      /* the program's own threads, which then do the work; NULL: the pool's */
  cvy_watchdog *watchdog; /* may be NULL */
  pthread_t thread[CVY_MAX_THREADS];
  pthread_mutex_t caller; /* held while a loop runs: one loop at a time */
  pthread_mutex_t lock;   /* guards what follows */
  pthread_cond_t wake, left;
  loop loop;
  bool open; /* the loop still takes threads */
  bool stop;
  int32_t asleep;
  atomic_int inside;  /* pool threads at work on the loop */
  atomic_uint opened; /* number of loops so far: what an idle thread watches */
  atomic_int joined;  /* members of the team that came to the loop */
  cvy_threads *next;  /* list of all pools, for fork */
};

typedef struct starter {
  cvy_threads *threads;
  int32_t slot;
} starter;

static _Thread_local bool in_task;

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static cvy_threads *pools;
static pthread_once_t pools_once = PTHREAD_ONCE_INIT;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* -------------------------------------------------------------------------------- one loop */

static void work(loop *l, int32_t slot) {
  for (;;) {
    int64_t part = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
    if (part >= l->parts) return;
    int64_t size = l->count / l->parts, rest = l->count % l->parts;
    int64_t begin = part * size + (part < rest ? part : rest);
    int64_t end = begin + size + (part < rest);
    cvy_progress_point before =
        cvy_heartbeat_enter((cvy_progress_point){CVY_PART, {part + 1, l->parts}});
    l->task(l->arg, begin, end, l->slot_is_part ? (int32_t)part : slot);
    cvy_heartbeat_leave(before);
  }
}

static cvy_heartbeat *heartbeat_of(const cvy_threads *threads, int32_t thread) {
  return threads && threads->watchdog ? cvy_watchdog_heartbeat(threads->watchdog, thread) : NULL;
}

/* On a thread that is not the pool's; inside a task it goes on beating where it did. */
static void work_here(const cvy_threads *threads, loop *l, int32_t slot) {
  if (in_task) {
    work(l, slot);
    return;
  }
  in_task = true;
  cvy_heartbeat *before = cvy_heartbeat_attach(heartbeat_of(threads, slot));
  work(l, slot);
  cvy_heartbeat_attach(before);
  in_task = false;
}

/* ----------------------------------------------------------------------------- pool threads */

static void wait_for_loop(cvy_threads *threads, unsigned seen) {
  for (int i = 0; i < SPIN_ROUNDS; i++) {
    if (atomic_load_explicit(&threads->opened, memory_order_acquire) != seen) break;
    pause_briefly();
  }
  pthread_mutex_lock(&threads->lock);
  threads->asleep++;
  while (!threads->stop && atomic_load_explicit(&threads->opened, memory_order_relaxed) == seen)
    pthread_cond_wait(&threads->wake, &threads->lock);
  threads->asleep--;
}

static void *pool_thread(void *arg) {
  starter start = *(starter *)arg;
  cvy_threads *threads = start.threads;
  free(arg);
  in_task = true;
  cvy_denormals_flush();
  cvy_affinity_unbind();
  cvy_heartbeat_attach(heartbeat_of(threads, start.slot));
  unsigned seen = 0; /* a loop opened before the thread was there is looked at too */
  for (;;) {
    wait_for_loop(threads, seen);
    if (threads->stop) break;
    seen = atomic_load_explicit(&threads->opened, memory_order_relaxed);
    bool take = threads->open;
    if (take) atomic_fetch_add_explicit(&threads->inside, 1, memory_order_relaxed);
    pthread_mutex_unlock(&threads->lock);
    if (!take) continue;
    work(&threads->loop, start.slot);
    pthread_mutex_lock(&threads->lock);
    if (atomic_fetch_sub_explicit(&threads->inside, 1, memory_order_release) == 1)
      pthread_cond_signal(&threads->left);
    pthread_mutex_unlock(&threads->lock);
  }
  pthread_mutex_unlock(&threads->lock);
  return NULL;
}

static bool start_thread(cvy_threads *threads, int32_t slot) {
  starter *start = malloc(sizeof *start);
  if (!start) return false;
  *start = (starter){threads, slot};
  char name[16];
  snprintf(name, sizeof name, "convoy-cpu-%hhu", (unsigned char)slot);
  bool started = cvy_thread_start(&threads->thread[slot], pool_thread, start, name);
  if (!started) free(start);
  return started;
}

static void start_threads(cvy_threads *threads, int64_t helpers) {
  while (threads->started < helpers && start_thread(threads, threads->started + 1))
    threads->started++;
}

/* -------------------------------------------------------------------------------- the caller */

static void set_loop(cvy_threads *threads, const loop *l) {
  threads->loop.task = l->task;
  threads->loop.arg = l->arg;
  threads->loop.count = l->count;
  threads->loop.parts = l->parts;
  threads->loop.slot_is_part = l->slot_is_part;
  atomic_store_explicit(&threads->loop.next, 0, memory_order_relaxed);
}

static void open_loop(cvy_threads *threads, const loop *l, int64_t helpers) {
  pthread_mutex_lock(&threads->lock);
  set_loop(threads, l);
  threads->open = true;
  atomic_fetch_add_explicit(&threads->opened, 1, memory_order_release);
  for (int64_t i = 0; i < helpers && i < threads->asleep; i++) pthread_cond_signal(&threads->wake);
  pthread_mutex_unlock(&threads->lock);
}

static void close_loop(cvy_threads *threads) {
  for (int i = 0; i < CLOSE_ROUNDS; i++) {
    if (atomic_load_explicit(&threads->inside, memory_order_acquire) == 0) break;
    pause_briefly();
  }
  pthread_mutex_lock(&threads->lock);
  threads->open = false;
  while (atomic_load_explicit(&threads->inside, memory_order_acquire) > 0)
    pthread_cond_wait(&threads->left, &threads->lock);
  pthread_mutex_unlock(&threads->lock);
}

static void run_by_pool(cvy_threads *threads, const loop *l, int64_t helpers) {
  start_threads(threads, helpers);
  open_loop(threads, l, helpers);
  work_here(threads, &threads->loop, 0);
  close_loop(threads);
}

/* On each thread of the team. It may have more than there are slots. */
static void join(void *arg) {
  cvy_threads *threads = arg;
  int32_t slot = atomic_fetch_add_explicit(&threads->joined, 1, memory_order_relaxed);
  if (slot >= threads->count) return;
  uint64_t mode = cvy_denormals_flush();
  work_here(threads, &threads->loop, slot);
  cvy_denormals_restore(mode);
}

/* Always the whole team: OpenMP ends and starts threads when its size changes. */
static void run_by_team(cvy_threads *threads, const loop *l) {
  set_loop(threads, l);
  atomic_store_explicit(&threads->joined, 0, memory_order_relaxed);
  threads->team(join, threads, 0, 0);
}

static void run_loop(cvy_threads *threads, loop *l) {
  int64_t count = cvy_threads_count(threads);
  int64_t helpers = (l->parts < count ? l->parts : count) - 1;
  if (in_task || helpers < 1) {
    work_here(threads, l, 0);
    return;
  }
  pthread_mutex_lock(&threads->caller);
  if (threads->team)
    run_by_team(threads, l);
  else
    run_by_pool(threads, l, helpers);
  pthread_mutex_unlock(&threads->caller);
}

void cvy_parallel_for(cvy_threads *threads, int64_t count, cvy_task *task, void *arg) {
  int64_t parts = cvy_threads_count(threads);
  loop l = {task, arg, count, count < parts ? count : parts, true, 0};
  run_loop(threads, &l);
}

void cvy_parallel_items(cvy_threads *threads, int64_t count, cvy_task *task, void *arg) {
  int64_t parts = (int64_t)cvy_threads_count(threads) * PARTS_PER_THREAD;
  loop l = {task, arg, count, count < parts ? count : parts, false, 0};
  run_loop(threads, &l);
}

/* ------------------------------------------------------------------------------ pools and fork */

static void make_idle(cvy_threads *threads) {
  pthread_mutex_init(&threads->caller, NULL);
  pthread_mutex_init(&threads->lock, NULL);
  pthread_cond_init(&threads->wake, NULL);
  pthread_cond_init(&threads->left, NULL);
  threads->started = 0;
  threads->asleep = 0;
  threads->open = false;
  threads->stop = false;
  atomic_store(&threads->inside, 0);
  if (threads->watchdog) cvy_watchdog_after_fork(threads->watchdog);
}

static void before_fork(void) {
  pthread_mutex_lock(&pools_lock);
}

static void after_fork(void) {
  pthread_mutex_unlock(&pools_lock);
}

/* The child has none of the pool's threads, nor of a team's, and their locks are in whatever state they
 * were; the list's lock is the forking thread's own. */
static void after_fork_in_child(void) {
  pthread_mutex_unlock(&pools_lock);
  in_task = false;
  cvy_heartbeat_attach(NULL);
  for (cvy_threads *threads = pools; threads; threads = threads->next) {
    threads->team = NULL;
    make_idle(threads);
  }
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static int32_t clamp_count(int32_t wanted) {
  int32_t count = wanted > 0 ? wanted : cvy_cpu_allowed();
  if (count <= CVY_MAX_THREADS) return count;
  cvy_log(CONVOY_LOG_WARNING, "cpu: %d threads wanted, %d used: the pool holds no more", (int)count,
          CVY_MAX_THREADS);
  return CVY_MAX_THREADS;
}

convoy_status cvy_threads_open(int32_t wanted, cvy_threads **out) {
  cvy_threads *threads = calloc(1, sizeof *threads);
  if (!threads) return cvy_fail(CONVOY_ERR_MEMORY, "cpu: no memory for a pool of threads");
  threads->count = clamp_count(wanted);
  make_idle(threads);
  pthread_once(&pools_once, watch_forks);
  pthread_mutex_lock(&pools_lock);
  threads->next = pools;
  pools = threads;
  pthread_mutex_unlock(&pools_lock);
  *out = threads;
  return CONVOY_OK;
}

static void forget(cvy_threads *threads) {
  pthread_mutex_lock(&pools_lock);
  cvy_threads **at = &pools;
  while (*at != threads) at = &(*at)->next;
  *at = threads->next;
  pthread_mutex_unlock(&pools_lock);
}

void cvy_threads_close(cvy_threads *threads) {
  if (!threads) return;
  pthread_mutex_lock(&threads->lock);
  threads->stop = true;
  pthread_cond_broadcast(&threads->wake);
  pthread_mutex_unlock(&threads->lock);
  for (int32_t i = 1; i <= threads->started; i++) pthread_join(threads->thread[i], NULL);
  forget(threads);
  pthread_mutex_destroy(&threads->caller);
  pthread_mutex_destroy(&threads->lock);
  pthread_cond_destroy(&threads->wake);
  pthread_cond_destroy(&threads->left);
  free(threads);
}

void cvy_threads_lend(cvy_threads *threads, convoy_team *team) {
  threads->team = team;
}

void cvy_threads_set_watchdog(cvy_threads *threads, cvy_watchdog *watchdog) {
  threads->watchdog = watchdog;
}

int32_t cvy_threads_count(const cvy_threads *threads) {
  return threads ? threads->count : 1;
}
