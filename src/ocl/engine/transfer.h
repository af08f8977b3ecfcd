/* Copies between host and device, and the host memory that they go through. */
#ifndef CVY_OCL_ENGINE_TRANSFER_H
#define CVY_OCL_ENGINE_TRANSFER_H

#include "backend.h"

/* A device's part of this module and of pinned.h. */
typedef struct device_transfers {
  struct staging *oldest; /* host copies of writes under way */
  int64_t staged_bytes;
  struct pinned *pinned; /* host memory that the driver knows */
} device_transfers;

convoy_status engine_write(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                           uint64_t *ticket);
convoy_status engine_read(cvy_device *device, uint64_t id, void *to, int64_t bytes);
convoy_status engine_write_part(cvy_device *device, uint64_t id, int64_t offset, const void *from,
                                int64_t bytes, uint64_t *ticket);
convoy_status engine_read_part(cvy_device *device, uint64_t id, int64_t offset, void *to,
                               int64_t bytes);
void staging_close(cvy_device *device);

#endif
