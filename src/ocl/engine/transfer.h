/* Copies between host and device. */
#ifndef CVY_OCL_ENGINE_TRANSFER_H
#define CVY_OCL_ENGINE_TRANSFER_H

#include "backend.h"

convoy_status engine_write(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                           uint64_t *ticket);
convoy_status engine_read(cvy_device *device, uint64_t id, void *to, int64_t bytes);
convoy_status engine_write_part(cvy_device *device, uint64_t id, int64_t offset, const void *from,
                                int64_t bytes, uint64_t *ticket);
convoy_status engine_read_part(cvy_device *device, uint64_t id, int64_t offset, void *to,
                               int64_t bytes, uint64_t *ticket);

#endif
