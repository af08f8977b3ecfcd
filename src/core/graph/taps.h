/* Taps: what a run computes on its way never reaches the host, and leaves the device as soon as
 * nothing reads it there. So each run keeps what one of its operations read and made, another one
 * each time, and that is fetched and verified when the run has ended. */
#ifndef CVY_TAPS_H
#define CVY_TAPS_H

#include "core/exec/store.h"
#include "core/graph/graph.h"

/* Which operation the run that begins shall tap; -1: none, since there is no device that verifies
 * samples or time to do it. */
int32_t cvy_tap_choose(convoy_graph *graph);
/* The tapped operation is under way: it keeps what is needed. */
void cvy_tap_keep(convoy_graph *graph, const cvy_node *node, cvy_store *const out[]);
/* Verifies what the run kept that had this one's turn before, and has ended. What is wrong is a
 * fault like any other; fails where that is final. */
convoy_status cvy_tap_verify(convoy_graph *graph);
/* And all that are kept, so that nothing of them stays on the device. */
convoy_status cvy_tap_verify_all(convoy_graph *graph);

#endif
