/* The builders' pile of jobs, their threads, and how they end. */
#include "core/builders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/os.h"

enum { JOBS = 512, LATELY = 1024, STANDARD = 8 };
#define IDLE_SECONDS 5.0 /* a process that may be needed again soon is not worth ending */
/* What a closing context waits for builders; one that takes longer ends by itself. */
#define CLOSE_SECONDS 4.0
/* A driver takes device memory for each process that uses it: 564 MiB on an H200, less on smaller cards. */
#define DEVICE_BYTES (INT64_C(2) << 30)

struct cvy_builders {
  const cvy_backend *backend;
  int32_t index;
  cvy_open_options options;
  double budget; /* seconds one job may take */
  int32_t most;  /* builders at once; fewer after each that failed */
  int64_t seen;  /* programs the device's own lane had compiled */
  volatile int closing;

  pthread_mutex_t lock; /* guards what follows, and `most` */
  pthread_cond_t news;  /* of jobs, closing, and builders that end */
  int32_t running;
  bool orphaned; /* the last builder frees this */
  int64_t compiled;
  cvy_job jobs[JOBS]; /* a pile; when it is full the oldest are forgotten */
  uint64_t top;
  int32_t count;
  uint64_t lately[LATELY]; /* hashes of jobs; a place is overwritten when two want it */
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
  const bool possible =
      engine->backend->build && options->open.isolation == CONVOY_ISOLATION_PROCESS;
  if (!possible) return 0;
  return options->builders >= 0 ? options->builders : standard_count(&engine->facts, cores);
}

/* -------------------------------------------------------------------- making and freeing */

static void make_lock(cvy_builders *all) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&all->lock, NULL);
  pthread_cond_init(&all->news, &attributes);
  pthread_condattr_destroy(&attributes);
}

static void free_all(cvy_builders *all) {
  pthread_cond_destroy(&all->news);
  pthread_mutex_destroy(&all->lock);
  free(all);
}

cvy_builders *cvy_builders_new(const cvy_engine *engine, int32_t index, const cvy_options *options,
                               int32_t cores) {
  const int32_t most = count_of(engine, options, cores);
  cvy_builders *all = most > 0 ? calloc(1, sizeof(*all)) : NULL;
  if (!all) return NULL;
  cvy_usage usage;
  engine->backend->usage(engine->device, &usage);
  all->backend = engine->backend;
  all->index = index;
  all->options = options->open;
  all->budget = options->wait_budget;
  all->most = most;
  all->seen = usage.programs_compiled;
  make_lock(all);
  return all;
}

/* The lock may be held by a thread that does not exist here. */
void cvy_builders_forget(cvy_builders *all) {
  free(all);
}

/* Under the lock; false once it is too late. */
static bool wait_for_news(cvy_builders *all, const struct timespec *until) {
  return pthread_cond_timedwait(&all->news, &all->lock, until) != ETIMEDOUT;
}

static struct timespec after(double seconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const double end = (double)time.tv_nsec * 1e-9 + seconds;
  time.tv_sec += (time_t)end;
  time.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
  return time;
}

void cvy_builders_close(cvy_builders *all) {
  if (!all) return;
  const struct timespec until = after(CLOSE_SECONDS);
  pthread_mutex_lock(&all->lock);
  __atomic_store_n(&all->closing, 1, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&all->news);
  while (all->running > 0 && wait_for_news(all, &until)) continue;
  const bool ended = all->running == 0;
  all->orphaned = !ended;
  pthread_mutex_unlock(&all->lock);
  if (ended) free_all(all);
}

/* ---------------------------------------------------------------------------- a builder */

/* The newest job; false if none comes for a while, or there are to be none. */
static bool take(cvy_builders *all, cvy_job *job) {
  const struct timespec until = after(IDLE_SECONDS);
  bool in_time = true;
  pthread_mutex_lock(&all->lock);
  while (!all->closing && all->count == 0 && in_time) in_time = wait_for_news(all, &until);
  const bool got = !all->closing && all->count > 0;
  if (got) {
    *job = all->jobs[--all->top % JOBS];
    all->count--;
  }
  pthread_mutex_unlock(&all->lock);
  return got;
}

