/* What a worker is asked to compile ahead, and how a lane looks after one that is behind. */
#include "worker/lane_behind.h"

/* Memory of somebody else's, that only a worker in this process can reach, is not given up. */
static bool has_only_its_own(const cvy_device *device) {
  return device->channel.peer.kind == CVY_PEER_PROCESS ||
         device->facts.runtime == CVY_RUNTIME_OPENCL;
}

void cvy_lane_behind_begin(cvy_device *device) {
  cvy_channel *channel = &device->channel;
  channel->spent = device->options.spent;
  channel->may_be_behind = has_only_its_own(device);
  cvy_text_copy(channel->notice.device, sizeof channel->notice.device, device->facts.info.id);
  memset(device->asked, 0, sizeof device->asked);
}

void cvy_lane_prepare(cvy_device *device, const cvy_job *job) {
  cvy_channel *channel = &device->channel;
  cvy_command command;
  uint64_t hash = cvy_hash(0, job, cvy_job_size(job));
  uint64_t *place = &device->asked[hash % CVY_ASKED];
  if (*place == hash) return;
  cvy_wire_begin_job(CVY_WIRE_PREPARE, job, &command);
  if (!cvy_channel_put(channel, &command)) return;
  *place = hash;
  channel->notice.asked++;
}

/* The command that the worker has not done with yet. */
static void job_at(const cvy_channel *channel, cvy_job *out) {
  uint64_t number = atomic_load(&channel->wire->taken) + 1;
  cvy_command command = {.kind = CVY_WIRE_KINDS};
  out->algorithm = -1;
  if (number > channel->posted) return;
  cvy_wire_copy_command(&command, &channel->wire->slots[number % CVY_WIRE_SLOTS]);
  bool has_job = command.kind == CVY_WIRE_RUN || command.kind == CVY_WIRE_PREPARE;
  if (has_job) memcpy(out, &command.job, cvy_job_size(&command.job));
}

cvy_behind cvy_lane_behind(cvy_device *device, cvy_job *at) {
  cvy_channel *channel = &device->channel;
  if (at) at->algorithm = -1;
  if (at && channel->behind) job_at(channel, at);
  return cvy_channel_behind(channel);
}
