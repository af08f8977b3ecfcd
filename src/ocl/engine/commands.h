/* The commands on arrays, and waiting, as backend.h says. */
#ifndef CVY_OCL_ENGINE_COMMANDS_H
#define CVY_OCL_ENGINE_COMMANDS_H

#include "backend.h"
#include "ocl/engine/bindings.h"

convoy_status engine_allocate(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket);
convoy_status engine_adopt(cvy_device *device, uint64_t id, uint64_t address, int64_t bytes,
                           uint64_t *ticket);
convoy_status engine_part(cvy_device *device, uint64_t id, uint64_t of, int64_t at, int64_t bytes,
                          uint64_t *ticket);
convoy_status engine_use_stream(cvy_device *device, uint64_t stream);
convoy_status engine_recording(cvy_device *device, const cvy_job *job, cvy_recording *out);
convoy_status engine_release(cvy_device *device, uint64_t id);
convoy_status engine_copy(cvy_device *device, uint64_t from, uint64_t to, int64_t bytes,
                          uint64_t *ticket);
convoy_status engine_zero(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket);
convoy_status engine_wait(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                          uint64_t *fault);
convoy_status engine_clear(cvy_device *device, bool *emptied);

/* Sets `bytes` of a span to 0. */
convoy_status fill_zero(cvy_device *device, span at, int64_t bytes);

#endif
