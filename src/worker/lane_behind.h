/* A device of the lane that is still compiling when a call's time is over (CVY_BEHIND_STILL). */
#ifndef CVY_LANE_BEHIND_H
#define CVY_LANE_BEHIND_H

#include "worker/lane_device.h"

/* A worker has been started, and its device opened: says so to the channel. */
void cvy_lane_behind_begin(cvy_device *device);
/* CVY_PREPARE, and the entry of the backend. */
void cvy_lane_prepare(cvy_device *device, const cvy_command *command);
cvy_behind cvy_lane_behind(cvy_device *device, cvy_job *at);

#endif
