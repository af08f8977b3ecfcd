/* Carries out commands by the table at the end: those on arrays here, and waiting for the device.
 */
#include "ocl/engine/commands.h"

#include <time.h>

#include "ocl/engine/capture.h"
#include "ocl/engine/device.h"
#include "ocl/engine/peak.h"
#include "ocl/engine/run.h"

static convoy_status add(cvy_device *device, uint64_t id, int64_t bytes, array_entry **out) {
  array_map *arrays = &device->memory.arrays;
  if (id == 0 || bytes <= 0 || arrays_find(arrays, id)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "cannot make a device array %llu of %lld bytes",
                    (unsigned long long)id, (long long)bytes);
  }
  *out = arrays_add(arrays, id);
  if (!*out) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a device array's entry");
  (*out)->bytes = bytes;
  return CONVOY_OK;
}

static convoy_status allocate(cvy_device *device, const cvy_command *command) {
  uint64_t id = command->allocate.array;
  int64_t bytes = command->allocate.bytes;
  array_entry *entry = NULL;
  convoy_status status = add(device, id, bytes, &entry);
  if (status) return status;
  status = memory_take(device, bytes, &entry->piece);
  if (status)
    arrays_remove(&device->memory.arrays, id);
  else
    device->memory.arrays.own++;
  return status;
}

static convoy_status adopt(cvy_device *device, const cvy_command *command) {
  int64_t bytes = command->adopt.bytes;
  array_entry *entry = NULL;
  if (!device->runtime->memory_at)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s has no addresses", device->facts.info.id);
  convoy_status status = add(device, command->adopt.array, bytes, &entry);
  if (status) return status;
  entry->view = (arena_piece){
      .memory = device->runtime->memory_at(command->adopt.address), .bytes = bytes, .used = true};
  entry->piece = &entry->view;
  return CONVOY_OK;
}

static convoy_status part(cvy_device *device, const cvy_command *command) {
  uint64_t id = command->part_of.array;
  int64_t at = command->part_of.at, bytes = command->part_of.bytes;
  array_entry *whole = NULL, *entry = NULL;
  if (at < 0 || at % CVY_PLACE_ALIGN)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "a part cannot begin at byte %lld", (long long)at);
  convoy_status status = find_array(device, command->part_of.of, at + bytes, &whole);
  if (!status) status = add(device, id, bytes, &entry);
  if (status) return status;
  status = array_share(whole, at, entry);
  if (status) arrays_remove(&device->memory.arrays, id);
  return status;
}

/* Memory of the device's own is used again in the order of commands, and so what goes into the new
 * stream has to come behind what is in the old one. Where none is in use, and none was since the
 * device was last idle, the streams' owner alone says what waits for what; so does the owner of an
 * allocator, who knows in which stream its memory was used. */
static bool needs_order(const cvy_device *device) {
  const device_memory *memory = &device->memory;
  return memory->stirred || (memory->arrays.own > 0 && !memory->allocator.allocate);
}

static convoy_status use_stream(cvy_device *device, const cvy_command *command) {
  const runtime *calls = device->runtime;
  void *const at = (void *)(uintptr_t)command->use_stream.stream;
  if (!calls->use_stream)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s has no streams", device->facts.info.id);
  bool ordered = needs_order(device);
  if (ordered && calls->recording(device->queue, at))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                    "the stream is being recorded, and %s has memory of its own in use, in the "
                    "order of another stream",
                    device->facts.info.id);
  int32_t code = calls->use_stream(device->queue, at, ordered);
  if (code) return calls->fail(code, "changing the stream");
  device->stream = at;
  device->stream_is_lent = true;
  return CONVOY_OK;
}

