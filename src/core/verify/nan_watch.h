/* The NaN watch (option nan_watch): says once per context which value that passed the host was the
 * first to be infinite or not a number. Values that live and die on a device are not seen. */
#ifndef CVY_NAN_WATCH_H
#define CVY_NAN_WATCH_H

#include "core/exec/store.h"

/* What a problem is given on the host; what is added to is in out[0]. */
void cvy_watch_given(convoy_context *context, const cvy_problem *problem, const float *const in[],
                     float *const out[]);
/* What the node reads, as far as the host has it; each store is looked at once. */
void cvy_watch_inputs(convoy_context *context, const cvy_node *node);
/* Whether it is on, has said nothing yet, and one of these values is not finite. */
bool cvy_watch_finds(const convoy_context *context, const float *values, int64_t bytes);
void cvy_watch_result(convoy_context *context, const cvy_problem *problem, int32_t output,
                      const float *values);

#endif
