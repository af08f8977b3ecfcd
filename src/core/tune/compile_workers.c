/* The compile workers' stack of jobs, their threads, and how they end. */
#include "core/tune/compile_workers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/os.h"

enum { JOBS = 512, RECENT = 1024, STANDARD = 8 };
#define IDLE_SECONDS 5.0 /* a process that may be needed again soon is not worth ending */
/* What a closing context waits for compile workers; one that takes longer ends by itself. */
#define CLOSE_SECONDS 4.0
/* A driver takes device memory for each process that uses it: 564 MiB on an H200, less on smaller
 * cards. */
#define DEVICE_BYTES (INT64_C(2) << 30)

struct cvy_compile_workers {
  const cvy_backend *backend;
  int32_t index;
  cvy_open_options options;
  int32_t most; /* compile workers at once; fewer after each that failed */
  int64_t seen; /* programs the device's own lane had compiled */
  volatile int closing;

  pthread_mutex_t lock;   /* guards what follows, and `most` */
  pthread_cond_t changed; /* of jobs, closing, and compile workers that end */
  int32_t running;
  bool orphaned; /* the last compile worker frees this */
  int64_t compiled;
  cvy_job jobs[JOBS]; /* a stack; when it is full the oldest are forgotten */
  uint64_t top;
  int32_t count;
  uint64_t recent[RECENT]; /* hashes of jobs; a place is overwritten when two want it */
};

/* --------------------------------------------------------------------------- how many */

static int32_t at_most(int32_t count, int64_t limit) {
  return count < limit ? count : (int32_t)limit;
}

/* A processor that is the device is busy itself. */
static int32_t standard_count(const cvy_facts *facts, int32_t cores) {
  if (facts->info.type == CONVOY_DEVICE_CPU || cores <= 2) return 0;
  return at_most(at_most(STANDARD, cores / 2), facts->info.memory_bytes / DEVICE_BYTES);
}

static int32_t count_of(const cvy_engine *engine, const cvy_options *options, int32_t cores) {
  const bool possible = cvy_backend_takes(engine->backend, CVY_BUILD) &&
                        options->open.isolation != CONVOY_ISOLATION_NONE;
  if (!possible) return 0;
  return options->compile_workers >= 0 ? options->compile_workers
                                       : standard_count(&engine->facts, cores);
}

/* -------------------------------------------------------------------- making and freeing */

