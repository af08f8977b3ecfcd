/* What passes that make one node of two have in common. */
#ifndef CVY_FUSING_H
#define CVY_FUSING_H

#include "core/graph/plan.h"
#include "core/graph/uses.h"
#include "problem/fuse.h"

/* The problem of both nodes, the second of which comes later in the list, with the results of the
 * first whose bits are in `kept`; false where they are no one problem, or none that the plan's
 * engine has an algorithm for. */
bool cvy_plan_fuses(const cvy_plan *plan, int32_t first, int32_t second, uint32_t kept,
                    cvy_fused *out);
/* The node does what was fused from now on. ERR_MEMORY, then nothing has changed. */
convoy_status cvy_node_take_over(cvy_uses *uses, int32_t n, const cvy_fused *fused);
/* Others make its results now. */
void cvy_node_give_up(cvy_uses *uses, int32_t n);

#endif
