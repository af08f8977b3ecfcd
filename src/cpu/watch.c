/* The watcher: compares the counts of all beats with those of its last look. */
#include "cpu/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/os.h"

#define CACHE_LINE 64

/* What the watcher remembers of a thread. */
typedef struct note {
  uint64_t count;
  int looks;        /* that found this count again */
  double processor; /* the thread's processor time when the count was new */
} note;

struct cvy_watch {
  int32_t threads;
  double seconds;
  cvy_beat *beats;
  note *notes;
  pthread_t thread;
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t wake;
  bool started, stop;
  bool asleep; /* without a timeout: the next job must wake it */
  bool running;
  uint64_t jobs; /* begun so far */
  cvy_problem problem;
  const char *algorithm;
  atomic_int_fast64_t stalls;
};

/* ------------------------------------------------------------------------------- one thread */

static double processor_seconds(cvy_beat *beat) {
  struct timespec time;
  if (clock_gettime(atomic_load_explicit(&beat->clock, memory_order_relaxed), &time) != 0) return 0;
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void name_step(cvy_beat *beat, cvy_text *text) {
  static const char *const words[] = {
      [CVY_PART] = "part %lld of %lld of a loop",
      [CVY_BLAS_TURN] = "waiting for another thread's BLAS call",
      [CVY_BLAS] = "a BLAS product of %lld x %lld x %lld",
  };
  long long number[3];
  for (int i = 0; i < 3; i++)
    number[i] = atomic_load_explicit(&beat->number[i], memory_order_relaxed);
  int activity = atomic_load_explicit(&beat->activity, memory_order_relaxed);
  if (activity != CVY_IDLE) cvy_text_add(text, words[activity], number[0], number[1], number[2]);
}

static void write_line(cvy_watch *watch, int32_t thread, cvy_text *text) {
  char problem[CONVOY_PROBLEM_TEXT];
  cvy_beat *beat = &watch->beats[thread];
  cvy_problem_text(&watch->problem, problem, sizeof problem);
  cvy_text_add(text, "cpu: no progress for %g s in ", watch->seconds);
  name_step(beat, text);
  cvy_text_add(text,
               ", %s on %s, thread %d of %d (it used %.1f s of processor time meanwhile); the call "
               "waits on",
               watch->algorithm, problem, (int)thread + 1, (int)watch->threads,
               processor_seconds(beat) - watch->notes[thread].processor);
}

/* True once per stall: the look at which it has lasted long enough. */
static bool stalls_now(cvy_watch *watch, int32_t thread) {
  cvy_beat *beat = &watch->beats[thread];
  note *n = &watch->notes[thread];
  uint64_t count = atomic_load_explicit(&beat->count, memory_order_relaxed);
  bool idle = atomic_load_explicit(&beat->activity, memory_order_relaxed) == CVY_IDLE;
  if (idle || count != n->count) {
    *n = (note){count, 0, processor_seconds(beat)};
    return false;
  }
  return ++n->looks == CVY_WATCH_LOOKS;
}

/* The sink may take its time or call the library, so the lock is not held while a line is logged. */
static void look(cvy_watch *watch, int32_t thread) {
  char line[512];
  cvy_text text = cvy_text_in(line, sizeof line);
  if (!stalls_now(watch, thread)) return;
  atomic_fetch_add(&watch->stalls, 1);
  write_line(watch, thread, &text);
  pthread_mutex_unlock(&watch->lock);
  cvy_log(CONVOY_LOG_WARNING, "%s", line);
  pthread_mutex_lock(&watch->lock);
}

/* ------------------------------------------------------------------------------ the watcher */

static struct timespec after(double seconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  int64_t nanoseconds = time.tv_nsec + (int64_t)(seconds * 1e9);
  time.tv_sec += nanoseconds / 1000000000;
  time.tv_nsec = nanoseconds % 1000000000;
  return time;
}

static void sleep_until_job(cvy_watch *watch) {
  watch->asleep = true;
  while (!watch->stop && watch->asleep) pthread_cond_wait(&watch->wake, &watch->lock);
}

static void sleep_until_look(cvy_watch *watch) {
  struct timespec until = after(watch->seconds / CVY_WATCH_LOOKS);
  while (!watch->stop && pthread_cond_timedwait(&watch->wake, &watch->lock, &until) == 0) continue;
}

static void *run_watcher(void *arg) {
  cvy_watch *watch = arg;
  uint64_t seen = 0;
  pthread_mutex_lock(&watch->lock);
  while (!watch->stop) {
    if (!watch->running && watch->jobs == seen) sleep_until_job(watch);
    seen = watch->jobs;
    sleep_until_look(watch);
    for (int32_t i = 0; i < watch->threads && watch->running && !watch->stop; i++) look(watch, i);
  }
  pthread_mutex_unlock(&watch->lock);
  return NULL;
}

/* ----------------------------------------------------------------------------- its life */

static void make_idle(cvy_watch *watch) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&watch->lock, NULL);
  pthread_cond_init(&watch->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  watch->started = watch->stop = watch->asleep = watch->running = false;
}