static void make_lock(cvy_compile_workers *all) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&all->lock, NULL);
  pthread_cond_init(&all->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

static void free_all(cvy_compile_workers *all) {
  pthread_cond_destroy(&all->changed);
  pthread_mutex_destroy(&all->lock);
  free(all);
}

cvy_compile_workers *cvy_compile_workers_new(const cvy_engine *engine, int32_t index,
                                             const cvy_options *options, int32_t cores) {
  int32_t most = count_of(engine, options, cores);
  cvy_compile_workers *all = most > 0 ? calloc(1, sizeof(*all)) : NULL;
  if (!all) return NULL;
  cvy_usage usage;
  engine->backend->usage(engine->device, &usage);
  all->backend = engine->backend;
  all->index = index;
  all->options = options->open;
  all->options.isolation = CONVOY_ISOLATION_PROCESS;
  all->most = most;
  all->seen = usage.programs_compiled;
  make_lock(all);
  return all;
}

/* The lock may be held by a thread that does not exist here. */
void cvy_compile_workers_forget(cvy_compile_workers *all) {
  free(all);
}

/* Under the lock; false once it is too late. */
static bool wait_for_change(cvy_compile_workers *all, const struct timespec *until) {
  return pthread_cond_timedwait(&all->changed, &all->lock, until) != ETIMEDOUT;
}

static struct timespec after(double seconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  double end = (double)time.tv_nsec * 1e-9 + seconds;
  time.tv_sec += (time_t)end;
  time.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
  return time;
}

void cvy_compile_workers_close(cvy_compile_workers *all) {
  if (!all) return;
  struct timespec until = after(CLOSE_SECONDS);
  pthread_mutex_lock(&all->lock);
  __atomic_store_n(&all->closing, 1, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&all->changed);
  while (all->running > 0 && wait_for_change(all, &until)) continue;
  bool ended = all->running == 0;
  all->orphaned = !ended;
  pthread_mutex_unlock(&all->lock);
  if (ended) free_all(all);
}

/* ---------------------------------------------------------------------------- a compile worker */

/* The newest job; false if none comes for a while, or there are to be none. */
static bool take(cvy_compile_workers *all, cvy_job *job) {
  struct timespec until = after(IDLE_SECONDS);
  bool in_time = true;
  pthread_mutex_lock(&all->lock);
  while (!all->closing && all->count == 0 && in_time) in_time = wait_for_change(all, &until);
  bool got = !all->closing && all->count > 0;
  if (got) {
    *job = all->jobs[--all->top % JOBS];
    all->count--;
  }
  pthread_mutex_unlock(&all->lock);
  return got;
}

static int64_t compiled_by(const cvy_compile_workers *all, const cvy_device *device) {
  cvy_usage usage;
  all->backend->usage(device, &usage);
  return usage.programs_compiled;
}

static convoy_status build(cvy_compile_workers *all, cvy_device *device, const cvy_job *job) {
  int64_t before = compiled_by(all, device);
  const cvy_command command = {CVY_BUILD, .job = job};
  convoy_status status = all->backend->execute(device, &command, NULL, NULL);
  int64_t more = compiled_by(all, device) - before;
  pthread_mutex_lock(&all->lock);
  if (more > 0) all->compiled += more; /* a lost worker's counts are gone */
  pthread_mutex_unlock(&all->lock);
  return status;
}

static convoy_status build_all(cvy_compile_workers *all) {
  cvy_device *device;
  cvy_job job;
  cvy_open_options options = all->options;
  options.budget = NULL; /* no call waits for them: deadlines are enough */
  options.spent = NULL;
  options.interrupt = &all->closing;
  convoy_status status = all->backend->open(all->index, &options, &device);
  if (status) return status;
  while (!status && take(all, &job)) status = build(all, device, &job);
  all->backend->close(device);
  return status;
}

static void *run_worker(void *argument) {
  cvy_compile_workers *all = argument;
  convoy_status status = build_all(all);
  bool failed = status && status != CONVOY_ERR_INTERRUPTED;
  if (failed)
    cvy_log(CONVOY_LOG_DEBUG, "a compile worker is not used any more: %s", cvy_last_error());
  pthread_mutex_lock(&all->lock);
  all->most -= failed;
  all->running--;
  bool last = all->orphaned && all->running == 0;
  pthread_cond_broadcast(&all->changed);
  pthread_mutex_unlock(&all->lock);
  if (last) free_all(all);
  return NULL;
}

/* ------------------------------------------------------------------------------- asking */

static bool is_new(cvy_compile_workers *all, const cvy_job *job) {
  uint64_t hash = cvy_hash(0, job, cvy_job_size(job));
  uint64_t *place = &all->recent[hash % RECENT];
  bool new = *place != hash;
  *place = hash;
  return new;
}

void cvy_compile_workers_add(cvy_compile_workers *all, const cvy_problem *problem,
                             const cvy_choice *choice) {
  cvy_job job;
  cvy_job_set(&job, problem, choice->row, &choice->params);
  pthread_mutex_lock(&all->lock);
  if (is_new(all, &job)) {
    all->jobs[all->top++ % JOBS] = job;
    if (all->count < JOBS) all->count++;
    pthread_cond_broadcast(&all->changed);
  }
  pthread_mutex_unlock(&all->lock);
}

static bool start_one(cvy_compile_workers *all) {
  pthread_t thread;
  if (!cvy_thread_start(&thread, run_worker, all, "convoy-build")) return false;
  pthread_detach(thread);
  all->running++;
  return true;
}

void cvy_compile_workers_note(cvy_compile_workers *all, int64_t compiled) {
  bool more = compiled > all->seen;
  all->seen = compiled;
  pthread_mutex_lock(&all->lock);
  bool wanted = more || all->running > 0;
  while (wanted && all->running < at_most(all->most, all->count) && start_one(all)) continue;
  pthread_mutex_unlock(&all->lock);
}

void cvy_compile_workers_drop(cvy_compile_workers *all) {
  pthread_mutex_lock(&all->lock);
  if (all->running == 0) all->count = 0;
  pthread_mutex_unlock(&all->lock);
}

int64_t cvy_compile_workers_compiled(cvy_compile_workers *all) {
  if (!all) return 0;
  pthread_mutex_lock(&all->lock);
  int64_t compiled = all->compiled;
  pthread_mutex_unlock(&all->lock);
  return compiled;
}
