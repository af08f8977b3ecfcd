/* `convoy overhead` tells what the safety net costs on a device: everything is measured twice, with
 * the driver in a process of its own and with the driver in this one, turn about. */
#ifndef OVERHEAD_SIDES_H
#define OVERHEAD_SIDES_H

#include "convoy/convoy.h"

enum { SIDE_PROCESS, SIDE_NONE, SIDES };

/* The sides are the same device, opened with isolation=process and with isolation=none. */
typedef struct sides {
  convoy_context *context[SIDES];
} sides;

#endif
