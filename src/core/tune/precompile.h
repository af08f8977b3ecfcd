/* What will run soon: its programs are asked for ahead of time, of compile workers if the context
 * has any. */
#ifndef CVY_PRECOMPILE_H
#define CVY_PRECOMPILE_H

#include "core/context.h"

/* This operation was chosen for the first time, and its command given to the device: the same
 * layer's other passes will mostly follow. */
void cvy_precompile_passes(convoy_context *context, const cvy_problem *problem,
                           const cvy_choice *choice);
/* The problem will run soon, as it is chosen now. */
void cvy_precompile_problem(convoy_context *context, const cvy_problem *problem);
/* The same for the device's own worker: where no other worker compiles ahead, or while it is
 * behind. */
void cvy_precompile_here(convoy_context *context, const cvy_problem *problem);
/* The problem may soon run with this choice. */
void cvy_precompile_choice(convoy_context *context, const cvy_problem *problem,
                           const cvy_choice *choice);
/* The caller is about to wait for the device: the last chance to see, before that, whether it has
 * to compile what was enqueued. */
void cvy_precompile_wait(convoy_context *context, const volatile int *interrupt);

#endif
