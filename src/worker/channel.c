/* The library's side of the ring. While it waits it looks every few milliseconds whether the other
 * side still lives and gets on. One that does not is ended at once: a driver that hung is never
 * used again. */
#include "worker/channel.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "worker/abandoned.h"

#define LEAVE_SECONDS 2.0       /* for a driver to close its device */
#define HUNG_LEAVE_SECONDS 0.05 /* for one that has shown it does not answer */

static bool is_here(const cvy_peer *peer) {
  return peer->kind != CVY_PEER_PROCESS;
}

/* ----------------------------------------------------------------------------- loss */

static convoy_status lost(const cvy_channel *channel) {
  return cvy_fail(channel->lost_status, "%s", channel->why);
}

/* Ends the other side, or finds that it does not end. */
static void end_peer(cvy_channel *channel, double seconds) {
  cvy_peer *peer = &channel->peer;
  atomic_store(&channel->wire->leave, 1);
  cvy_doorbell_ring(&channel->wire->work);
  channel->ended = true;
  channel->left_behind = !cvy_peer_end(peer, channel->wire, seconds, channel->budget);
  if (!channel->left_behind) return;
  cvy_log(CONVOY_LOG_WARNING, "worker %s %d does not end; abandoned",
          is_here(peer) ? "thread of process" : "process",
          is_here(peer) ? cvy_process_id() : peer->process.pid);
}

static convoy_status lose(cvy_channel *channel, convoy_status status, const char *why) {
  cvy_text_copy(channel->why, sizeof channel->why, why);
  channel->lost_status = status;
  channel->by_accident |= status == CONVOY_ERR_IO;
  channel->lost = true;
  channel->completed = atomic_load(&channel->wire->completed);
  if (channel->completed > channel->posted) channel->completed = channel->posted;
  channel->step = atomic_load(&channel->wire->fault) ? channel->wire->fault_step
                                                     : atomic_load(&channel->wire->step);
  end_peer(channel, HUNG_LEAVE_SECONDS);
  return lost(channel);
}

/* The other side was found gone; `how` it went. */
static convoy_status lose_gone(cvy_channel *channel, const char *how) {
  channel->behind = false;
  channel->by_accident = true;
  return lose(channel, CONVOY_ERR_DEVICE, how);
}

void cvy_channel_lose(cvy_channel *channel, convoy_status status, const char *why) {
  if (!channel->lost) lose(channel, status, why);
}

/* -------------------------------------------------------------------------- waiting */

static cvy_progress progress_of(const cvy_channel *channel) {
  const cvy_wire *wire = channel->wire;
  uint64_t completed = atomic_load(&wire->completed), compiles = atomic_load(&wire->compiles);
  uint64_t others = atomic_load(&wire->taken) + atomic_load(&wire->pulse);
  return (cvy_progress){.moved = completed + compiles + others,
                        .compiles = compiles,
                        .phase = cvy_wire_get_phase(wire),
                        .first_run = atomic_load(&wire->first_run) > completed};
}

static cvy_progress_timeout timeout_for(cvy_channel *channel, const char *what) {
  const cvy_peer *peer = &channel->peer;
  cvy_progress_timeout timeout = {.deadlines = channel->deadlines,
                                  .budget = channel->budget,
                                  .spent = channel->spent,
                                  .what = what,
                                  .worker = is_here(peer) ? cvy_process_id() : peer->process.pid,
                                  .worker_is_self = is_here(peer),
                                  .on_processor = channel->on_processor};
  const cvy_progress now = progress_of(channel);
  cvy_progress_timeout_begin(&timeout, &now);
  return timeout;
}

/* The call's time is over, for nobody's fault. What it was given the other side still compiles. */
static convoy_status fall_behind(cvy_channel *channel, convoy_status status, const char *why) {
  cvy_wire *wire = channel->wire;
  cvy_text_copy(channel->why, sizeof channel->why, why);
  channel->lost_status = status;
  channel->lost = channel->behind = true;
  channel->completed = atomic_load(&wire->completed);
  channel->step = -1;
  atomic_store(&wire->void_to, channel->posted);
  atomic_store(&wire->wanted, channel->posted);
  cvy_doorbell_ring(&wire->work);
  channel->watch = timeout_for(channel, "programs to be compiled");
  channel->watch.budget = channel->watch.meter.budget = NULL;
  channel->watch.spent = NULL;
  return lost(channel);
}

/* Whether the other side is gone, or has had its time. */
static convoy_status check_peer(cvy_channel *channel, cvy_progress_timeout *timeout) {
  char why[sizeof channel->why];
  if (cvy_peer_gone(&channel->peer, channel->wire, 0, why, sizeof why))
    return lose_gone(channel, why);
  const cvy_progress now = progress_of(channel);
  const convoy_status status = cvy_progress_timeout_check(timeout, &now);
  if (!status) return CONVOY_OK;
  cvy_text_copy(why, sizeof why, cvy_last_error());
  if (timeout->excused && channel->may_be_behind) return fall_behind(channel, status, why);
  channel->behind = false;
  return lose(channel, status, why);
}

