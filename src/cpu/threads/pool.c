/* The pool: threads of our own. The caller and the pool's threads claim parts of a loop until none
 * is left. A thread that wakes up late finds the loop closed and sleeps on: the caller never waits
 * for a thread that has no work, which matters when processors are shared. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu/threads/affinity.h"
#include "cpu/threads/denormals.h"
#include "cpu/threads/team.h"
#include "os/os.h"

/* Rounds of looking before a thread sleeps, some microseconds: enough to bridge the gap between two
 * loops of one operation, too short to be felt by others. */
#define SPIN_ROUNDS 100
/* Rounds of looking before the caller sleeps, for whom others still work: about as long as waking
 * it up takes. */
#define CLOSE_ROUNDS 1000

typedef struct pool {
  cvy_team team;
  int32_t started;
  pthread_t thread[CVY_MAX_THREADS];
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t wake, left;
  cvy_loop *loop; /* the caller's; only while it is open or a thread is inside */
  bool open;      /* the loop still takes threads */
  bool stop;
  int32_t asleep;
  atomic_int inside;  /* pool threads at work on the loop */
  atomic_uint opened; /* number of loops so far: what an idle thread looks at */
} pool;

typedef struct starter {
  pool *pool;
  int32_t member;
} starter;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ----------------------------------------------------------------------------- pool threads */

static void wait_for_loop(pool *p, unsigned seen) {
  for (int i = 0; i < SPIN_ROUNDS; i++) {
    if (atomic_load_explicit(&p->opened, memory_order_acquire) != seen) break;
    pause_briefly();
  }
  pthread_mutex_lock(&p->lock);
  p->asleep++;
  while (!p->stop && atomic_load_explicit(&p->opened, memory_order_relaxed) == seen)
    pthread_cond_wait(&p->wake, &p->lock);
  p->asleep--;
}

static void *pool_thread(void *arg) {
  starter start = *(starter *)arg;
  pool *p = start.pool;
  free(arg);
  cvy_denormals_flush();
  cvy_affinity_unbind();
  unsigned seen = 0; /* a loop opened before the thread was there is looked at too */
  for (;;) {
    wait_for_loop(p, seen);
    if (p->stop) break;
    seen = atomic_load_explicit(&p->opened, memory_order_relaxed);
    cvy_loop *loop = p->open ? p->loop : NULL;
    if (loop) atomic_fetch_add_explicit(&p->inside, 1, memory_order_relaxed);
    pthread_mutex_unlock(&p->lock);
    if (!loop) continue;
    cvy_loop_join(loop, start.member);
    pthread_mutex_lock(&p->lock);
    if (atomic_fetch_sub_explicit(&p->inside, 1, memory_order_release) == 1)
      pthread_cond_signal(&p->left);
    pthread_mutex_unlock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static bool start_thread(pool *p, int32_t member) {
  starter *start = malloc(sizeof *start);
  if (!start) return false;
  *start = (starter){p, member};
  char name[16];
  snprintf(name, sizeof name, "convoy-cpu-%hhu", (unsigned char)member);
  bool started = cvy_thread_start(&p->thread[member], pool_thread, start, name);
  if (!started) free(start);
  return started;
}

static void start_threads(pool *p, int64_t helpers) {
  while (p->started < helpers && start_thread(p, p->started + 1)) p->started++;
}

/* -------------------------------------------------------------------------------- the caller */

static void open_loop(pool *p, cvy_loop *loop, int64_t helpers) {
  pthread_mutex_lock(&p->lock);
  p->loop = loop;
  p->open = true;
  atomic_fetch_add_explicit(&p->opened, 1, memory_order_release);
  for (int64_t i = 0; i < helpers && i < p->asleep; i++) pthread_cond_signal(&p->wake);
  pthread_mutex_unlock(&p->lock);
}

static void close_loop(pool *p) {
  for (int i = 0; i < CLOSE_ROUNDS; i++) {
    if (atomic_load_explicit(&p->inside, memory_order_acquire) == 0) break;
    pause_briefly();
  }
  pthread_mutex_lock(&p->lock);
  p->open = false;
  while (atomic_load_explicit(&p->inside, memory_order_acquire) > 0)
    pthread_cond_wait(&p->left, &p->lock);
  pthread_mutex_unlock(&p->lock);
}

static void run(cvy_team *team, cvy_loop *loop, int64_t helpers) {
  pool *p = (pool *)team;
  start_threads(p, helpers);
  open_loop(p, loop, helpers);
  cvy_loop_join(loop, 0);
  close_loop(p);
}

/* ------------------------------------------------------------------------------- its life */

/* The pool without threads, as it begins. */
static void make_idle(pool *p) {
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->left, NULL);
  p->started = 0;
  p->asleep = 0;
  p->open = false;
  p->stop = false;
  atomic_store(&p->inside, 0);
}

cvy_team *cvy_pool_open(void) {
  pool *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->team.run = run;
  make_idle(p);
  return &p->team;
}

/* The child finds the locks in whatever state they were. */
void cvy_pool_after_fork(cvy_team *team) {
  make_idle((pool *)team);
}

void cvy_pool_close(cvy_team *team) {
  pool *p = (pool *)team;
  pthread_mutex_lock(&p->lock);
  p->stop = true;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (int32_t i = 1; i <= p->started; i++) pthread_join(p->thread[i], NULL);
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->wake);
  pthread_cond_destroy(&p->left);
  free(p);
}
