/* One wait for the other side: how long it has been without progress, not counting the time in
 * which nothing could be expected. */
#ifndef CVY_PROGRESS_TIMEOUT_H
#define CVY_PROGRESS_TIMEOUT_H

#include "worker/deadline.h"
#include "worker/meter.h"

/* Signs of progress, as shared memory shows them. */
typedef struct cvy_progress {
  uint64_t moved;    /* another number: something has completed */
  uint64_t compiles; /* programs that were begun to be compiled */
  cvy_phase phase;
  bool first_run;
} cvy_progress;

typedef struct cvy_progress_timeout {
  cvy_deadlines *deadlines;
  double *budget;      /* the call's, as in cvy_meter */
  cvy_spent *spent;    /* the same call's; NULL: nobody asks */
  const char *what;    /* is waited for: "the result" */
  int worker;          /* pid */
  bool worker_is_self; /* a thread of this process: its state and times are not to be told apart */
  bool on_processor;   /* the device is one: processor time is progress of a run too */

  cvy_meter meter;
  cvy_progress seen;
  double begin, asleep; /* clocks */
  double had;           /* of the budget when the wait began */
  bool excused; /* what went of it to things that are done once was not the device's fault */
  double still, in_phase; /* seconds counted: without progress; in this phase */
  double looked;          /* when /proc was read */
  double unlooked;        /* seconds counted since then */
  double cpu_seconds;
} cvy_progress_timeout;

void cvy_progress_timeout_begin(cvy_progress_timeout *timeout, const cvy_progress *now);
/* Called again and again, at short intervals. ERR_DEADLINE with a sentence that says what
 * was waited for, how long, and what the worker was doing. */
convoy_status cvy_progress_timeout_check(cvy_progress_timeout *timeout, const cvy_progress *now);
/* The wait is over, and was not in vain. */
void cvy_progress_timeout_end(cvy_progress_timeout *timeout);

#endif