cvy_behind cvy_channel_behind(cvy_channel *channel) {
  if (!channel->behind) return CVY_BEHIND_NOT;
  if (atomic_load(&channel->wire->completed) >= channel->posted) return CVY_BEHIND_DONE;
  cvy_notice_look(&channel->notice, channel->wire);
  return check_peer(channel, &channel->watch) ? CVY_BEHIND_NOT : CVY_BEHIND_STILL;
}

/* A counter of the other side; it can never be ahead of what was posted. */
static convoy_status look(cvy_channel *channel, _Atomic uint64_t *counter, uint64_t *value) {
  *value = atomic_load(counter);
  if (*value <= channel->posted) return CONVOY_OK;
  return lose(channel, CONVOY_ERR_DEVICE, "worker counts commands it was never given");
}

static convoy_status check_interrupt(const volatile int *interrupt) {
  if (!interrupt || !__atomic_load_n(interrupt, __ATOMIC_RELAXED)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "wait was interrupted");
}

/* Waits until `counter` reaches `least`. The order matters: the bell's count first, then what it
 * announces, then whether anybody is left to ring it. */
static convoy_status await(cvy_channel *channel, _Atomic uint64_t *counter, uint64_t least,
                           const volatile int *interrupt, const char *what) {
  uint64_t value;
  if (channel->lost) return lost(channel);
  convoy_status status = look(channel, counter, &value);
  if (status || value >= least) return status;
  cvy_progress_timeout timeout = timeout_for(channel, what);
  for (;;) {
    uint32_t seen = cvy_doorbell_seen(&channel->wire->progress);
    status = look(channel, counter, &value);
    if (!status && value >= least) break;
    if (!status) status = check_interrupt(interrupt);
    if (!status) status = check_peer(channel, &timeout);
    if (status) break;
    cvy_notice_look(&channel->notice, channel->wire);
    cvy_doorbell_wait(&channel->wire->progress, seen, CVY_LOOK_SECONDS);
  }
  cvy_progress_timeout_end(&timeout);
  return status;
}

convoy_status cvy_channel_catch_up(cvy_channel *channel) {
  channel->lost = channel->behind = false;
  return await(channel, &channel->wire->completed, channel->posted, NULL,
               "programs to be compiled");
}

convoy_status cvy_channel_taken(cvy_channel *channel, uint64_t ticket,
                                const volatile int *interrupt) {
  if (channel->lost) return lost(channel);
  atomic_store(&channel->wire->wake_when, ticket);
  return await(channel, &channel->wire->taken, ticket, interrupt, "its turn in the ring");
}

convoy_status cvy_channel_fault(cvy_channel *channel, uint64_t ticket, uint64_t *fault) {
  char sentence[256];
  uint64_t number;
  if (channel->lost) return lost(channel);
  number = atomic_load(&channel->wire->fault);
  if (number == 0 || number > ticket) return CONVOY_OK;
  if (fault) *fault = number;
  convoy_status status = cvy_wire_get_fault(channel->wire, sentence, sizeof sentence);
  return cvy_fail(status, "%s", sentence);
}

convoy_status cvy_channel_wait(cvy_channel *channel, uint64_t ticket, const volatile int *interrupt,
                               uint64_t *fault) {
  cvy_wire *wire = channel->wire;
  if (ticket > channel->posted) ticket = channel->posted; /* there is nothing more to wait for */
  if (channel->lost) {
    if (fault) *fault = channel->completed + 1;
    return lost(channel);
  }
  if (atomic_load(&wire->completed) < ticket) {
    convoy_status stopped = check_interrupt(interrupt);
    if (stopped) return stopped;
    atomic_store(&wire->wanted, ticket);
    cvy_doorbell_ring(&wire->work);
    cvy_peer_step(&channel->peer, interrupt);
  }
  convoy_status status = await(channel, &wire->completed, ticket, interrupt, "results");
  if (channel->lost && fault) *fault = channel->completed + 1;
  return status ? status : cvy_channel_fault(channel, ticket, fault);
}

convoy_status cvy_channel_done(cvy_channel *channel, uint64_t ticket) {
  const convoy_status status = cvy_channel_wait(channel, ticket, NULL, NULL);
  return channel->lost ? status : CONVOY_OK;
}

/* -------------------------------------------------------------------------- posting */

/* Looks at the other side's count only when it must: every look takes the cache line from who
 * writes it. */
