/* The lane: a backend like any other, that forwards every call to the OpenCL engine on the other
 * side of a command ring. */
#include <stdlib.h>

#include "worker/lane_memory.h"
#include "worker/staging.h"

struct cvy_device {
  cvy_channel channel;
  cvy_staging staging;
  cvy_facts facts;
};

/* ------------------------------------------------------------------- list, open, close */

static convoy_status list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count) {
  cvy_channel channel;
  cvy_wire_reply reply;
  cvy_command command = {.kind = CVY_WIRE_LIST, .options = *options};
  *count = 0;
  convoy_status status = cvy_channel_open(&channel, options->isolation);
  if (status) return status;
  status = cvy_channel_ask(&channel, &command, &reply);
  cvy_channel_close(&channel);
  if (status) return status;
  *count = reply.count;
  for (int32_t i = 0; i < reply.count && i < capacity; ++i) out[i] = reply.facts[i];
  return CONVOY_OK;
}

static convoy_status ask_open(cvy_device *device, int32_t index, const cvy_open_options *options) {
  cvy_wire_reply reply;
  cvy_command command = {.kind = CVY_WIRE_OPEN, .index = index, .options = *options};
  convoy_status status = cvy_channel_ask(&device->channel, &command, &reply);
  if (!status) device->facts = reply.facts[0];
  return status;
}

static convoy_status open_device(int32_t index, const cvy_open_options *options, cvy_device **out) {
  cvy_device *device = calloc(1, sizeof *device);
  if (!device) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for a lane");
  convoy_status status = cvy_channel_open(&device->channel, options->isolation);
  if (!status) {
    status = ask_open(device, index, options);
    if (status) cvy_channel_close(&device->channel);
  }
  if (status)
    free(device);
  else
    *out = device;
  return status;
}

static void close_device(cvy_device *device) {
  cvy_channel_close(&device->channel);
  cvy_staging_drop(&device->staging);
  cvy_lane_orphan(&device->channel);
  free(device);
}

static const cvy_facts *facts(const cvy_device *device) {
  return &device->facts;
}

/* --------------------------------------------------------------------------- commands */

static convoy_status allocate(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  cvy_command command = {.kind = CVY_WIRE_ALLOCATE, .id = id, .bytes = bytes};
  return cvy_channel_post(&device->channel, &command, ticket);
}

static convoy_status release(cvy_device *device, uint64_t id) {
  cvy_command command = {.kind = CVY_WIRE_RELEASE, .id = id};
  return cvy_channel_post(&device->channel, &command, NULL);
}

static convoy_status copy(cvy_device *device, uint64_t from, uint64_t to, int64_t bytes,
                          uint64_t *ticket) {
  cvy_command command = {.kind = CVY_WIRE_COPY, .id = from, .to = to, .bytes = bytes};
  return cvy_channel_post(&device->channel, &command, ticket);
}

static convoy_status zero(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  cvy_command command = {.kind = CVY_WIRE_ZERO, .id = id, .bytes = bytes};
  return cvy_channel_post(&device->channel, &command, ticket);
}

static convoy_status run(cvy_device *device, const cvy_job *job, uint64_t *ticket) {
  cvy_command command = {.kind = CVY_WIRE_RUN, .job = *job};
  return cvy_channel_post(&device->channel, &command, ticket);
}

static convoy_status wait_for(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                              uint64_t *fault) {
  return cvy_channel_wait(&device->channel, ticket, interrupt, fault);
}

static convoy_status clear(cvy_device *device) {
  cvy_wire_reply reply;
  cvy_command command = {.kind = CVY_WIRE_CLEAR};
  return cvy_channel_ask(&device->channel, &command, &reply);
}

static convoy_status peak(cvy_device *device, double *gflops, double *gigabytes) {
  cvy_wire_reply reply;
  cvy_command command = {.kind = CVY_WIRE_PEAK};
  convoy_status status = cvy_channel_ask(&device->channel, &command, &reply);
  if (status) return status;
  *gflops = reply.gflops;
  *gigabytes = reply.gigabytes;
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------- transfers */

/* Between an array and memory of cvy_lane_alloc, without a copy. The caller's memory is in use until
 * the engine has been handed the command. */
static convoy_status transfer(cvy_device *device, cvy_command *command, uint64_t *ticket) {
  convoy_status status = cvy_channel_post(&device->channel, command, ticket);
  return status ? status : cvy_channel_taken(&device->channel, *ticket);
}

static convoy_status write_array(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                                 uint64_t *ticket) {
  uint64_t number = 0;
  cvy_command command = {.kind = CVY_WIRE_WRITE, .id = id, .bytes = bytes};
  convoy_status status =
      cvy_lane_find(&device->channel, from, bytes, &command.block, &command.block_offset)
          ? transfer(device, &command, &number)
          : cvy_staging_write(&device->staging, &device->channel, id, from, bytes, &number);
  if (ticket) *ticket = number;
  return status;
}

static convoy_status read_array(cvy_device *device, uint64_t id, void *to, int64_t bytes) {
  uint64_t number = 0;
  cvy_command command = {.kind = CVY_WIRE_READ, .id = id, .bytes = bytes};
  if (!cvy_lane_find(&device->channel, to, bytes, &command.block, &command.block_offset))
    return cvy_staging_read(&device->staging, &device->channel, id, to, bytes);
  convoy_status status = transfer(device, &command, &number);
  return status ? status : cvy_channel_fault(&device->channel, number, NULL);
}

static void *host_alloc(cvy_device *device, size_t bytes) {
  return cvy_lane_alloc(&device->channel, bytes);
}

static void host_free(cvy_device *device, void *memory) {
  (void)device;
  cvy_lane_free(memory);
}

static void usage(const cvy_device *device, cvy_usage *out) {
  const cvy_channel *channel = &device->channel;
  *out = (cvy_usage){0};
  cvy_wire_get_usage(channel->wire, out);
  out->process = (uint32_t)channel->peer.process.pid;
  out->host_bytes += (int64_t)sizeof(cvy_wire) + cvy_lane_bytes(channel) +
                     (int64_t)device->staging.block.shared.bytes;
}

const cvy_backend cvy_backend_ocl = {
    .name = "ocl",
    .host_memory = false,
    .algorithms = cvy_ocl_algorithms,
    .list = list,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .allocate = allocate,
    .release = release,
    .write = write_array,
    .read = read_array,
    .copy = copy,
    .zero = zero,
    .run = run,
    .wait = wait_for,
    .clear = clear,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .usage = usage,
    .peak = peak,
};
