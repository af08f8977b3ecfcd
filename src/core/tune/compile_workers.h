/* Compile workers: further lanes to a context's device, each with a worker process and a thread of
 * its own, that do nothing but compile. What they compile reaches the device's own lane through the
 * caches of programs. They only ever save time: one that fails, hangs or crashes is not used any
 * more, and the device's own worker compiles what it needs. */
#ifndef CVY_COMPILE_WORKERS_H
#define CVY_COMPILE_WORKERS_H

#include "core/options.h"
#include "core/tune/choose.h"

typedef struct cvy_compile_workers cvy_compile_workers;

/* For device `index` of the engine's backend; `cores` this process may use. NULL: there are to be
 * none, or no memory for them. Nothing is started yet. */
cvy_compile_workers *cvy_compile_workers_new(const cvy_engine *engine, int32_t index,
                                             const cvy_options *options, int32_t cores);
/* Ends them in bounded time, whatever they are at. NULL is allowed. */
void cvy_compile_workers_close(cvy_compile_workers *all);
/* In a child made by fork(), where their threads do not exist. NULL is allowed. */
void cvy_compile_workers_forget(cvy_compile_workers *all);

/* Puts the job on the stack, unless it was there recently. The newest is built first: the device's
 * own lane goes through what was enqueued from the other end. */
void cvy_compile_workers_add(cvy_compile_workers *all, const cvy_problem *problem,
                             const cvy_choice *choice);
/* `compiled`: how many programs the device's own lane has had to compile so far. Once they have
 * become more compile workers are started, no more than there are jobs; those without work for a
 * while end. */
void cvy_compile_workers_note(cvy_compile_workers *all, int64_t compiled);
/* What ran so far needed nothing compiled: unless there are compile workers, forgets the jobs. */
void cvy_compile_workers_drop(cvy_compile_workers *all);
/* Programs they have compiled so far. NULL is allowed. */
int64_t cvy_compile_workers_compiled(cvy_compile_workers *all);

#endif
