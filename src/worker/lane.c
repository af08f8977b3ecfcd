/* The lane: a backend like any other, that forwards every call to the OpenCL engine on the other
 * side of a command ring. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "worker/abandoned.h"
#include "worker/lane_behind.h"
#include "worker/lane_memory.h"
#include "worker/zero_copy.h"

/* Of the deadline for compiling: as long a process may wait for another one's compiler, which may
 * hang. */
#define WAIT_SHARE 0.3

/* ----------------------------------------------------------------------- fresh workers */

/* Whether another one may be started now: neither a driver that fails at once nor one that hangs
 * for minutes may turn a run into a row of restarts. */
static convoy_status may_restart(cvy_fresh_workers *recent, const cvy_deadlines *deadlines,
                                 const double *budget) {
  double now = cvy_os.clock();
  if (now - recent->window > CVY_RESTART_SECONDS) *recent = (cvy_fresh_workers){now, 0};
  if (budget && *budget <= 0)
    return cvy_fail(CONVOY_ERR_DEADLINE, "no time is left in this call for a fresh worker");
  if (recent->count >= deadlines->restarts)
    return cvy_fail(CONVOY_ERR_DEADLINE, "%d fresh workers within %.0f s are enough",
                    (int)recent->count, CVY_RESTART_SECONDS);
  recent->count++;
  return CONVOY_OK;
}

/* Whether to list or open once more, with a fresh worker: what befell the first may be an accident,
 * and without its answer the device is not used for the rest of the run. */
static bool try_again(const cvy_channel *channel, cvy_fresh_workers *recent,
                      const cvy_deadlines *deadlines, const double *budget) {
  char why[256];
  if (!channel->by_accident) return false;
  cvy_text_copy(why, sizeof why, cvy_last_error());
  bool may = may_restart(recent, deadlines, budget) == CONVOY_OK;
  if (may) cvy_log(CONVOY_LOG_WARNING, "%s; another worker is started", why);
  cvy_fail(CONVOY_ERR_DEVICE, "%s", why);
  return may;
}

/* ------------------------------------------------------------------- list, open, close */

static convoy_status ask_list(cvy_channel *channel, const cvy_open_options *options,
                              cvy_deadlines *deadlines, cvy_facts *out, int32_t capacity,
                              int32_t *count) {
  cvy_wire_reply reply;
  const cvy_command command = {CVY_LIST, .options = options};
  convoy_status status =
      cvy_channel_open(channel, options->isolation, deadlines, options->budget, 0);
  if (status) return status;
  status = cvy_channel_ask(channel, &command, NULL, &reply);
  if (!status) *count = reply.devices;
  for (int32_t i = 0; i < *count && i < capacity; i++)
    cvy_wire_get_facts(channel->wire, i, &out[i]);
  cvy_channel_close(channel);
  return status;
}

static convoy_status list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count) {
  cvy_channel channel;
  cvy_deadlines deadlines;
  cvy_fresh_workers recent = {0};
  *count = 0;
  convoy_status status = cvy_deadlines_parse(cvy_env("CONVOY_DEADLINE"), &deadlines);
  if (status) return status;
  status = ask_list(&channel, options, &deadlines, out, capacity, count);
  if (status && try_again(&channel, &recent, &deadlines, options->budget))
    status = ask_list(&channel, options, &deadlines, out, capacity, count);
  return status;
}

/* Of its devices' ids: what the engine reaches them through. */
static const char *const kinds[] = {"ocl", "hip", "cuda", NULL};

static convoy_status check(void) {
  uint32_t runtimes;
  cvy_deadlines deadlines;
  convoy_status status =
      cvy_env_list("CONVOY_RUNTIMES", cvy_env("CONVOY_RUNTIMES"), kinds, CVY_RUNTIMES, &runtimes);
  return status ? status : cvy_deadlines_parse(cvy_env("CONVOY_DEADLINE"), &deadlines);
}

static convoy_status ask_open(cvy_device *device, cvy_facts *facts) {
  cvy_wire_reply reply;
  cvy_open_options options = device->options;
  const cvy_command command = {CVY_OPEN, .open = {device->index}, .options = &options};
  options.dispatch = device->deadlines.dispatch;
  options.build_wait = WAIT_SHARE * cvy_deadline(&device->deadlines, CVY_DEADLINE_COMPILE, false);
  convoy_status status = cvy_channel_ask(&device->channel, &command, NULL, &reply);
  if (!status) cvy_wire_get_facts(device->channel.wire, 0, facts);
  return status;
}

