/* A parallel loop on its way. It is cut into parts, which the threads that carry it out claim from
 * a counter until none is left. */
#ifndef CVY_CPU_THREADS_LOOP_H
#define CVY_CPU_THREADS_LOOP_H

#include "cpu/threads/threads.h"

typedef struct cvy_loop {
  cvy_task *task;
  void *arg;
  int64_t count, parts;
  bool slot_is_part;      /* the slot is the number of the part, else that of the member */
  int32_t members;        /* threads that may take part, numbered from 0 */
  cvy_watchdog *watchdog; /* watches the members' heartbeats; may be NULL */
  atomic_int_fast64_t next;
} cvy_loop;

/* Claims parts and carries them out until none is left, as member `member`. Until this returns, the
 * calling thread's heartbeat is that member's, and loops that its tasks start run on this thread
 * alone. */
void cvy_loop_join(cvy_loop *loop, int32_t member);

/* Whether the calling thread is a member of a loop that runs. */
bool cvy_loop_is_inside(void);
/* Says in a child made by fork() that its only thread is no member, whatever it was in the
 * parent. */
void cvy_loop_after_fork(void);

#endif
