/* Signals are for the program's own threads, so the library's are born with all of them blocked; but
 * for those that a thread causes itself: where they are blocked, the kernel ends the program instead of
 * calling its handler, which may know better (pages given on first use) or report. */
#include <signal.h>

#include "os/os.h"

static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

bool cvy_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name) {
  sigset_t others, before;
  sigfillset(&others);
  for (size_t i = 0; i < CVY_COUNT(own); i++) sigdelset(&others, own[i]);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  bool started = pthread_create(thread, NULL, run, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) pthread_setname_np(*thread, name);
  return started;
}