static int64_t compiled_by(const cvy_builders *all, const cvy_device *device) {
  cvy_usage usage;
  all->backend->usage(device, &usage);
  return usage.programs_compiled;
}

static convoy_status build(cvy_builders *all, cvy_device *device, const cvy_job *job) {
  const int64_t before = compiled_by(all, device);
  const convoy_status status = all->backend->build(device, job, &all->closing);
  const int64_t more = compiled_by(all, device) - before;
  pthread_mutex_lock(&all->lock);
  if (more > 0) all->compiled += more; /* a lost worker's counts are gone */
  pthread_mutex_unlock(&all->lock);
  return status;
}

static convoy_status build_all(cvy_builders *all) {
  cvy_device *device;
  cvy_job job;
  double budget = all->budget;
  cvy_open_options options = all->options;
  options.budget = &budget; /* not the context's, whose calls go on meanwhile */
  convoy_status status = all->backend->open(all->index, &options, &device);
  if (status) return status;
  while (!status && take(all, &job)) {
    budget = all->budget;
    status = build(all, device, &job);
  }
  all->backend->close(device);
  return status;
}

static void *run_builder(void *argument) {
  cvy_builders *all = argument;
  const convoy_status status = build_all(all);
  const bool failed = status && status != CONVOY_ERR_INTERRUPTED;
  if (failed) cvy_log(CONVOY_LOG_DEBUG, "a builder is not used any more: %s", cvy_last_error());
  pthread_mutex_lock(&all->lock);
  all->most -= failed;
  all->running--;
  const bool last = all->orphaned && all->running == 0;
  pthread_cond_broadcast(&all->news);
  pthread_mutex_unlock(&all->lock);
  if (last) free_all(all);
  return NULL;
}

/* ------------------------------------------------------------------------------- asking */

static bool is_new(cvy_builders *all, const cvy_job *job) {
  const uint64_t hash = cvy_hash(0, job, sizeof(*job));
  uint64_t *place = &all->lately[hash % LATELY];
  const bool new = *place != hash;
  *place = hash;
  return new;
}

void cvy_builders_add(cvy_builders *all, const cvy_problem *problem, const cvy_choice *choice) {
  const cvy_job job = {.problem = *problem, .algorithm = choice->row, .params = choice->params};
  pthread_mutex_lock(&all->lock);
  if (is_new(all, &job)) {
    all->jobs[all->top++ % JOBS] = job;
    if (all->count < JOBS) all->count++;
    pthread_cond_broadcast(&all->news);
  }
  pthread_mutex_unlock(&all->lock);
}

static bool start_one(cvy_builders *all) {
  pthread_t thread;
  if (!cvy_thread_start(&thread, run_builder, all, "convoy-build")) return false;
  pthread_detach(thread);
  all->running++;
  return true;
}

void cvy_builders_note(cvy_builders *all, int64_t compiled) {
  const bool more = compiled > all->seen;
  all->seen = compiled;
  pthread_mutex_lock(&all->lock);
  const bool wanted = more || all->running > 0;
  while (wanted && all->running < at_most(all->most, all->count) && start_one(all)) continue;
  pthread_mutex_unlock(&all->lock);
}

void cvy_builders_drop(cvy_builders *all) {
  pthread_mutex_lock(&all->lock);
  if (all->running == 0) all->count = 0;
  pthread_mutex_unlock(&all->lock);
}

int64_t cvy_builders_compiled(cvy_builders *all) {
  if (!all) return 0;
  pthread_mutex_lock(&all->lock);
  const int64_t compiled = all->compiled;
  pthread_mutex_unlock(&all->lock);
  return compiled;
}
