/* Taps of runs by one command: an excerpt of one operation, another one each time, is copied while
 * the run goes on, and judged when it has reached the host. */
#ifndef CVY_PLANNED_TAPS_H
#define CVY_PLANNED_TAPS_H

#include "core/graph/graph.h"

/* The run that is about to be enqueued may tap; afterwards it is under way. A failure of the device
 * has been dealt with. */
convoy_status cvy_planned_tap_begin(convoy_graph *graph);
convoy_status cvy_planned_tap_enqueued(convoy_graph *graph);
/* Judges what the run kept that had this one's turn before. What is wrong is a fault like any
 * other; fails where that is final. */
convoy_status cvy_planned_tap_verify(convoy_graph *graph);
void cvy_planned_tap_drop(cvy_planned_tap *tap); /* NULL allowed */

#endif