/* The worker, where there is one. */
static void tell_marker(const cvy_device *device) {
  cvy_wire *wire = device->channel.wire;
  if (wire) cvy_text_copy(wire->marker, sizeof wire->marker, device->marker);
}

/* Starts a worker and opens the device in it. */
static convoy_status start(cvy_device *device, double *budget, uint64_t begin, cvy_facts *facts) {
  cvy_channel *channel = &device->channel;
  convoy_status status =
      cvy_channel_open(channel, device->options.isolation, &device->deadlines, budget, begin);
  if (status) return status;
  status = ask_open(device, facts);
  if (status) cvy_channel_close(channel);
  tell_marker(device);
  channel->on_processor = !status && facts->info.type == CONVOY_DEVICE_CPU;
  if (!status) cvy_lane_behind_begin(device);
  return status;
}

static convoy_status begin(cvy_device *device) {
  double *const budget = device->options.budget;
  convoy_status status = start(device, budget, 0, &device->facts);
  if (status && try_again(&device->channel, &device->recent, &device->deadlines, budget))
    status = start(device, budget, 0, &device->facts);
  return status;
}

static convoy_status open_device(int32_t index, const cvy_open_options *options, cvy_device **out) {
  cvy_device *device = calloc(1, sizeof *device);
  if (!device) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for a lane");
  device->index = index;
  device->options = *options;
  convoy_status status = cvy_deadlines_parse(cvy_env("CONVOY_DEADLINE"), &device->deadlines);
  if (!status) status = cvy_staging_check();
  if (!status) status = begin(device);
  if (status)
    free(device);
  else
    *out = device;
  return status;
}

/* What belongs to the worker, which has ended or is about to. */
static void end_worker(cvy_device *device) {
  cvy_lane_orphan(&device->channel);
  cvy_channel_close(&device->channel);
  cvy_staging_drop(&device->staging);
  cvy_staging_drop(&device->fetches);
}

static void close_device(cvy_device *device) {
  end_worker(device);
  free(device);
}

static void mark(cvy_device *device, const char *file) {
  cvy_text_copy(device->marker, sizeof device->marker, file);
  tell_marker(device);
}

static const cvy_facts *facts(const cvy_device *device) {
  return &device->facts;
}

/* ------------------------------------------------------------------------------ recovery */

static bool is_same(const cvy_facts *a, const cvy_facts *b) {
  return strcmp(a->info.name, b->info.name) == 0 && strcmp(a->info.platform, b->info.platform) == 0;
}

/* Keeps the lane unusable: `status` is what its calls say from now on. */
static void stay_lost(cvy_device *device, convoy_status status, uint64_t posted) {
  cvy_channel *channel = &device->channel;
  channel->lost = channel->ended = true;
  channel->lost_status = status;
  channel->posted = channel->completed = posted;
  cvy_text_copy(channel->why, sizeof channel->why, cvy_last_error());
}

static convoy_status restart(cvy_device *device) {
  cvy_facts facts;
  double *const budget = device->options.budget;
  double most = budget ? fmin(*budget, CVY_AFTER_FAULT_SECONDS) : CVY_AFTER_FAULT_SECONDS;
  double left = most;
  uint64_t posted = device->channel.posted;
  convoy_status status = may_restart(&device->recent, &device->deadlines, budget);
  if (status) return status;
  end_worker(device);
  status = start(device, &left, posted, &facts);
  if (!status && !is_same(&facts, &device->facts)) {
    cvy_channel_close(&device->channel);
    status = cvy_fail(CONVOY_ERR_DEVICE, "device %d is another one now: %s", (int)device->index,
                      facts.info.name);
  } else if (status && status != CONVOY_ERR_NOT_FOUND && status != CONVOY_ERR_UNSUPPORTED) {
    char why[256];
    cvy_text_copy(why, sizeof why, cvy_last_error());
    status = cvy_fail(CONVOY_ERR_DEADLINE, "%s", why); /* it may have come round by a later call */
  }
  if (status) stay_lost(device, status, posted);
  device->channel.budget = budget;
  if (budget) *budget -= most - left;
  if (status && status != CONVOY_ERR_DEADLINE) return CONVOY_ERR_DEVICE;
  return status;
}

