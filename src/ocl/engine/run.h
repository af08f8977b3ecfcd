/* Jobs, as backend.h says. */
#ifndef CVY_OCL_ENGINE_RUN_H
#define CVY_OCL_ENGINE_RUN_H

#include "backend.h"

convoy_status engine_run(cvy_device *device, const cvy_job *job, uint64_t *ticket);
convoy_status engine_build(cvy_device *device, const cvy_job *job, const volatile int *interrupt);

#endif