/* Scratch memory of the device's own would be used by others when the recording is carried out. */
static convoy_status recording(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  const runtime *calls = device->runtime;
  reply->recording = CVY_NOT_RECORDING;
  if (!calls->recording || !device->stream_is_lent) return CONVOY_OK;
  runtime_recording state = calls->recording(device->queue, device->stream);
  if (state == RUNTIME_NOT_RECORDING) return CONVOY_OK;
  bool known = device->memory.allocator.allocate && captured_has_come(device, command->job);
  reply->recording = known ? CVY_RECORDING_KNOWN : CVY_RECORDING_NEW;
  if (state == RUNTIME_RECORDING_BROKEN) reply->recording = CVY_RECORDING_BROKEN;
  return CONVOY_OK;
}

/* It happens on a faulted device, too, or the memory would be lost. Whoever gets the memory next
 * comes later in the queue. An array that is not there went with a worker before this one. */
static void let_go(cvy_device *device, array_entry *entry) {
  prepacked_forget(device, entry);
  arena_piece *gone = array_let_go(entry);
  if (gone) {
    memory_give(device, gone);
    device->memory.arrays.own--;
  }
  arrays_remove(&device->memory.arrays, entry->id);
}

static convoy_status release(cvy_device *device, const cvy_command *command) {
  array_entry *entry = arrays_find(&device->memory.arrays, command->release.array);
  if (entry) let_go(device, entry);
  return CONVOY_OK;
}

static runtime_place start_of(const array_entry *entry) {
  return (runtime_place){entry->piece->memory, (size_t)entry->piece->at};
}

static convoy_status copy(cvy_device *device, const cvy_command *command) {
  uint64_t from = command->copy.from, to = command->copy.to;
  int64_t bytes = command->copy.bytes;
  array_entry *source, *target;
  convoy_status status = find_array(device, from, bytes, &source);
  if (!status) status = find_array(device, to, bytes, &target);
  if (status || bytes == 0 || from == to) return status;
  prepacked_forget(device, target);
  const runtime *calls = device->runtime;
  int32_t code = calls->copy(device->queue, start_of(source), start_of(target), (size_t)bytes);
  return code ? calls->fail(code, "copying a device array") : CONVOY_OK;
}

convoy_status fill_zero(cvy_device *device, span at, int64_t bytes) {
  if (bytes == 0) return CONVOY_OK;
  capture_invalidate(device);
  runtime_place place = {at.memory, (size_t)at.at * sizeof(float)};
  int32_t code = device->runtime->zero(device->queue, place, (size_t)bytes);
  return code ? device->runtime->fail(code, "zeroing a device array") : CONVOY_OK;
}

static convoy_status zero(cvy_device *device, const cvy_command *command) {
  array_entry *entry = NULL;
  convoy_status status = find_array(device, command->zero.array, command->zero.bytes, &entry);
  if (status) return status;
  prepacked_forget(device, entry);
  return fill_zero(device, span_of(entry->piece, ORIGIN_NONE), command->zero.bytes);
}

/* An event is asked again and again, so that the caller can be interrupted; a driver's own wait
 * cannot. */
static convoy_status drain_interruptible(cvy_device *device, const volatile int *interrupt) {
  const runtime *calls = device->runtime;
  runtime_event *marker;
  int32_t code = calls->marker(device->queue, &marker), state = 1;
  if (code) return command_drained(device, code, "waiting for the device");
  flush_all(device);
  while (!code && state > 0 && !*interrupt) {
    code = calls->event_state(device->queue, marker, &state);
    if (state > 0) nanosleep(&(struct timespec){0, 20000}, NULL);
  }
  calls->event_release(device->queue, marker);
  if (!code && state > 0)
    return cvy_fail(CONVOY_ERR_INTERRUPTED, "interrupted while waiting for the device");
  if (!code) code = state;
  return command_drained(device, code, "waiting for the device");
}

static convoy_status drain(cvy_device *device, uint64_t ticket, const volatile int *interrupt) {
  if (interrupt) return drain_interruptible(device, interrupt);
  convoy_status status = completion_wait(device, ticket);
  if (status || device->tickets.finished >= ticket) return status;
  return command_drained(device, device->runtime->finish(device->queue), "waiting for the device");
}

/* Who hears of a fault uses the host memory of transfers for others: what was enqueued is over
 * then, whatever became of it. A transfer whose event could not be recorded has none. */
