/* Plans go through the ring step by step, and are then carried out by one command. */
#include "worker/lane_plans.h"

#include <string.h>

#include "worker/lane_device.h"

convoy_status cvy_lane_plan_job(cvy_device *device, uint64_t plan, const cvy_job *job) {
  cvy_command command;
  cvy_wire_begin_job(CVY_WIRE_PLAN_JOB, job, &command);
  command.id = plan;
  return cvy_channel_post(&device->channel, &command, NULL);
}

convoy_status cvy_lane_plan_copy(cvy_device *device, uint64_t plan, cvy_operand from,
                                 cvy_operand to, int64_t bytes) {
  cvy_command command;
  cvy_wire_begin(&command, CVY_WIRE_PLAN_COPY);
  command.id = plan;
  command.offset = (int64_t)from.id;
  command.to = to.id;
  command.bytes = bytes;
  return cvy_channel_post(&device->channel, &command, NULL);
}

convoy_status cvy_lane_plan_bind(cvy_device *device, uint64_t plan, int32_t first, int32_t count,
                                 const cvy_base *to) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < count && !status; i += CVY_WIRE_BINDINGS) {
    cvy_command command;
    cvy_wire_begin(&command, CVY_WIRE_PLAN_BIND);
    command.id = plan;
    command.index = first + i;
    command.count = count - i < CVY_WIRE_BINDINGS ? count - i : CVY_WIRE_BINDINGS;
    memcpy(command.bindings, to + i, (size_t)command.count * sizeof *to);
    status = cvy_channel_post(&device->channel, &command, NULL);
  }
  return status;
}

convoy_status cvy_lane_plan_tap(cvy_device *device, uint64_t plan, int32_t step, uint64_t to,
                                int32_t count, const cvy_tap *taps) {
  cvy_command command;
  cvy_wire_begin(&command, CVY_WIRE_PLAN_TAP);
  command.id = plan;
  command.index = step;
  command.to = to;
  command.count = count;
  memcpy(command.taps, taps, (size_t)count * sizeof *taps);
  return cvy_channel_post(&device->channel, &command, NULL);
}

convoy_status cvy_lane_plan_run(cvy_device *device, uint64_t plan, uint64_t run, uint64_t *ticket) {
  cvy_command command;
  cvy_wire_begin(&command, CVY_WIRE_PLAN_RUN);
  command.id = plan;
  command.to = run;
  return cvy_channel_post(&device->channel, &command, ticket);
}

convoy_status cvy_lane_plan_drop(cvy_device *device, uint64_t plan) {
  cvy_command command;
  cvy_wire_begin(&command, CVY_WIRE_PLAN_DROP);
  command.id = plan;
  return cvy_channel_post(&device->channel, &command, NULL);
}

/* Of the fault that is known, or of a worker that is gone. */
int32_t cvy_lane_plan_step(const cvy_device *device, uint64_t ticket) {
  (void)ticket;
  const cvy_channel *channel = &device->channel;
  if (channel->lost) return channel->step;
  return atomic_load(&channel->wire->fault) ? channel->wire->fault_step : -1;
}
