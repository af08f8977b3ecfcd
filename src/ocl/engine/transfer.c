/* Copies between host and device. A blocking write would wait for everything enqueued before it, so
 * writes of moderate size go through a copy that lives until the transfer is done. */
#include <stdlib.h>
#include <string.h>

#include "ocl/engine/engine.h"

#define STAGING_MOST (INT64_C(64) << 20) /* bytes under way */
/* From pinned memory so much is moved sooner than copied, even with a wait for the device. */
#define DIRECT_LEAST (INT64_C(1) << 20)

struct staging {
  cl_event done;
  int64_t bytes;
  struct staging *next;
  char copy[];
};

/* A driver that cannot say so may still be reading. */
static bool is_done(cl_event event) {
  cl_int state = CL_QUEUED;
  const cl_int code =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  return code == CL_SUCCESS && state <= CL_COMPLETE;
}

static void drop_oldest(cvy_device *device) {
  struct staging *oldest = device->staging;
  device->staging = oldest->next;
  device->staging_bytes -= oldest->bytes;
  clReleaseEvent(oldest->done);
  free(oldest);
}

static void drop_done(cvy_device *device) {
  while (device->staging && is_done(device->staging->done)) drop_oldest(device);
}

void staging_close(cvy_device *device) {
  while (device->staging) drop_oldest(device);
}

static void append(cvy_device *device, struct staging *new) {
  struct staging **link = &device->staging;
  while (*link) link = &(*link)->next;
  *link = new;
  device->staging_bytes += new->bytes;
}

/* A place in an array. */
typedef struct place {
  cl_mem memory;
  size_t at;
} place;

static place place_of(const array_entry *entry, int64_t offset) {
  return (place){entry->piece->memory, (size_t)(entry->piece->at + offset)};
}

static cl_int enqueue(cvy_device *device, place to, const void *from, int64_t bytes,
                      cl_bool blocking, cl_event *event) {
  return clEnqueueWriteBuffer(device->queue, to.memory, blocking, to.at, (size_t)bytes, from, 0,
                              NULL, event);
}

static convoy_status write_blocking(cvy_device *device, place to, const void *from, int64_t bytes) {
  const convoy_status status = completion_wait(device, UINT64_MAX);
  if (status) return status;
  const cl_int code = enqueue(device, to, from, bytes, CL_TRUE, NULL);
  return code == CL_SUCCESS ? CONVOY_OK : cl_fail(code, "writing to the device");
}

static convoy_status write_staged(cvy_device *device, place to, const void *from, int64_t bytes) {
  drop_done(device);
  struct staging *new = NULL;
  if (device->staging_bytes + bytes <= STAGING_MOST) new = malloc(sizeof *new + (size_t)bytes);
  if (!new) return write_blocking(device, to, from, bytes);
  new->bytes = bytes;
  new->next = NULL;
  flush_all(device);
  memcpy(new->copy, from, (size_t)bytes);
  const cl_int code = enqueue(device, to, new->copy, bytes, CL_FALSE, &new->done);
  if (code != CL_SUCCESS) {
    free(new);
    return cl_fail(code, "writing to the device");
  }
  append(device, new);
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
    const bool direct = bytes >= DIRECT_LEAST && pinned_has(device, from, bytes);
    const place to = place_of(entry, offset);
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
  if (device->fault != 0) return cvy_fail(device->fault_status, "%s", device->fault_sentence);
  array_entry *entry;
  convoy_status status = check_part(offset, bytes);
  if (!status) status = find_array(device, id, offset + bytes, &entry);
  if (status || bytes == 0) return status;
  status = completion_wait(device, UINT64_MAX);
  if (status) return status;
  const place from = place_of(entry, offset);
  const cl_int code = clEnqueueReadBuffer(device->queue, from.memory, CL_TRUE, from.at,
                                          (size_t)bytes, to, 0, NULL, NULL);
  return command_drained(device, code, "reading from the device");
}

convoy_status engine_read(cvy_device *device, uint64_t id, void *to, int64_t bytes) {
  return engine_read_part(device, id, 0, to, bytes);
}
