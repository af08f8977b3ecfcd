/* The one place of CPU threads: every parallel loop of the library goes through cvy_parallel_for or
 * cvy_parallel_items. A team carries the loop out (team.h): OpenMP's threads (docs/decisions/016),
 * or those that a program lends (docs/decisions/010). A pool of POSIX threads is there for whenever
 * these cannot: a child made by fork() must be able to compute, and where others want the
 * processors idle threads must leave them alone (docs/decisions/001). */
#ifndef CVY_CPU_THREADS_THREADS_H
#define CVY_CPU_THREADS_THREADS_H

#include "cpu/threads/watchdog.h"

#define CVY_MAX_THREADS 256

typedef struct cvy_threads cvy_threads;

/* Does the items [begin, end). `slot` < cvy_threads_count() names scratch memory: two calls that
 * run at the same time never have the same slot. */
typedef void cvy_task(void *arg, int64_t begin, int64_t end, int32_t slot);

/* Opens `wanted` threads, the caller's included, or with 0 as many as the process may use. More
 * than CVY_MAX_THREADS are cut to that, with a line of log. Threads start when a loop first needs
 * them; where the system gives fewer, the others do the work and the results are the same. Fails
 * if CONVOY_TEAM says what cannot be (choice.h). */
convoy_status cvy_threads_open(int32_t wanted, cvy_threads **out);
/* Ends and joins the threads. No loop may be running. NULL is allowed. */
void cvy_threads_close(cvy_threads *threads);
/* Lets the threads' heartbeats be watched by `watchdog`, which is for as many threads and outlives
 * them. Must be called before any loop. */
void cvy_threads_set_watchdog(cvy_threads *threads, cvy_watchdog *watchdog);
/* Lets `team` (convoy.h) carry out all further loops; NULL changes nothing. Must be called before
 * any loop. A child made by fork() has no such team and uses a pool. */
void cvy_threads_lend(cvy_threads *threads, convoy_team *team);
/* The number of threads, which is 1 for NULL. */
int32_t cvy_threads_count(const cvy_threads *threads);

/* Cuts [0, count) into min(count, threads) even parts and runs each once. The slot is the number of
 * the part, whichever thread runs it, so sums kept per slot do not depend on timing. */
void cvy_parallel_for(cvy_threads *threads, int64_t count, cvy_task *task, void *arg);
/* Does the same in many small parts, for items of uneven cost. The slot is the number of the
 * thread, so results may not depend on how the items were parted.
 *
 * Both run everything on the calling thread if `threads` is NULL and if they are called from inside
 * a task. Calls from several threads wait for each other. After fork() the child has a pool of its
 * own. */
void cvy_parallel_items(cvy_threads *threads, int64_t count, cvy_task *task, void *arg);

#endif