static bool is_full(cvy_channel *channel, uint64_t number) {
  if (number - channel->taken <= CVY_WIRE_SLOTS) return false;
  channel->taken = atomic_load(&channel->wire->taken);
  return number - channel->taken > CVY_WIRE_SLOTS;
}

static void put(cvy_channel *channel, const cvy_command *command, uint64_t number) {
  cvy_wire *wire = channel->wire;
  cvy_wire_put_command(&wire->slots[number % CVY_WIRE_SLOTS], command);
  channel->posted = number;
  atomic_store(&wire->posted, number);
  if (channel->behind) atomic_store(&wire->wanted, number);
  cvy_doorbell_ring(&wire->work);
  cvy_peer_step(&channel->peer, NULL);
}

bool cvy_channel_put(cvy_channel *channel, const cvy_command *command) {
  uint64_t number = channel->posted + 1;
  if ((channel->lost && !channel->behind) || is_full(channel, number)) return false;
  put(channel, command, number);
  return true;
}

convoy_status cvy_channel_post(cvy_channel *channel, const cvy_command *command, uint64_t *ticket) {
  uint64_t number = channel->posted + 1;
  if (channel->lost) return lost(channel);
  if (is_full(channel, number)) { /* waking for every slot would take longer than the commands */
    convoy_status status = cvy_channel_taken(channel, number - CVY_WIRE_SLOTS / 2, NULL);
    if (status) return status;
  }
  put(channel, command, number);
  if (ticket) *ticket = number;
  return CONVOY_OK;
}

convoy_status cvy_channel_ask(cvy_channel *channel, const cvy_command *command,
                              const volatile int *interrupt, cvy_wire_reply *reply) {
  uint64_t ticket = 0;
  convoy_status status = cvy_channel_post(channel, command, &ticket);
  if (!status) status = cvy_channel_taken(channel, ticket, interrupt);
  if (status) return status;
  cvy_wire_get_reply(channel->wire, reply);
  status = (convoy_status)reply->status;
  return status ? cvy_fail(status, "%s", reply->sentence) : CONVOY_OK;
}

/* -------------------------------------------------------------------------- opening */

static convoy_status send_hello(cvy_channel *channel) {
  cvy_wire_hello hello = {.frame = {.magic = CVY_WIRE_MAGIC,
                                    .message = CVY_WIRE_HELLO,
                                    .bytes = (int64_t)channel->ring.bytes},
                          .process = cvy_process_id()};
  cvy_text_copy(hello.build_id, sizeof hello.build_id, cvy_build_id);
  convoy_status status = cvy_pass_send(channel->socket, &hello, sizeof hello, channel->ring.fd);
  cvy_shared_close_fd(&channel->ring);
  return status;
}

/* A program that ends at once explains a broken conversation better than the socket does. */
static convoy_status unanswered(cvy_channel *channel, convoy_status status) {
  char how[sizeof channel->why];
  if (!cvy_peer_gone(&channel->peer, channel->wire, 0.1, how, sizeof how)) return status;
  channel->by_accident = true;
  return cvy_fail(CONVOY_ERR_DEVICE, "%s before it answered", how);
}

static convoy_status await_answer(cvy_channel *channel) {
  cvy_progress_timeout timeout = timeout_for(channel, "the worker's greeting");
  while (!cvy_pass_waiting(channel->socket, CVY_LOOK_SECONDS)) {
    cvy_progress now = progress_of(channel);
    now.phase = CVY_PHASE_OPENING;
    const convoy_status status = cvy_progress_timeout_check(&timeout, &now);
    if (status) return status;
  }
  cvy_progress_timeout_end(&timeout);
  return CONVOY_OK;
}

