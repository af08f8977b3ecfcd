/* The other side of a lane: a worker process, or a thread of this process that runs the same loop. */
#ifndef CVY_PEER_H
#define CVY_PEER_H

#include <pthread.h>

#include "worker/wire.h"

typedef struct cvy_peer {
  bool is_thread;
  pthread_t thread;
  cvy_process process;
} cvy_peer;

/* Starts it with `socket`, its end of the pair, which stays the caller's for a process and becomes
 * the thread's otherwise. */
convoy_status cvy_peer_start(int32_t isolation, int *socket, cvy_peer *out);
/* Whether it is gone; waits for that at most `seconds`. `how`: "worker process 7 was killed by ...". */
bool cvy_peer_gone(cvy_peer *peer, cvy_wire *wire, double seconds, char *how, size_t size);
/* Ends it in bounded time: it has been asked to leave, and gets `patience` seconds for that. Then a
 * process is sent SIGABRT, which leaves a trace of where it hangs, then SIGKILL. False: it is still
 * there, as is a thread that does not leave. The time is taken off the budget (worker/meter.h). */
bool cvy_peer_end(cvy_peer *peer, cvy_wire *wire, double patience, double *budget);

#endif
