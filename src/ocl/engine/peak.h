/* What the device can do at best, as backend.h says. */
#ifndef CVY_OCL_ENGINE_PEAK_H
#define CVY_OCL_ENGINE_PEAK_H

#include "backend.h"

convoy_status engine_peak(cvy_device *device, const cvy_command *command, cvy_reply *reply);

#endif
