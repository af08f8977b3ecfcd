/* The other side of a lane: a worker process, a thread of this process that runs the same loop, or
 * nobody: then the threads that call carry out each command as they give it. */
#ifndef CVY_PEER_H
#define CVY_PEER_H

#include <pthread.h>

#include "worker/wire.h"

typedef enum cvy_peer_kind { CVY_PEER_PROCESS, CVY_PEER_THREAD, CVY_PEER_CALLER } cvy_peer_kind;

typedef struct cvy_peer {
  cvy_peer_kind kind;
  pthread_t thread;
  cvy_process process;
  struct cvy_called *called; /* CVY_PEER_CALLER: what else is a thread's own */
} cvy_peer;

/* Starts it with `socket`, its end of the pair, which stays the caller's for a process and becomes
 * the other side's otherwise. */
convoy_status cvy_peer_start(int32_t isolation, int *socket, cvy_peer *out);
/* Where nobody is on the other side, this thread does what he would: takes the greeting, carries
 * out what is posted and waits for what is wanted, unless interrupted. Else there is nothing to
 * do. */
void cvy_peer_answer(cvy_peer *peer);
void cvy_peer_step(cvy_peer *peer, const volatile int *interrupt);
/* Whether it is gone; waits for that at most `seconds`. `how`: "worker process 7 was killed by
 * ...". */
bool cvy_peer_gone(cvy_peer *peer, cvy_wire *wire, double seconds, char *how, size_t size);
/* Ends it in bounded time: it has been asked to leave, and gets `seconds` seconds for that. Then a
 * process is sent SIGABRT, which leaves a trace of where it hangs, then SIGKILL. False: it is still
 * there, as is a thread that does not leave. The time is taken off the budget (worker/meter.h).
 * What this thread does itself takes as long as it takes. */
bool cvy_peer_end(cvy_peer *peer, cvy_wire *wire, double seconds, double *budget);

#endif
