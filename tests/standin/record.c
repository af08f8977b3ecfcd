#include "record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

typedef struct command {
  struct command *next;
  record_fn *run;
  size_t bytes;
  char what[];
} command;

typedef struct recording {
  struct recording *next;
  void *stream;
  int mode;
  pthread_t thread;
  bool broken;
  command *first, **last;
} recording;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static recording *all;
static _Thread_local int thread_mode;

static recording **find(void *stream) {
  recording **link = &all;
  while (*link && (*link)->stream != stream) link = &(*link)->next;
  return link;
}

int record_begin(void *stream, int mode) {
  recording *new = calloc(1, sizeof *new);
  if (!new) return GPU_NO_MEMORY;
  *new = (recording){.stream = stream, .mode = mode, .thread = pthread_self()};
  new->last = &new->first;
  pthread_mutex_lock(&lock);
  const bool twice = *find(stream) != NULL;
  if (!twice) {
    new->next = all;
    all = new;
  }
  pthread_mutex_unlock(&lock);
  if (!twice) return GPU_OK;
  free(new);
  return GPU_INVALID_VALUE;
}

static void drop(command *first) {
  while (first) {
    command *next = first->next;
    free(first);
    first = next;
  }
}

int record_end(void *stream, void **graph) {
  pthread_mutex_lock(&lock);
  recording **link = find(stream), *ended = *link;
  if (ended) *link = ended->next;
  pthread_mutex_unlock(&lock);
  *graph = NULL;
  if (!ended) return GPU_INVALID_VALUE;
  const int code = ended->broken ? GPU_RECORDING_BROKEN : GPU_OK;
  if (!code) *graph = ended->first;
  if (code) drop(ended->first);
  free(ended);
  return code;
}

int record_state(void *stream) {
  pthread_mutex_lock(&lock);
  const recording *found = *find(stream);
  const int state = !found ? 0 : found->broken ? 2 : 1;
  pthread_mutex_unlock(&lock);
  return state;
}

int record_launch(void *graph, void *stream) {
  int code = GPU_OK;
  for (const command *each = graph; each && !code; each = each->next)
    code = each->run(each->what, stream);
  return code;
}

void record_free(void *graph) {
  drop(graph);
}

int record_exchange_mode(int mode) {
  const int before = thread_mode;
  thread_mode = mode;
  return before;
}

int record_unsafe(void) {
  int code = GPU_OK;
  if (thread_mode == RECORD_RELAXED) return GPU_OK;
  pthread_mutex_lock(&lock);
  for (recording *each = all; each; each = each->next) {
    const bool own = pthread_equal(each->thread, pthread_self());
    if (each->mode == RECORD_RELAXED || (each->mode == RECORD_THREAD && !own)) continue;
    each->broken = true;
    code = GPU_RECORDED;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int record_waits(void *stream) {
  pthread_mutex_lock(&lock);
  recording *found = *find(stream);
  if (found) found->broken = true;
  pthread_mutex_unlock(&lock);
  return found ? GPU_RECORDED : GPU_OK;
}

bool record_add(void *stream, record_fn *run, const void *what, size_t bytes, int *code) {
  pthread_mutex_lock(&lock);
  recording *found = *find(stream);
  command *new = found && !found->broken ? calloc(1, sizeof *new + bytes) : NULL;
  if (found) *code = new ? GPU_OK : found->broken ? GPU_RECORDING_BROKEN : GPU_NO_MEMORY;
  if (new) {
    new->run = run;
    new->bytes = bytes;
    memcpy(new->what, what, bytes);
    *found->last = new;
    found->last = &new->next;
  }
  pthread_mutex_unlock(&lock);
  return found != NULL;
}