static void end_transfers(cvy_device *device) {
  device->runtime->finish(device->queue);
  completion_drop(device);
}

convoy_status engine_wait(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                          uint64_t *fault) {
  if (device->fault.ticket == 0 && ticket > device->tickets.finished) {
    convoy_status status = drain(device, ticket, interrupt);
    if (status == CONVOY_ERR_INTERRUPTED) return status;
  }
  if (device->fault.ticket) end_transfers(device);
  if (device->fault.ticket == 0 || device->fault.ticket > ticket) return CONVOY_OK;
  if (fault) *fault = device->fault.ticket;
  return fault_check(device);
}

static void forget_all(cvy_device *device) {
  array_map *arrays = &device->memory.arrays;
  plans_close(device);
  for (size_t i = 0; i < ARRAY_BUCKETS; i++)
    while (arrays->bucket[i]) let_go(device, arrays->bucket[i]);
}

/* Arrays outlive a fault. Prepacked operands do not, as some may never have been made. */
static convoy_status clear(cvy_device *device, const cvy_command *command) {
  completion_drop(device);
  prepacked_forget_all(device);
  plans_forget_packed(device);
  int32_t code = device->runtime->finish(device->queue);
  if (code) return device->runtime->fail(code, "the device is gone for good");
  fault_clear(device);
  tickets_finish_all(device);
  if (command->clear.empties) forget_all(device);
  return CONVOY_OK;
}

/* ----------------------------------------------------------------------------------- by kind */

typedef convoy_status act_fn(cvy_device *device, const cvy_command *command);
static act_fn *const acts[CVY_COMMANDS] = {
    [CVY_CLEAR] = clear,
    [CVY_ALLOCATE] = allocate,
    [CVY_RELEASE] = release,
    [CVY_WRITE] = engine_write,
    [CVY_READ] = engine_read,
    [CVY_COPY] = copy,
    [CVY_ZERO] = zero,
    [CVY_RUN] = engine_run,
    [CVY_BUILD] = engine_build,
    [CVY_PREPARE] = engine_prepare,
    [CVY_ADOPT] = adopt,
    [CVY_USE_STREAM] = use_stream,
    [CVY_USE_ALLOCATOR] = engine_use_allocator,
    [CVY_PART_OF] = part,
    [CVY_PLAN_JOB] = engine_plan_job,
    [CVY_PLAN_COPY] = engine_plan_copy,
    [CVY_PLAN_BIND] = engine_plan_bind,
    [CVY_PLAN_TAP] = engine_plan_tap,
    [CVY_PLAN_RUN] = engine_plan_run,
    [CVY_PLAN_DROP] = engine_plan_drop,
};

typedef convoy_status answer_fn(cvy_device *device, const cvy_command *command, cvy_reply *reply);
static answer_fn *const answers[CVY_COMMANDS] = {
    [CVY_PEAK] = engine_peak,
    [CVY_LEND] = engine_lend,
    [CVY_RECORDING] = recording,
};

/* A command with a ticket is counted, and refused while the device is faulted; what it fails with
 * is the fault. */
static convoy_status act_counted(cvy_device *device, const cvy_command *command, uint64_t *ticket) {
  device->tickets.issued++;
  convoy_status status = fault_check(device);
  if (!status) {
    status = acts[command->kind](device, command);
    if (status) fault_record(device, device->tickets.issued, status);
  }
  if (ticket) *ticket = device->tickets.issued;
  return status;
}

convoy_status engine_execute(cvy_device *device, const cvy_command *command, cvy_reply *reply,
                             uint64_t *ticket) {
  uint32_t kind = command->kind;
  if (kind >= CVY_COMMANDS || (!acts[kind] && !answers[kind]))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "command %u is none of the engine's", kind);
  if (answers[kind]) return answers[kind](device, command, reply);
  return cvy_command_has_ticket(kind) ? act_counted(device, command, ticket)
                                      : acts[kind](device, command);
}
