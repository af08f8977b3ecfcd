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

/* Where a hash is, or is to be. */
static uint64_t *place_of(uint64_t asked[], uint64_t hash) {
  uint64_t *place = &asked[hash % CVY_ASKED];
  for (uint64_t i = 0; i < CVY_ASKED_PLACES; i++) {
    place = &asked[(hash + i) % CVY_ASKED];
    if (*place == hash || !*place) return place;
  }
  return place;
}

/* What is to be launched, and was to be compiled before, is no further program. Who asks looks
 * after one that is behind, too. */
void cvy_lane_prepare(cvy_device *device, const cvy_command *command) {
  cvy_channel *channel = &device->channel;
  cvy_command told = *command;
  bool launches = command->prepare.launches;
  uint64_t hash = cvy_hash(0, command->job, cvy_job_size(command->job)), own = hash + launches;
  uint64_t *place = place_of(device->asked, own);
  cvy_channel_behind(channel);
  if (*place == own) return;
  told.prepare.counts = !launches || *place_of(device->asked, hash) != hash;
  if (!cvy_channel_put(channel, &told)) return;
  *place = own;
  channel->notice.asked += (uint64_t)told.prepare.counts;
}

static int32_t rows_of(const cvy_algorithm *const *table) {
  int32_t rows = 0;
  while (table[rows]) rows++;
  return rows;
}

/* What a run was at that failed while somebody waited for it, its results tell. The worker may have
 * written over its ring. */
static bool tells(const cvy_channel *channel, const cvy_command *command) {
  bool is_it = command->kind == CVY_PREPARE || (command->kind == CVY_RUN && channel->behind);
  return is_it && !cvy_wire_check_command(command, rows_of(cvy_ocl_algorithms));
}

/* Of the command that the worker has not done with. */
static void job_at(const cvy_channel *channel, cvy_job *out) {
  cvy_wire_slot slot;
  out->algorithm = -1;
  if (!channel->wire || !channel->lost) return;
  uint64_t number = atomic_load(&channel->wire->taken) + 1;
  if (number > channel->posted) return;
  cvy_wire_get_command(&channel->wire->slots[number % CVY_WIRE_SLOTS], &slot);
  if (tells(channel, &slot.command)) memcpy(out, &slot.with.job, cvy_job_size(&slot.with.job));
}

cvy_behind cvy_lane_behind(cvy_device *device, cvy_job *at) {
  if (at) job_at(&device->channel, at);
  return cvy_channel_behind(&device->channel);
}
