/* Copies of many MiB by several threads: one of them moves 5 to 12 GB/s, the memory of a machine
 * with many processors several times that. The threads end with the copy, so nothing is left of
 * them for a fork or a program's end to trip over. Who has several parts to copy has them copied in
 * one go, and is told of each that is there. */
#include <sched.h>
#include <string.h>

#include "os/os.h"

enum { THREADS_MOST = 8 };
#define SHARE_BYTES ((int64_t)1 << 20) /* of a part that is cut */
#define START_BYTES ((int64_t)1 << 19) /* copied in the 50 us that a thread's start takes */
#define LINE_BYTES 64                  /* of a cache; in aligned memory no two threads share one */

typedef struct copy_job {
  const cvy_copy_part *parts;
  int32_t count, threads;
  atomic_int copied[THREADS_MOST]; /* parts of which this thread has copied its share, in order */
} copy_job;

typedef struct copier {
  copy_job *job;
  int32_t number;
} copier;

/* A small part is one thread's, so that many of them are shared out as well. */
static void copy_share(const copy_job *j, int32_t i, int32_t thread) {
  const cvy_copy_part *part = &j->parts[i];
  if (part->bytes < j->threads * SHARE_BYTES) {
    if (part->bytes > 0 && i % j->threads == thread)
      memcpy(part->to, part->from, (size_t)part->bytes);
    return;
  }
  int64_t share = part->bytes / j->threads / LINE_BYTES * LINE_BYTES, begin = share * thread;
  int64_t end = thread + 1 < j->threads ? begin + share : part->bytes;
  memcpy((char *)part->to + begin, (const char *)part->from + begin, (size_t)(end - begin));
}

static void *copy_shares(void *argument) {
  const copier *w = argument;
  for (int32_t i = 0; i < w->job->count; i++) {
    copy_share(w->job, i, w->number);
    atomic_store_explicit(&w->job->copied[w->number], i + 1, memory_order_release);
  }
  return NULL;
}

/* The other threads have as much to do as this one: they are about to be there. */
static void wait_for(copy_job *j, int32_t thread, int32_t copied) {
  while (atomic_load_explicit(&j->copied[thread], memory_order_acquire) < copied) sched_yield();
}

/* The caller is thread 0, and also does what those would that the system does not give. */
static void copy_all(copy_job *j, const bool started[], cvy_copied_fn *copied, void *user) {
  for (int32_t i = 0; i < j->count; i++) {
    for (int32_t t = 0; t < j->threads; t++)
      if (!started[t]) copy_share(j, i, t);
    for (int32_t t = 1; t < j->threads; t++)
      if (started[t] && copied) wait_for(j, t, i + 1);
    if (copied) copied(user, i);
  }
}

void cvy_copy_by(const cvy_copy_part *parts, int32_t count, int32_t threads, cvy_copied_fn *copied,
                 void *user) {
  copy_job j = {.parts = parts, .count = count, .threads = threads};
  copier workers[THREADS_MOST];
  pthread_t thread[THREADS_MOST];
  bool started[THREADS_MOST] = {false};
  if (j.threads > THREADS_MOST) j.threads = THREADS_MOST;
  for (int32_t i = 1; i < j.threads; i++) {
    workers[i] = (copier){&j, i};
    started[i] = cvy_thread_start(&thread[i], copy_shares, &workers[i], "convoy-copy");
  }
  copy_all(&j, started, copied, user);
  for (int32_t i = 1; i < j.threads; i++)
    if (started[i]) pthread_join(thread[i], NULL);
}

/* With t threads a copy takes as long as bytes / t + t * START_BYTES: least at the square root of
 * their quotient. */
int32_t cvy_copy_threads(int64_t bytes, int32_t processors) {
  int32_t most = processors / 2; /* the others have the trainer's and the worker's own work */
  if (most > THREADS_MOST) most = THREADS_MOST;
  int32_t threads = 1;
  while (threads < most && (threads + 1) * (threads + 1) * START_BYTES <= bytes) threads++;
  return threads;
}

/* Those the process may use; 1 where there are more than the set has room for, 1,024. */
static int32_t processors_now(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Most arrays are small: for them nothing is asked. */
void cvy_copy_parts(const cvy_copy_part *parts, int32_t count, cvy_copied_fn *copied, void *user) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < count; i++) bytes += parts[i].bytes;
  int32_t threads = bytes < 4 * START_BYTES ? 1 : cvy_copy_threads(bytes, processors_now());
  cvy_copy_by(parts, count, threads, copied, user);
}

void cvy_copy(void *to, const void *from, int64_t bytes) {
  const cvy_copy_part part = {to, from, bytes};
  cvy_copy_parts(&part, 1, NULL, NULL);
}
