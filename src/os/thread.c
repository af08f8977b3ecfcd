/* Signals are for the program's own threads, so the library's are born with all of them blocked;
 * but for those that a thread causes itself: where they are blocked, the kernel ends the program
 * instead of calling its handler, which may know better (pages given on first use) or report. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "os/os.h"

static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

void cvy_thread_call_masked(void (*call)(void *arg), void *arg) {
  sigset_t others, before;
  sigfillset(&others);
  for (size_t i = 0; i < CVY_COUNT(own); i++) sigdelset(&others, own[i]);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  call(arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

typedef struct start {
  pthread_t *thread;
  void *(*run)(void *arg);
  void *arg;
  bool started;
} start;

static void start_one(void *arg) {
  start *s = arg;
  s->started = pthread_create(s->thread, NULL, s->run, s->arg) == 0;
}

bool cvy_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name) {
  start s = {thread, run, arg, false};
  cvy_thread_call_masked(start_one, &s);
  if (s.started) pthread_setname_np(*thread, name);
  return s.started;
}

/* -------------------------------------------------------------------- how many there may be */

#define GONE_MILLISECONDS 50

/* How many threads the process has; 0 if that cannot be told. */
static size_t threads_now(void) {
  struct stat about;
  return stat("/proc/self/task", &about) == 0 && about.st_nlink > 2 ? about.st_nlink - 2 : 0;
}

/* The kernel counts a thread for a moment more after it has been joined. */
static void await_gone(size_t before) {
  const struct timespec millisecond = {0, 1000000};
  for (int i = 0; i < GONE_MILLISECONDS && threads_now() > before; i++)
    nanosleep(&millisecond, NULL);
}

static void *wait_for_gate(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

bool cvy_threads_could_start(int32_t count) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t *threads = calloc((size_t)count + 1, sizeof *threads);
  size_t before = threads_now();
  int32_t started = 0;
  if (!threads) return false;
  pthread_mutex_lock(&gate);
  while (started < count && cvy_thread_start(&threads[started], wait_for_gate, &gate, "convoy-try"))
    started++;
  pthread_mutex_unlock(&gate);
  for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  if (started > 0) await_gone(before);
  free(threads);
  return started == count;
}
