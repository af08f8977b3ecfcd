/* Handles signals, and says afterwards that there was one. */
#include "common/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static volatile sig_atomic_t caught;
static _Atomic(convoy_context *) at_work;

static void on_signal(int number);

/* A signal that was ignored from the start stays so. */
static void restore(int number) {
  struct sigaction now;
  if (sigaction(number, NULL, &now) == 0 && now.sa_handler == on_signal) signal(number, SIG_DFL);
}

static void on_signal(int number) {
  static const char said[] = "\nconvoy: ending; a second signal ends it at once\n";
  int saved = errno;
  caught = number;
  convoy_interrupt(atomic_load(&at_work));
  for (int i = 0; i < NUMBERS; i++) restore(numbers[i]);
  if (write(STDERR_FILENO, said, sizeof said - 1) < 0) caught = number; /* nobody reads it */
  errno = saved;
}

void interrupt_catch(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < NUMBERS; i++) sigaddset(&action.sa_mask, numbers[i]);
  for (int i = 0; i < NUMBERS; i++) {
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(numbers[i], &action, NULL);
  }
}

bool interrupted(void) {
  return caught != 0;
}

void interrupt_reaches(convoy_context *context) {
  atomic_store(&at_work, context);
}

convoy_status interrupt_check(convoy_status status) {
  return caught ? CONVOY_ERR_INTERRUPTED : status;
}

int interrupt_status(int status) {
  return caught ? 128 + (int)caught : status;
}

const char *interrupt_text(void) {
  return caught == SIGTERM ? "ended by SIGTERM" : "ended by SIGINT";
}