convoy_status cvy_watch_open(int32_t threads, double seconds, cvy_watch **out) {
  void *beats = NULL;
  cvy_watch *watch = calloc(1, sizeof *watch);
  note *notes = calloc((size_t)threads, sizeof *notes);
  if (!watch || !notes ||
      posix_memalign(&beats, CACHE_LINE, (size_t)threads * sizeof(cvy_beat)) != 0) {
    free(watch);
    free(notes);
    return cvy_fail(CONVOY_ERR_MEMORY, "cpu: no memory to watch %d threads", (int)threads);
  }
  watch->threads = threads;
  watch->seconds = seconds;
  watch->beats = beats;
  watch->notes = notes;
  memset(beats, 0, (size_t)threads * sizeof(cvy_beat));
  make_idle(watch);
  *out = watch;
  return CONVOY_OK;
}

void cvy_watch_close(cvy_watch *watch) {
  if (!watch) return;
  pthread_mutex_lock(&watch->lock);
  watch->stop = true;
  pthread_cond_signal(&watch->wake);
  pthread_mutex_unlock(&watch->lock);
  if (watch->started) pthread_join(watch->thread, NULL);
  pthread_cond_destroy(&watch->wake);
  pthread_mutex_destroy(&watch->lock);
  free(watch->beats);
  free(watch->notes);
  free(watch);
}

void cvy_watch_after_fork(cvy_watch *watch) {
  make_idle(watch);
  for (int32_t i = 0; i < watch->threads; i++) atomic_store(&watch->beats[i].activity, CVY_IDLE);
}

cvy_beat *cvy_watch_beat(cvy_watch *watch, int32_t thread) {
  return &watch->beats[thread];
}

int64_t cvy_watch_stalls(const cvy_watch *watch) {
  return watch ? atomic_load(&((cvy_watch *)watch)->stalls) : 0;
}

/* --------------------------------------------------------------------------------- jobs */

/* Without a thread to watch, the work is done all the same; the next job tries again. */
static void ensure_watcher(cvy_watch *watch) {
  if (watch->started) {
    if (watch->asleep) pthread_cond_signal(&watch->wake);
    watch->asleep = false;
    return;
  }
  watch->started = cvy_thread_start(&watch->thread, run_watcher, watch, "convoy-watch");
}

void cvy_watch_begin(cvy_watch *watch, const cvy_problem *problem, const char *algorithm) {
  if (!watch) return;
  pthread_mutex_lock(&watch->lock);
  watch->problem = *problem;
  watch->algorithm = algorithm;
  watch->running = true;
  watch->jobs++;
  ensure_watcher(watch);
  pthread_mutex_unlock(&watch->lock);
}

void cvy_watch_end(cvy_watch *watch) {
  if (!watch) return;
  pthread_mutex_lock(&watch->lock);
  watch->running = false;
  pthread_mutex_unlock(&watch->lock);
}
