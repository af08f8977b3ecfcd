/* Watches the engine's threads while a job runs. A thread that gives no sign of life for some
 * seconds is named in one line of log, with what it is at, and counted. The job is left alone: a
 * thread inside BLAS cannot be ended, and what it may still write cannot be given to another
 * (docs/decisions/006).
 *
 * The watchdog is a thread that looks CVY_WATCHDOG_LOOKS times per limit while jobs come in, and
 * sleeps without a timeout as soon as a whole interval had none. It counts looks, not time: while
 * the machine is suspended or the program stopped there are none. */
#ifndef CVY_CPU_THREADS_WATCHDOG_H
#define CVY_CPU_THREADS_WATCHDOG_H

#include "cpu/threads/heartbeat.h"
#include "problem/problem.h"

#define CVY_WATCHDOG_LOOKS 12

typedef struct cvy_watchdog cvy_watchdog;

/* Opens a watchdog for `threads` threads and a limit of `seconds`. Its thread starts with the first
 * job. */
convoy_status cvy_watchdog_open(int32_t threads, double seconds, cvy_watchdog **out);
void cvy_watchdog_close(cvy_watchdog *watchdog); /* NULL is allowed */
/* Called in a child by the thread that called fork(): no other thread is at work there, and none
 * watches yet. */
void cvy_watchdog_after_fork(cvy_watchdog *watchdog);

/* The heartbeat of thread `thread`. Thread 0 is the caller of the job, unless a lent team runs
 * it. */
cvy_heartbeat *cvy_watchdog_heartbeat(cvy_watchdog *watchdog, int32_t thread);

/* A job begins and ends, one at a time. `algorithm` must live on. A NULL watchdog does nothing. */
void cvy_watchdog_begin(cvy_watchdog *watchdog, const cvy_problem *problem, const char *algorithm);
void cvy_watchdog_end(cvy_watchdog *watchdog);

/* How many lines were logged so far, 0 for NULL. */
int64_t cvy_watchdog_stalls(const cvy_watchdog *watchdog);

#endif
