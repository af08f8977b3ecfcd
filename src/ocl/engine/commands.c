/* The commands on arrays, and the book of tickets and faults. */
#include <time.h>

#include "ocl/engine/engine.h"

convoy_status command_begin(cvy_device *device, uint64_t *ticket) {
  device->ticket++;
  if (ticket) *ticket = device->ticket;
  if (device->fault == 0) return CONVOY_OK;
  return cvy_fail(device->fault_status, "%s", device->fault_sentence);
}

/* Command `number` failed with the sentence just written. Only the first failure counts. */
static void record_fault(cvy_device *device, uint64_t number, convoy_status status) {
  if (device->fault != 0) return;
  device->fault = number;
  device->fault_status = status;
  cvy_text_copy(device->fault_sentence, sizeof device->fault_sentence, cvy_last_error());
  cvy_log(CONVOY_LOG_DEBUG, "%s: command %llu failed: %s", device->facts.info.id,
          (unsigned long long)number, device->fault_sentence);
}

convoy_status command_end(cvy_device *device, convoy_status status) {
  if (status) record_fault(device, device->ticket, status);
  return status;
}

#define MOST_BURST 4

void flush_burst(cvy_device *device) {
  if (++device->unflushed >> device->burst == 0) return;
  clFlush(device->queue);
  device->unflushed = 0;
  if (device->burst < MOST_BURST) device->burst++; /* the first jobs at once, then fewer times */
}

void flush_all(cvy_device *device) {
  clFlush(device->queue);
  device->unflushed = device->burst = 0;
}

convoy_status command_drained(cvy_device *device, cl_int code, const char *what) {
  if (code == CL_SUCCESS) {
    device->finished = device->ticket;
    completion_drop(device);
    watch_progress(device);
    return CONVOY_OK;
  }
  const convoy_status status = cl_fail(code, what);
  record_fault(device, device->finished + 1, status);
  return status;
}

static convoy_status allocate(cvy_device *device, uint64_t id, int64_t bytes) {
  if (id == 0 || bytes <= 0 || arrays_find(&device->arrays, id))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "cannot make a device array %llu of %lld bytes",
                    (unsigned long long)id, (long long)bytes);
  array_entry *entry = arrays_add(&device->arrays, id);
  if (!entry) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a device array's entry");
  entry->bytes = bytes;
  const convoy_status status = memory_take(device, bytes, &entry->piece);
  if (status) arrays_remove(&device->arrays, id);
  return status;
}

convoy_status engine_allocate(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  const convoy_status status = command_begin(device, ticket);
  return status ? status : command_end(device, allocate(device, id, bytes));
}

/* Also on a faulted device, or its memory would be lost. Later owners of the place come later in the
 * queue. What is not there went with a worker before this one. */
convoy_status engine_release(cvy_device *device, uint64_t id) {
  array_entry *entry = arrays_find(&device->arrays, id);
  if (!entry) return CONVOY_OK;
  prepacked_forget(device, entry);
  arena_give(device->memory, entry->piece);
  arrays_remove(&device->arrays, id);
  return CONVOY_OK;
}

static convoy_status copy(cvy_device *device, uint64_t from, uint64_t to, int64_t bytes) {
  array_entry *source, *target;
  convoy_status status = find_array(device, from, bytes, &source);
  if (!status) status = find_array(device, to, bytes, &target);
  if (status || bytes == 0 || from == to) return status;
  prepacked_forget(device, target);
  const cl_int code = clEnqueueCopyBuffer(device->queue, source->piece->memory,
                                          target->piece->memory, (size_t)source->piece->at,
                                          (size_t)target->piece->at, (size_t)bytes, 0, NULL, NULL);
  return code == CL_SUCCESS ? CONVOY_OK : cl_fail(code, "copying a device array");
}

convoy_status engine_copy(cvy_device *device, uint64_t from, uint64_t to, int64_t bytes,
                          uint64_t *ticket) {
  const convoy_status status = command_begin(device, ticket);
  return status ? status : command_end(device, copy(device, from, to, bytes));
}

convoy_status fill_zero(cvy_device *device, span at, int64_t bytes) {
  if (bytes == 0) return CONVOY_OK;
  capture_invalidate(device);
  const cl_float zero = 0.0f;
  const cl_int code =
      clEnqueueFillBuffer(device->queue, at.memory, &zero, sizeof zero,
                          (size_t)at.at * sizeof(float), (size_t)bytes, 0, NULL, NULL);
  return code == CL_SUCCESS ? CONVOY_OK : cl_fail(code, "zeroing a device array");
}

convoy_status engine_zero(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  convoy_status status = command_begin(device, ticket);
  if (status) return status;
  array_entry *entry;
  status = find_array(device, id, bytes, &entry);
  if (!status) prepacked_forget(device, entry);
  if (!status) status = fill_zero(device, span_of(entry->piece), bytes);
  return command_end(device, status);
}

/* Polls a marker so that the caller can be interrupted; a driver's own wait cannot. */
static convoy_status drain_interruptible(cvy_device *device, const volatile int *interrupt) {
  cl_event marker;
  cl_int code = clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &marker);
  if (code != CL_SUCCESS) return command_drained(device, code, "waiting for the device");
  flush_all(device);
  cl_int state = CL_QUEUED;
  while (code == CL_SUCCESS && state > CL_COMPLETE && !*interrupt) {
    code = clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (state > CL_COMPLETE) nanosleep(&(struct timespec){0, 20000}, NULL);
  }
  clReleaseEvent(marker);
  if (code == CL_SUCCESS && state > CL_COMPLETE)
    return cvy_fail(CONVOY_ERR_INTERRUPTED, "interrupted while waiting for the device");
  if (code == CL_SUCCESS && state < CL_COMPLETE) code = state;
  return command_drained(device, code, "waiting for the device");
}

convoy_status engine_wait(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                          uint64_t *fault) {
  convoy_status status = CONVOY_OK;
  if (device->fault == 0 && ticket > device->finished) {
    if (!interrupt) status = completion_wait(device, ticket);
    if (!status && device->finished < ticket)
      status = interrupt
                   ? drain_interruptible(device, interrupt)
                   : command_drained(device, clFinish(device->queue), "waiting for the device");
    if (status == CONVOY_ERR_INTERRUPTED) return status;
  }
  if (device->fault == 0 || device->fault > ticket) return CONVOY_OK;
  if (fault) *fault = device->fault;
  return cvy_fail(device->fault_status, "%s", device->fault_sentence);
}

convoy_status engine_clear(cvy_device *device, bool *emptied) {
  (void)emptied; /* arrays outlive a fault */
  completion_drop(device);
  prepacked_forget_all(device); /* they do not: some may never have been made */
  const cl_int code = clFinish(device->queue);
  if (code != CL_SUCCESS) return cl_fail(code, "the device is gone for good");
  device->fault = 0;
  device->finished = device->ticket;
  return CONVOY_OK;
}
