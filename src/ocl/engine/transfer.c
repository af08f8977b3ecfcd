/* Copies between host and device are commands like any other: nothing waits here for those before
 * them. The memory that they come from and go to stays as it is until they are done. */
#include "ocl/engine/transfer.h"

#include "ocl/engine/commands.h"
#include "ocl/engine/device.h"

static runtime_place place_in(const array_entry *entry, int64_t offset) {
  return (runtime_place){entry->piece->memory, (size_t)(entry->piece->at + offset)};
}

/* Whether [offset, offset + bytes) can be a part at all; whether it is one, find_array knows. */
static convoy_status check_part(int64_t offset, int64_t bytes) {
  int64_t end;
  if (offset >= 0 && bytes >= 0 && !__builtin_add_overflow(offset, bytes, &end)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%lld bytes at %lld are no part of an array",
                  (long long)bytes, (long long)offset);
}

static convoy_status find_part(cvy_device *device, uint64_t id, int64_t offset, int64_t bytes,
                               array_entry **out) {
  convoy_status status = check_part(offset, bytes);
  return status ? status : find_array(device, id, offset + bytes, out);
}

static convoy_status enqueued(cvy_device *device, int32_t code, runtime_event *done,
                              const char *what) {
  if (code) return device->runtime->fail(code, what);
  completion_add_last(device, done);
  flush_burst(device);
  return CONVOY_OK;
}

convoy_status engine_write(cvy_device *device, const cvy_command *command) {
  int64_t at = command->transfer.at, bytes = command->transfer.bytes;
  array_entry *entry = NULL;
  runtime_event *done = NULL;
  convoy_status status = find_part(device, command->transfer.array, at, bytes, &entry);
  if (!status) prepacked_forget(device, entry);
  if (status || bytes == 0) return status;
  int32_t code = device->runtime->write(device->queue, place_in(entry, at), command->memory,
                                        (size_t)bytes, &done);
  return enqueued(device, code, done, "writing to the device");
}

convoy_status engine_read(cvy_device *device, const cvy_command *command) {
  int64_t at = command->transfer.at, bytes = command->transfer.bytes;
  array_entry *entry = NULL;
  runtime_event *done = NULL;
  convoy_status status = find_part(device, command->transfer.array, at, bytes, &entry);
  if (status || bytes == 0) return status;
  int32_t code = device->runtime->read(device->queue, place_in(entry, at), command->memory,
                                       (size_t)bytes, &done);
  return enqueued(device, code, done, "reading from the device");
}
