/* Copies between host and device. */
#ifndef CVY_OCL_ENGINE_TRANSFER_H
#define CVY_OCL_ENGINE_TRANSFER_H

#include "backend.h"

convoy_status engine_write(cvy_device *device, const cvy_command *command);
convoy_status engine_read(cvy_device *device, const cvy_command *command);

#endif
