/* Commands by number: how many were accepted, and which of them are known to be good. */
#ifndef CVY_OCL_ENGINE_TICKETS_H
#define CVY_OCL_ENGINE_TICKETS_H

#include "backend.h"

/* A device's part of this module. */
typedef struct device_tickets {
  uint64_t issued;   /* number of the newest command */
  uint64_t finished; /* commands up to this one are known to be good */
} device_tickets;

/* After a call that waited for everything enqueued: remembers how far results are good, or that
 * some command after that failed. */
convoy_status command_drained(cvy_device *device, int32_t code, const char *what);

/* Commands up to `ticket` are good, and the observer hears of it. */
void tickets_finish(cvy_device *device, uint64_t ticket);
/* Nothing is under way any more. */
void tickets_finish_all(cvy_device *device);

#endif