static convoy_status greet(cvy_channel *channel) {
  cvy_wire_hello hello;
  convoy_status status = send_hello(channel);
  if (!status) {
    cvy_peer_answer(&channel->peer);
    status = await_answer(channel);
    if (status) return status;
    status = cvy_pass_receive(channel->socket, &hello, sizeof hello, NULL, 0);
  }
  if (status) return unanswered(channel, status);
  status = cvy_wire_check_hello(&hello, CVY_WIRE_ANSWER);
  if (status) return status;
  if (strcmp(hello.build_id, cvy_build_id) != 0)
    return cvy_fail(CONVOY_ERR_DEVICE, "worker is of build %s, the library of build %s",
                    hello.build_id, cvy_build_id);
  status = (convoy_status)hello.status;
  return status ? cvy_fail(status, "%s", hello.sentence) : CONVOY_OK;
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* The far end is the peer's once it runs: kept open here, its death would go unnoticed. */
static convoy_status start_peer(cvy_channel *channel, int32_t isolation) {
  int pair[2];
  convoy_status status = cvy_pass_pair(pair);
  if (status) return status;
  channel->socket = pair[0];
  status = cvy_peer_start(isolation, &pair[1], &channel->peer);
  close_fd(&pair[1]);
  return status;
}

static void drop(cvy_channel *channel) {
  if (!channel->wire) return; /* it has been dropped before */
  close_fd(&channel->socket);
  if (channel->left_behind)
    cvy_abandon(&channel->peer, &channel->ring, (int64_t)(channel->ring.bytes + channel->mapped));
  else
    cvy_shared_drop(&channel->ring);
  channel->wire = NULL;
}

convoy_status cvy_channel_open(cvy_channel *channel, int32_t isolation, cvy_deadlines *deadlines,
                               double *budget, uint64_t begin) {
  memset(channel, 0, sizeof *channel);
  channel->socket = -1;
  channel->deadlines = deadlines;
  channel->budget = budget;
  convoy_status status = cvy_shared_make(sizeof(cvy_wire), false, &channel->ring);
  if (status) return status;
  channel->wire = channel->ring.memory;
  channel->posted = channel->taken = channel->wire->begin = begin;
  atomic_store(&channel->wire->posted, begin);
  atomic_store(&channel->wire->taken, begin);
  atomic_store(&channel->wire->completed, begin);
  status = start_peer(channel, isolation);
  if (!status) {
    char why[256];
    status = greet(channel);
    if (!status) return CONVOY_OK;
    cvy_text_copy(why, sizeof why, cvy_last_error());
    if (status != CONVOY_ERR_DEADLINE)
      atomic_store(&channel->wire->ended, 1); /* a thread that refused serves nothing */
    lose(channel, status, why);
  }
  drop(channel);
  return status;
}

static double leave_seconds(const cvy_channel *channel) {
  double left = channel->budget ? fmin(*channel->budget, LEAVE_SECONDS) : LEAVE_SECONDS;
  return fmax(left, HUNG_LEAVE_SECONDS);
}

void cvy_channel_close(cvy_channel *channel) {
  if (!channel->ended) end_peer(channel, leave_seconds(channel));
  drop(channel);
}

/* --------------------------------------------------------------------------- blocks */

static convoy_status free_number(const cvy_channel *channel, uint32_t *number) {
  for (uint32_t i = 0; i < CVY_WIRE_BLOCKS; i++)
    if (!channel->blocks[i]) {
      *number = i;
      return CONVOY_OK;
    }
  return cvy_fail(CONVOY_ERR_MEMORY, "%d blocks of shared memory are in use", CVY_WIRE_BLOCKS);
}

/* Where memory and command do not find each other the two sides are out of step, and the next block
 * would be taken for this one: nothing but a fresh start can be trusted then, and no device has
 * failed. A worker that has no room for the block has understood. */
static convoy_status hand_over(cvy_channel *channel, const cvy_lane_block *block) {
  cvy_wire_reply reply;
  const cvy_command command = {CVY_MAP, .map = {block->number, (int64_t)block->shared.bytes}};
  const cvy_wire_frame frame = cvy_wire_memory_frame(&command, channel->posted + 1);
  char why[sizeof channel->why];
  convoy_status status = cvy_pass_send(channel->socket, &frame, sizeof frame, block->shared.fd);
  /* How the worker ended says more than that its socket is closed. */
  if (status && cvy_peer_gone(&channel->peer, channel->wire, 0.1, why, sizeof why))
    return lose_gone(channel, why);
  if (!status) status = cvy_channel_ask(channel, &command, NULL, &reply);
  if (!status || channel->lost || status == CONVOY_ERR_MEMORY) return status;
  cvy_text text = cvy_text_in(why, sizeof why);
  cvy_text_add(&text, "the worker was not given block %u: %s", block->number, cvy_last_error());
  return lose(channel, CONVOY_ERR_IO, why);
}

convoy_status cvy_channel_map(cvy_channel *channel, size_t bytes, bool inherit,
                              cvy_lane_block *out) {
  cvy_lane_block block;
  if (channel->lost) return lost(channel);
  convoy_status status = free_number(channel, &block.number);
  if (!status) status = cvy_shared_make(bytes, inherit, &block.shared);
  if (status) return status;
  status = hand_over(channel, &block);
  cvy_shared_close_fd(&block.shared);
  if (status) {
    channel->blocks[block.number] = channel->behind; /* it will be mapped there all the same */
    cvy_shared_drop(&block.shared);
    return status;
  }
  channel->blocks[block.number] = true;
  channel->mapped += bytes;
  *out = block;
  return CONVOY_OK;
}

void cvy_channel_unmap(cvy_channel *channel, cvy_lane_block *block) {
  const cvy_command command = {CVY_UNMAP, .unmap = {block->number}};
  /* A worker that is gone needs no telling. */
  if (!cvy_channel_post(channel, &command, NULL)) {
    channel->blocks[block->number] = false;
    channel->mapped -= block->shared.bytes;
  }
  cvy_shared_drop(&block->shared);
}
