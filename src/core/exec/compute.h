/* The CPU engine, on host memory. */
#ifndef CVY_COMPUTE_H
#define CVY_COMPUTE_H

#include "core/context.h"

/* Done on return, `out` untouched on failure: the engine allocates what it needs before it writes.
 * What is added to is in out[0]. */
convoy_status cvy_compute(convoy_context *context, const cvy_problem *problem,
                          const float *const in[], float *const out[]);
/* The public call's operation is carried out by this engine, so: for the report of the call. */
void cvy_note_engine(convoy_context *context, const cvy_engine *engine, const cvy_choice *choice);

#endif
