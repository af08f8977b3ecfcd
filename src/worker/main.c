/* convoy-worker: the process a GPU driver lives in, so that its crash is not the trainer's. Started
 * by libconvoy with the socket as descriptor 3, and as arguments the module's path and the folder where
 * relative names begin. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "worker/serve.h"
#include "worker/wire.h"

typedef struct trainer_watch {
  int watch;
  cvy_wire *wire;
} trainer_watch;

/* On a thread of its own that never touches the driver: also a worker whose driver hangs leaves with
 * its trainer. */
static void *leave_with_trainer(void *argument) {
  const trainer_watch *trainer = argument;
  if (cvy_process_watch_end(trainer->watch, CVY_PROCESS_FD)) unlink(trainer->wire->marker);
  _exit(1);
}

static bool watch_trainer(int number, cvy_wire *wire) {
  static trainer_watch trainer;
  pthread_t thread;
  trainer = (trainer_watch){cvy_process_watch(number), wire};
  /* If the trainer has ended meanwhile, its number may be another's: it is not our parent then. */
  if (trainer.watch < 0 || (int)getppid() != number) return false;
  return pthread_create(&thread, NULL, leave_with_trainer, &trainer) == 0;
}

/* SIGTERM is the trainer's to act on. But where trainer and worker are killed together some time later,
 * with the whole machine or just their job, nobody is left to remove the marker: this tells that they
 * ended in order, and the machine did not go down. */
static void *note_endings(void *argument) {
  const cvy_wire *wire = argument;
  char date[24], line[64];
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  for (int number; sigwait(&ending, &number) == 0;) {
    cvy_calendar(date, sizeof date);
    snprintf(line, sizeof line, CVY_MARK_TOLD ": %s\n", date);
    if (wire->marker[0]) cvy_file_append(wire->marker, line);
    sleep(60); /* however often it is told: the marker is to stay small */
  }
  return NULL;
}

/* Before there are threads: theirs to inherit is that SIGTERM waits for the one that notes it. */
static void keep_signals_back(void) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, NULL);
  /* The trainer's to handle: Ctrl-C, and the end of all processes when the machine is shut down. */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  /* Drivers keep files: one that grows too large is an error like others. */
  signal(SIGXFSZ, SIG_IGN);
}

int main(int argc, char **argv) {
  cvy_shared ring;
  int trainer = 0;
  if (argc != 3) {
    fprintf(stderr, "convoy-worker is started by libconvoy; there is nothing to do here by hand\n");
    return 2;
  }
  keep_signals_back();
  cvy_start_in(argv[2]);
  cvy_process_close_others(); /* the trainer's files are not ours to keep open */
  if (cvy_serve_greet(CVY_PROCESS_FD, &ring, &trainer)) return 1;
  pthread_t noting;
  if (!watch_trainer(trainer, ring.memory)) return 1;
  if (pthread_create(&noting, NULL, note_endings, ring.memory) != 0) return 1;
  bool good = cvy_serve(CVY_PROCESS_FD, &ring, argv[1]);
  _exit(good ? 0 : 1); /* no exit handlers: drivers hang in theirs */
}