static convoy_status clear(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  cvy_channel *channel = &device->channel;
  cvy_wire_reply unread;
  const cvy_command told = {CVY_CLEAR, .clear = {channel->behind}};
  (void)command;
  *reply = (cvy_reply){.emptied = channel->behind};
  if (channel->behind) cvy_channel_catch_up(channel);
  if (channel->behind) return cvy_fail(CONVOY_ERR_DEADLINE, "%s", channel->why);
  if (!channel->lost && !cvy_channel_ask(channel, &told, NULL, &unread)) return CONVOY_OK;
  /* A device that cannot even be cleared needs a fresh process. */
  cvy_channel_lose(channel, CONVOY_ERR_DEVICE, cvy_last_error());
  reply->emptied = true;
  return restart(device);
}

/* --------------------------------------------------------------------------- commands */

static convoy_status ask(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  cvy_wire_reply got;
  convoy_status status =
      cvy_channel_ask(&device->channel, command, device->options.interrupt, &got);
  if (status) got.answer = (cvy_reply){0};
  if (reply) *reply = got.answer;
  return status;
}

/* Addresses and streams are those of one process, and of CUDA or HIP. */
static convoy_status shares_process(const cvy_device *device) {
  const char *id = device->facts.info.id;
  if (device->facts.runtime == CVY_RUNTIME_OPENCL)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                    "%s is reached through OpenCL, which knows no addresses of CUDA or HIP; open "
                    "the card as cuda:N or hip:N",
                    id);
  if (device->channel.peer.kind == CVY_PEER_PROCESS)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                    "%s is in a worker process, which has other addresses; open it with isolation "
                    "caller or none",
                    id);
  return CONVOY_OK;
}

static convoy_status use_stream(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  convoy_status status = shares_process(device);
  return status ? status : ask(device, command, reply);
}

static convoy_status use_allocator(cvy_device *device, const cvy_command *command,
                                   cvy_reply *reply) {
  convoy_status status = shares_process(device);
  if (status) return status;
  if (device->channel.peer.kind == CVY_PEER_CALLER) return ask(device, command, reply);
  return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                  "%s has a thread of its own, on which an allocator cannot be called; open it "
                  "with isolation caller",
                  device->facts.info.id);
}

/* As many at a time as a slot of the ring holds. */
static convoy_status bind(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  cvy_command some = *command;
  convoy_status status = CONVOY_OK;
  int32_t left = command->plan_bind.count;
  (void)reply;
  for (; left > 0 && !status; left -= some.plan_bind.count) {
    some.plan_bind.count = left < CVY_WIRE_BASES ? left : CVY_WIRE_BASES;
    status = cvy_channel_post(&device->channel, &some, NULL);
    some.plan_bind.first += some.plan_bind.count;
    some.bases += some.plan_bind.count;
  }
  return status;
}

static convoy_status prepare(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  (void)reply;
  cvy_lane_prepare(device, command);
  return CONVOY_OK;
}

/* What is more than to post a command, or to ask for its answer. */
typedef convoy_status special(cvy_device *device, const cvy_command *command, cvy_reply *reply);
static special *const specials[CVY_COMMANDS] = {
    [CVY_CLEAR] = clear,           [CVY_PREPARE] = prepare,
    [CVY_USE_STREAM] = use_stream, [CVY_USE_ALLOCATOR] = use_allocator,
    [CVY_PLAN_BIND] = bind,
};

static convoy_status execute(cvy_device *device, const cvy_command *command, cvy_reply *reply,
                             uint64_t *ticket) {
  uint32_t kind = command->kind;
  if (specials[kind]) return specials[kind](device, command, reply);
  if (cvy_wire_rows[kind].flags & CVY_WIRE_REPLIES) return ask(device, command, reply);
  convoy_status status = kind == CVY_ADOPT ? shares_process(device) : CONVOY_OK;
  if (status) return status;
  if (!cvy_command_has_ticket(kind)) ticket = NULL;
  return cvy_channel_post(&device->channel, command, ticket);
}

