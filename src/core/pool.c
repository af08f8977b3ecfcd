/* Where contexts come from and go to, and what fork() means for them.
 *
 * Contexts are kept in one list for good and reused, so reading a closed one is defined. In a child
 * made by fork() the device belongs to the parent, so each context gets a mark; the rest happens
 * when it is first used. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/context.h"

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static convoy_context *all;

/* Waits until no other thread is in a call, so that the child's copies are whole; but not for long:
 * a call that takes its time is computing or waiting, and its context is whole meanwhile. */
static void before_fork(void) {
  enum { LONGEST = 100000000, SECOND = 1000000000 }; /* nanoseconds */
  struct timespec end;
  pthread_mutex_lock(&pool_lock);
  timespec_get(&end, TIME_UTC);
  end.tv_sec += (end.tv_nsec + LONGEST) / SECOND;
  end.tv_nsec = (end.tv_nsec + LONGEST) % SECOND;
  for (convoy_context *each = all; each; each = each->next) {
    each->held = pthread_mutex_timedlock(&each->lock, &end) == 0;
  }
}

static void after_fork_parent(void) {
  for (convoy_context *each = all; each; each = each->next) {
    if (each->held) pthread_mutex_unlock(&each->lock);
  }
  pthread_mutex_unlock(&pool_lock);
}

static void after_fork_child(void) {
  for (convoy_context *each = all; each; each = each->next) {
    if (each->held) {
      pthread_mutex_unlock(&each->lock);
    } else {
      pthread_mutex_init(&each->lock, NULL); /* its holder does not exist here */
    }
    each->forked = true;
  }
  pthread_mutex_unlock(&pool_lock);
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static convoy_context *find_unused(void) {
  convoy_context *each = all;
  while (each && atomic_load(&each->references) != 0) each = each->next;
  return each;
}

static convoy_context *make(void) {
  convoy_context *context = malloc(sizeof(*context));
  if (!context) return NULL;
  pthread_mutex_init(&context->lock, NULL);
  context->next = all;
  all = context;
  return context;
}

/* Clears everything behind the lock and the link. */
static void reset(convoy_context *context) {
  size_t kept = offsetof(convoy_context, references);
  memset((char *)context + kept, 0, sizeof(*context) - kept);
  atomic_init(&context->references, 1);
}

convoy_context *cvy_pool_take(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&pool_lock);
  convoy_context *context = find_unused();
  if (!context) context = make();
  if (context) reset(context);
  pthread_mutex_unlock(&pool_lock);
  return context;
}

void cvy_pool_drop(convoy_context *context) {
  atomic_fetch_sub(&context->references, 1);
}
