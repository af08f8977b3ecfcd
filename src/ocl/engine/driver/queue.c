/* The commands that the engine enqueues, into one stream. */
#include "ocl/engine/driver/queue.h"

#include <stdlib.h>

#include "ocl/engine/driver/compiler.h"
#include "ocl/engine/driver/devices.h"

/* Drivers align allocations so; kernels need no more. */
enum { ALIGNMENT = 256 };

const char *driver_error_name(const gpu_driver *driver, int32_t code) {
  const char *name = driver->error_name(-code);
  return name ? name : "unnamed error";
}

convoy_status driver_fail(const gpu_driver *driver, int32_t code, const char *what) {
  return cvy_fail(code == -DRIVER_NO_MEMORY ? CONVOY_ERR_MEMORY : CONVOY_ERR_DEVICE, "%s: %s (%d)",
                  what, driver_error_name(driver, code), -(int)code);
}

/* ------------------------------------------------------------------------------------- opening */

static convoy_status open_in(const runtime_device *device, runtime_queue *queue,
                             runtime_traits *traits) {
  int code = queue->driver->open(queue->device, &queue->context);
  if (code) return driver_fail(queue->driver, -code, "cannot open a device");
  code = queue->driver->enter(queue->device, queue->context);
  if (!code) code = queue->calls->stream(&queue->own_stream, DRIVER_STREAM_NON_BLOCKING);
  if (code) return driver_fail(queue->driver, -code, "cannot create a stream");
  queue->stream = queue->own_stream;
  convoy_status status = driver_compiler_open(queue, &device->facts, traits);
  traits->alignment = ALIGNMENT;
  return status;
}

convoy_status driver_open(const gpu_driver *driver, const runtime_device *device,
                          runtime_queue **out, runtime_traits *traits) {
  runtime_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a stream");
  *queue =
      (runtime_queue){.driver = driver, .calls = driver->calls(), .device = driver_number(device)};
  convoy_status status = open_in(device, queue, traits);
  if (status)
    driver_close(queue);
  else
    *out = queue;
  return status;
}

void driver_close(runtime_queue *queue) {
  driver_compiler_close(queue);
  if (queue->own_stream && !driver_enter(queue)) queue->calls->stream_release(queue->own_stream);
  if (queue->context) queue->driver->close(queue->device, queue->context);
  free(queue);
}

/* -------------------------------------------------------------------------------------- memory */

runtime_memory *driver_memory(runtime_queue *queue, int64_t bytes, int32_t *code) {
  void *memory = NULL;
  *code = driver_enter(queue);
  if (!*code) *code = -queue->calls->memory(&memory, (size_t)bytes);
  return *code ? NULL : memory;
}

/* It waits for what is under way. */
void driver_memory_release(runtime_queue *queue, runtime_memory *memory) {
  if (!driver_enter(queue)) queue->calls->memory_release(memory);
}

/* Memory is on the device from the first. */
int32_t driver_memory_move(runtime_queue *queue, runtime_memory *memory) {
  (void)queue, (void)memory;
  return 0;
}

runtime_memory *driver_pin(runtime_queue *queue, void *memory, int64_t bytes, int32_t *code) {
  *code = driver_enter(queue);
  if (!*code) *code = -queue->calls->pin(memory, (size_t)bytes, 0);
  return *code ? NULL : memory;
}

void driver_unpin(runtime_queue *queue, runtime_memory *pinned, void *memory) {
  (void)pinned;
  if (driver_enter(queue)) return;
  queue->calls->stream_wait(queue->stream);
  queue->calls->unpin(memory);
}

/* -------------------------------------------------------------------------------------- events */

static int32_t record(runtime_queue *queue, runtime_event **out) {
  const driver_calls *calls = queue->calls;
  void *event = NULL;
  int code = calls->event(&event, DRIVER_EVENT_WITHOUT_TIME);
  if (code) return -code;
  code = calls->event_record(event, queue->stream);
  if (code)
    calls->event_release(event);
  else
    *out = event;
  return -code;
}