static convoy_status begun(cvy_device *device, uint64_t ticket, const volatile int *interrupt) {
  convoy_status status = cvy_channel_taken(&device->channel, ticket, interrupt);
  return status ? status : cvy_channel_fault(&device->channel, ticket, NULL);
}

static convoy_status wait_for(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                              uint64_t *fault) {
  return cvy_channel_wait(&device->channel, ticket, interrupt, fault);
}

/* Of the fault that is known, or of a worker that is gone. */
static int32_t plan_step(const cvy_device *device, uint64_t ticket) {
  (void)ticket;
  const cvy_channel *channel = &device->channel;
  if (channel->lost) return channel->step;
  return atomic_load(&channel->wire->fault) ? channel->wire->fault_step : -1;
}

/* -------------------------------------------------------------------------- transfers */

static convoy_status write_array(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                                 uint64_t *ticket) {
  cvy_channel *channel = &device->channel;
  const cvy_mapped_part span = cvy_zero_copy_source(channel, from, bytes);
  uint64_t number = 0;
  convoy_status status =
      span.bytes > 0 ? cvy_zero_copy_write(channel, id, &span, &number)
                     : cvy_staging_write(&device->staging, channel, id, from, bytes, &number);
  if (ticket) *ticket = number;
  return status;
}

static convoy_status pack(cvy_device *device, uint64_t id, int32_t count, const cvy_packed *parts,
                          int64_t bytes, uint64_t *ticket) {
  return cvy_staging_pack(&device->staging, &device->channel, id, count, parts, bytes, ticket);
}

/* Through staging goes all that the worker has not mapped: a late answer of a worker that was lost
 * must not land in memory that somebody else sees. */
static convoy_status read_array(cvy_device *device, uint64_t id, void *to, int64_t bytes) {
  cvy_channel *channel = &device->channel;
  const cvy_mapped_part span = cvy_zero_copy_target(channel, to, bytes);
  int64_t before = span.memory - (char *)to, after = before + span.bytes;
  convoy_status status = cvy_zero_copy_read(channel, id, before, &span);
  if (!status) status = cvy_staging_read(&device->staging, channel, id, 0, to, before);
  if (status) return status;
  return cvy_staging_read(&device->staging, channel, id, after, (char *)to + after, bytes - after);
}

static convoy_status fetch(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  return cvy_staging_fetch(&device->fetches, &device->channel, id, bytes, ticket);
}

static bool fetched(const cvy_device *device, uint64_t ticket) {
  const cvy_channel *channel = &device->channel;
  return channel->lost || atomic_load(&channel->wire->completed) >= ticket;
}

static convoy_status collect(cvy_device *device, uint64_t ticket, void *to, int64_t bytes) {
  return cvy_staging_collect(&device->fetches, &device->channel, ticket, to, bytes);
}

static void *host_alloc(cvy_device *device, size_t bytes) {
  return cvy_lane_alloc(&device->channel, bytes);
}

static void host_free(cvy_device *device, void *memory) {
  (void)device;
  cvy_lane_free(memory);
}

static void usage(const cvy_device *device, cvy_usage *out) {
  int64_t workers, retired;
  *out = (cvy_usage){0};
  cvy_abandoned_count(&workers, &retired);
  if (device && device->channel.wire) {
    const cvy_channel *channel = &device->channel;
    cvy_wire_get_usage(channel->wire, out);
    out->process = channel->ended ? 0 : (uint32_t)channel->peer.process.pid;
    out->host_bytes += (int64_t)sizeof(cvy_wire) + cvy_lane_bytes(channel) +
                       (int64_t)device->staging.block.shared.bytes +
                       (int64_t)device->fetches.block.shared.bytes;
  }
  out->retired_bytes = retired;
  out->workers_abandoned = workers;
}

const cvy_backend cvy_backend_ocl = {
    .name = "ocl",
    .kinds = kinds + 1,
    .host_memory = false,
    .algorithms = cvy_ocl_algorithms,
    .commands = UINT64_MAX,
    .check = check,
    .list = list,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .execute = execute,
    .write = write_array,
    .pack = pack,
    .read = read_array,
    .fetch = fetch,
    .fetched = fetched,
    .collect = collect,
    .plan_step = plan_step,
    .behind = cvy_lane_behind,
    .begun = begun,
    .wait = wait_for,
    .mark = mark,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .usage = usage,
};
