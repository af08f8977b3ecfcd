/* The watchdog compares the counts of all heartbeats with those of its last look. */
#include "cpu/threads/watchdog.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/os.h"
#include "problem/operation.h"

#define CACHE_LINE 64

/* What the watchdog remembers of a thread. */
typedef struct last_look {
  uint64_t count;
  int looks;        /* how many found this count again */
  double processor; /* the thread's processor time when the count was new */
} last_look;

struct cvy_watchdog {
  int32_t threads;
  double seconds;
  cvy_heartbeat *heartbeats;
  last_look *last;
  pthread_t thread;
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t wake;
  bool started, stop;
  bool asleep; /* it sleeps without a timeout, so the next job must wake it */
  bool running;
  uint64_t jobs; /* begun so far */
  cvy_problem problem;
  const char *algorithm;
  atomic_int_fast64_t stalls;
};

/* ------------------------------------------------------------------------------- one thread */

static double processor_seconds(cvy_heartbeat *heartbeat) {
  struct timespec time;
  if (clock_gettime(atomic_load_explicit(&heartbeat->clock, memory_order_relaxed), &time) != 0)
    return 0;
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void name_progress_point(cvy_heartbeat *heartbeat, cvy_text *text) {
  static const char *const words[] = {
      [CVY_PART] = "part %lld of %lld of a loop",
      [CVY_BLAS_TURN] = "waiting for another thread's BLAS call",
      [CVY_BLAS] = "a BLAS product of %lld x %lld x %lld",
  };
  long long number[3];
  for (int i = 0; i < 3; i++)
    number[i] = atomic_load_explicit(&heartbeat->number[i], memory_order_relaxed);
  int activity = atomic_load_explicit(&heartbeat->activity, memory_order_relaxed);
  if (activity != CVY_IDLE) cvy_text_add(text, words[activity], number[0], number[1], number[2]);
}

static void write_line(cvy_watchdog *watchdog, int32_t thread, cvy_text *text) {
  char problem[CONVOY_PROBLEM_TEXT];
  cvy_heartbeat *heartbeat = &watchdog->heartbeats[thread];
  cvy_problem_text(&watchdog->problem, problem, sizeof problem);
  cvy_text_add(text, "cpu: no progress for %g s in ", watchdog->seconds);
  name_progress_point(heartbeat, text);
  cvy_text_add(text,
               ", %s on %s, thread %d of %d (it used %.1f s of processor time meanwhile); the call "
               "waits on",
               watchdog->algorithm, problem, (int)thread + 1, (int)watchdog->threads,
               processor_seconds(heartbeat) - watchdog->last[thread].processor);
}

/* True once per stall, at the look by which it has lasted long enough. */
static bool stalls_now(cvy_watchdog *watchdog, int32_t thread) {
  cvy_heartbeat *heartbeat = &watchdog->heartbeats[thread];
  last_look *n = &watchdog->last[thread];
  uint64_t count = atomic_load_explicit(&heartbeat->count, memory_order_relaxed);
  bool idle = atomic_load_explicit(&heartbeat->activity, memory_order_relaxed) == CVY_IDLE;
  if (idle || count != n->count) {
    *n = (last_look){count, 0, processor_seconds(heartbeat)};
    return false;
  }
  return ++n->looks == CVY_WATCHDOG_LOOKS;
}

/* The log's receiver may need time for it or call the library, so the lock is not held
 * meanwhile. */
static void look(cvy_watchdog *watchdog, int32_t thread) {
  char line[512];
  cvy_text text = cvy_text_in(line, sizeof line);
  if (!stalls_now(watchdog, thread)) return;
  atomic_fetch_add(&watchdog->stalls, 1);
  write_line(watchdog, thread, &text);
  pthread_mutex_unlock(&watchdog->lock);
  cvy_log(CONVOY_LOG_WARNING, "%s", line);
  pthread_mutex_lock(&watchdog->lock);
}

/* ------------------------------------------------------------------------------ its thread */

static struct timespec after(double seconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  int64_t nanoseconds = time.tv_nsec + (int64_t)(seconds * 1e9);
  time.tv_sec += nanoseconds / 1000000000;
  time.tv_nsec = nanoseconds % 1000000000;
  return time;
}

static void sleep_until_job(cvy_watchdog *watchdog) {
  watchdog->asleep = true;
  while (!watchdog->stop && watchdog->asleep) pthread_cond_wait(&watchdog->wake, &watchdog->lock);
}

static void sleep_until_look(cvy_watchdog *watchdog) {
  struct timespec until = after(watchdog->seconds / CVY_WATCHDOG_LOOKS);
  while (!watchdog->stop && pthread_cond_timedwait(&watchdog->wake, &watchdog->lock, &until) == 0)
    continue;
}

static void *run_watchdog(void *arg) {
  cvy_watchdog *watchdog = arg;
  uint64_t seen = 0;
  pthread_mutex_lock(&watchdog->lock);
  while (!watchdog->stop) {
    if (!watchdog->running && watchdog->jobs == seen) sleep_until_job(watchdog);
    seen = watchdog->jobs;
    sleep_until_look(watchdog);
    for (int32_t i = 0; i < watchdog->threads && watchdog->running && !watchdog->stop; i++)
      look(watchdog, i);
  }
  pthread_mutex_unlock(&watchdog->lock);
  return NULL;
}

/* ----------------------------------------------------------------------------- its life */

static void make_idle(cvy_watchdog *watchdog) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&watchdog->lock, NULL);
  pthread_cond_init(&watchdog->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  watchdog->started = watchdog->stop = watchdog->asleep = watchdog->running = false;
}

