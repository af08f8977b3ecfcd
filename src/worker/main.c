/* convoy-worker: the process a GPU driver lives in, so that its crash is not the trainer's. Started
 * by libconvoy with the socket as descriptor 3 and the module's path as its argument. */
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

/* On a thread of its own that never touches the driver: also a worker whose driver hangs leaves
 * with its trainer. */
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

int main(int argc, char **argv) {
  cvy_shared ring;
  int trainer = 0;
  if (argc != 2) {
    fprintf(stderr, "convoy-worker is started by libconvoy; there is nothing to do here by hand\n");
    return 2;
  }
  /* The trainer's to handle: Ctrl-C, and the end of all processes when the machine is shut down. */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ,
         SIG_IGN); /* drivers keep files: one that grows too large is an error like others */
  cvy_process_close_others(); /* the trainer's files are not ours to keep open */
  if (cvy_serve_greet(CVY_PROCESS_FD, &ring, &trainer)) return 1;
  if (!watch_trainer(trainer, ring.memory)) return 1;
  bool good = cvy_serve(CVY_PROCESS_FD, &ring, argv[1]);
  _exit(good ? 0 : 1); /* no exit handlers: drivers hang in theirs */
}
