/* Signals are for the program's own threads, so the library's are born with all of them blocked. */
#include <signal.h>

#include "os/os.h"

bool cvy_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(thread, NULL, run, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) pthread_setname_np(*thread, name);
  return started;
}
