/* Carrying out commands (command.h), and waiting, as backend.h says. */
#ifndef CVY_OCL_ENGINE_COMMANDS_H
#define CVY_OCL_ENGINE_COMMANDS_H

#include "backend.h"
#include "ocl/engine/bindings.h"

convoy_status engine_execute(cvy_device *device, const cvy_command *command, cvy_reply *reply,
                             uint64_t *ticket);
convoy_status engine_wait(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                          uint64_t *fault);

/* Sets `bytes` of a span to 0. */
convoy_status fill_zero(cvy_device *device, span at, int64_t bytes);

#endif