int32_t driver_marker(runtime_queue *queue, runtime_event **out) {
  int32_t code = driver_enter(queue);
  return code ? code : record(queue, out);
}

int32_t driver_event_state(runtime_queue *queue, runtime_event *event, int32_t *state) {
  int32_t code = driver_enter(queue);
  if (code) return code;
  int found = queue->calls->event_query(event);
  *state = found == DRIVER_NOT_READY ? 1 : -found;
  return 0;
}

int32_t driver_event_wait(runtime_queue *queue, runtime_event *event) {
  int32_t code = driver_enter(queue);
  return code ? code : -queue->calls->event_wait(event);
}

void driver_event_release(runtime_queue *queue, runtime_event *event) {
  if (!driver_enter(queue)) queue->calls->event_release(event);
}

/* ------------------------------------------------------------------------ a framework's things
 */

runtime_memory *driver_memory_at(uint64_t address) {
  return (runtime_memory *)(uintptr_t)address;
}

int32_t driver_use_stream(runtime_queue *queue, void *stream, bool ordered) {
  runtime_event *before = NULL;
  if (stream == queue->stream) return 0;
  if (!ordered) {
    queue->stream = stream;
    return 0;
  }
  int32_t code = driver_marker(queue, &before);
  if (code) return code;
  code = -queue->calls->stream_wait_event(stream, before, 0);
  driver_event_release(queue, before);
  if (!code) queue->stream = stream;
  return code;
}

int32_t driver_enter_queue(runtime_queue *queue) {
  return driver_enter(queue);
}

/* A driver that does not answer cannot be relied on for anything else either. */
runtime_recording driver_recording(runtime_queue *queue, void *stream) {
  static const runtime_recording states[] = {RUNTIME_NOT_RECORDING, RUNTIME_RECORDING};
  int state = 0;
  if (!queue->calls->stream_recording) return RUNTIME_NOT_RECORDING;
  if (driver_enter(queue)) return RUNTIME_RECORDING_BROKEN;
  if (queue->calls->stream_recording(stream, &state)) return RUNTIME_RECORDING_BROKEN;
  if (state) queue->recorded = true;
  return state == 0 || state == 1 ? states[state] : RUNTIME_RECORDING_BROKEN;
}

/* ------------------------------------------------------------------------------------ commands */

static void *address(runtime_place place) {
  return (char *)place.memory + place.byte;
}

int32_t driver_copy(runtime_queue *queue, runtime_place from, runtime_place to, size_t bytes) {
  int32_t code = driver_enter(queue);
  return code ? code : -queue->calls->copy(address(to), address(from), bytes, queue->stream);
}

int32_t driver_zero(runtime_queue *queue, runtime_place at, size_t bytes) {
  int32_t code = driver_enter(queue);
  return code ? code : -queue->calls->fill(address(at), 0, bytes, queue->stream);
}

int32_t driver_write(runtime_queue *queue, runtime_place to, const void *from, size_t bytes,
                     runtime_event **done) {
  int32_t code = driver_enter(queue);
  if (!code) code = -queue->calls->write(address(to), from, bytes, queue->stream);
  return code ? code : record(queue, done);
}

int32_t driver_read(runtime_queue *queue, runtime_place from, void *to, size_t bytes,
                    runtime_event **done) {
  int32_t code = driver_enter(queue);
  if (!code) code = -queue->calls->read(to, address(from), bytes, queue->stream);
  return code ? code : record(queue, done);
}

/* What is enqueued is under way. */
void driver_flush(runtime_queue *queue) {
  (void)queue;
}

int32_t driver_finish(runtime_queue *queue) {
  int32_t code = driver_enter(queue);
  return code ? code : -queue->calls->stream_wait(queue->stream);
}
