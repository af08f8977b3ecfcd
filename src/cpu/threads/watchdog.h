/* Watches the engine's threads while a job runs. A thread that makes no step for some seconds is
 * named in one line of log, with what it is at, and counted; the job is left alone: a thread inside
 * BLAS cannot be ended, and what it may still write cannot be given to another
 * (docs/decisions/006).
 *
 * The watcher is a thread that looks CVY_WATCH_LOOKS times per limit while jobs come in, and sleeps
 * without a timeout as soon as a whole interval had none. It counts looks, not time: while the
 * machine is suspended or the program stopped there are none. */
#ifndef CVY_CPU_THREADS_WATCHDOG_H
#define CVY_CPU_THREADS_WATCHDOG_H

#include "conv/problem.h"
#include "cpu/threads/heartbeat.h"

#define CVY_WATCH_LOOKS 12

typedef struct cvy_watch cvy_watch;

/* For `threads` threads and a limit of `seconds`. Its own thread starts with the first job. */
convoy_status cvy_watch_open(int32_t threads, double seconds, cvy_watch **out);
void cvy_watch_close(cvy_watch *watch); /* NULL is allowed */
/* In the child, by the thread that called fork(): no thread is at work, and none watches yet. */
void cvy_watch_after_fork(cvy_watch *watch);

/* Where thread `thread` beats: 0 is the caller of the job, unless the threads are a lent team's. */
cvy_beat *cvy_watch_beat(cvy_watch *watch, int32_t thread);

/* A job begins and ends, one at a time; `algorithm` lives on. A NULL watch does nothing. */
void cvy_watch_begin(cvy_watch *watch, const cvy_problem *problem, const char *algorithm);
void cvy_watch_end(cvy_watch *watch);

/* Lines logged so far; 0 for NULL. */
int64_t cvy_watch_stalls(const cvy_watch *watch);

#endif