convoy_status cvy_watchdog_open(int32_t threads, double seconds, cvy_watchdog **out) {
  void *heartbeats = NULL;
  cvy_watchdog *watchdog = calloc(1, sizeof *watchdog);
  last_look *last = calloc((size_t)threads, sizeof *last);
  if (!watchdog || !last ||
      posix_memalign(&heartbeats, CACHE_LINE, (size_t)threads * sizeof(cvy_heartbeat)) != 0) {
    free(watchdog);
    free(last);
    return cvy_fail(CONVOY_ERR_MEMORY, "cpu: no memory to watch %d threads", (int)threads);
  }
  watchdog->threads = threads;
  watchdog->seconds = seconds;
  watchdog->heartbeats = heartbeats;
  watchdog->last = last;
  memset(heartbeats, 0, (size_t)threads * sizeof(cvy_heartbeat));
  make_idle(watchdog);
  *out = watchdog;
  return CONVOY_OK;
}

void cvy_watchdog_close(cvy_watchdog *watchdog) {
  if (!watchdog) return;
  pthread_mutex_lock(&watchdog->lock);
  watchdog->stop = true;
  pthread_cond_signal(&watchdog->wake);
  pthread_mutex_unlock(&watchdog->lock);
  if (watchdog->started) pthread_join(watchdog->thread, NULL);
  pthread_cond_destroy(&watchdog->wake);
  pthread_mutex_destroy(&watchdog->lock);
  free(watchdog->heartbeats);
  free(watchdog->last);
  free(watchdog);
}

void cvy_watchdog_after_fork(cvy_watchdog *watchdog) {
  make_idle(watchdog);
  for (int32_t i = 0; i < watchdog->threads; i++)
    atomic_store(&watchdog->heartbeats[i].activity, CVY_IDLE);
}

cvy_heartbeat *cvy_watchdog_heartbeat(cvy_watchdog *watchdog, int32_t thread) {
  return &watchdog->heartbeats[thread];
}

int64_t cvy_watchdog_stalls(const cvy_watchdog *watchdog) {
  return watchdog ? atomic_load(&((cvy_watchdog *)watchdog)->stalls) : 0;
}

/* --------------------------------------------------------------------------------- jobs */

/* Where its thread cannot be started, the work is done all the same, and the next job tries
 * again. */
static void ensure_thread(cvy_watchdog *watchdog) {
  if (watchdog->started) {
    if (watchdog->asleep) pthread_cond_signal(&watchdog->wake);
    watchdog->asleep = false;
    return;
  }
  watchdog->started =
      cvy_thread_start(&watchdog->thread, run_watchdog, watchdog, "convoy-watchdog");
}

void cvy_watchdog_begin(cvy_watchdog *watchdog, const cvy_problem *problem, const char *algorithm) {
  if (!watchdog) return;
  pthread_mutex_lock(&watchdog->lock);
  cvy_problem_copy(&watchdog->problem, problem);
  watchdog->algorithm = algorithm;
  watchdog->running = true;
  watchdog->jobs++;
  ensure_thread(watchdog);
  pthread_mutex_unlock(&watchdog->lock);
}

void cvy_watchdog_end(cvy_watchdog *watchdog) {
  if (!watchdog) return;
  pthread_mutex_lock(&watchdog->lock);
  watchdog->running = false;
  pthread_mutex_unlock(&watchdog->lock);
}
