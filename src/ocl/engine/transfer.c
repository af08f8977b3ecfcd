/* Copies between host and device. A blocking write would wait for everything enqueued before it, so
 * writes of moderate size go through a copy that lives until the transfer is done. */
#include "ocl/engine/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/device.h"
#include "ocl/engine/pinned.h"

/* Most bytes of copies under way. */
#define STAGING_MOST (INT64_C(64) << 20)
/* From pinned memory so many bytes are moved sooner than copied, even with a wait for
 * the device. */
#define DIRECT_LEAST (INT64_C(1) << 20)

struct staging {
  runtime_event *done;
  int64_t bytes;
  struct staging *next;
  char copy[];
};

/* A driver that cannot say so may still be reading. */
static bool is_done(const cvy_device *device, runtime_event *event) {
  int32_t state = 1;
  return device->runtime->event_state(device->queue, event, &state) == 0 && state <= 0;
}

static void drop_oldest(cvy_device *device) {
  device_transfers *transfers = &device->transfers;
  struct staging *oldest = transfers->oldest;
  transfers->oldest = oldest->next;
  transfers->staged_bytes -= oldest->bytes;
  device->runtime->event_release(device->queue, oldest->done);
  free(oldest);
}

static void drop_done(cvy_device *device) {
  const device_transfers *transfers = &device->transfers;
  while (transfers->oldest && is_done(device, transfers->oldest->done)) drop_oldest(device);
}

void staging_close(cvy_device *device) {
  while (device->transfers.oldest) drop_oldest(device);
}

static void append(device_transfers *transfers, struct staging *new) {
  struct staging **link = &transfers->oldest;
  while (*link) link = &(*link)->next;
  *link = new;
  transfers->staged_bytes += new->bytes;
}

static runtime_place place_in(const array_entry *entry, int64_t offset) {
  return (runtime_place){entry->piece->memory, (size_t)(entry->piece->at + offset)};
}

static convoy_status write_blocking(cvy_device *device, runtime_place to, const void *from,
                                    int64_t bytes) {
  convoy_status status = completion_wait(device, UINT64_MAX);
  if (status) return status;
  int32_t code = device->runtime->write(device->queue, to, from, (size_t)bytes);
  return code ? device->runtime->fail(code, "writing to the device") : CONVOY_OK;
}

static convoy_status write_staged(cvy_device *device, runtime_place to, const void *from,
                                  int64_t bytes) {
  device_transfers *transfers = &device->transfers;
  drop_done(device);
  struct staging *new = NULL;
  if (transfers->staged_bytes + bytes <= STAGING_MOST) new = malloc(sizeof *new + (size_t)bytes);
  if (!new) return write_blocking(device, to, from, bytes);
  new->bytes = bytes;
  new->next = NULL;
  flush_all(device);
  memcpy(new->copy, from, (size_t)bytes);
  int32_t code =
      device->runtime->write_later(device->queue, to, new->copy, (size_t)bytes, &new->done);
  if (code) {
    free(new);
    return device->runtime->fail(code, "writing to the device");
  }
  append(transfers, new);
  return CONVOY_OK;
}

/* Whether [offset, offset + bytes) can be a part at all; whether it is one, find_array knows. */
static convoy_status check_part(int64_t offset, int64_t bytes) {
  int64_t end;
  if (offset >= 0 && bytes >= 0 && !__builtin_add_overflow(offset, bytes, &end)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%lld bytes at %lld are no part of an array",
                  (long long)bytes, (long long)offset);
}

convoy_status engine_write_part(cvy_device *device, uint64_t id, int64_t offset, const void *from,
                                int64_t bytes, uint64_t *ticket) {
  convoy_status status = command_begin(device, ticket);
  if (status) return status;
  array_entry *entry;
  status = check_part(offset, bytes);
  if (!status) status = find_array(device, id, offset + bytes, &entry);
  if (!status) prepacked_forget(device, entry);
  if (!status && bytes > 0) {
    bool direct = bytes >= DIRECT_LEAST && pinned_has(device, from, bytes);
    runtime_place to = place_in(entry, offset);
    status =
        direct ? write_blocking(device, to, from, bytes) : write_staged(device, to, from, bytes);
  }
  return command_end(device, status);
}

convoy_status engine_write(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                           uint64_t *ticket) {
  return engine_write_part(device, id, 0, from, bytes, ticket);
}

convoy_status engine_read_part(cvy_device *device, uint64_t id, int64_t offset, void *to,
                               int64_t bytes) {
  array_entry *entry;
  convoy_status status = fault_check(device);
  if (!status) status = check_part(offset, bytes);
  if (!status) status = find_array(device, id, offset + bytes, &entry);
  if (status || bytes == 0) return status;
  status = completion_wait(device, UINT64_MAX);
  if (status) return status;
  int32_t code = device->runtime->read(device->queue, place_in(entry, offset), to, (size_t)bytes);
  return command_drained(device, code, "reading from the device");
}

convoy_status engine_read(cvy_device *device, uint64_t id, void *to, int64_t bytes) {
  return engine_read_part(device, id, 0, to, bytes);
}
