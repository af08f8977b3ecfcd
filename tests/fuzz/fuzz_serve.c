/* Any bytes as what a library writes into the ring: the worker's command loop refuses what is
 * impossible, and hands its engine nothing that is outside of a block or cannot be counted.
 *
 * The input is a list of assignments, a byte for the field and eight for its value; field 0 posts
 * the command made so far. So the corpus stays good when structs change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_os.h"
#include "worker/module.h"
#include "worker/serve.h"
#include "worker/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

const char cvy_build_id[] = "fuzz";
static cvy_wire *wire;

/* ------------------------------------------------------------------------------- engine */

/* Ids divisible by it fail, some at once and some later. */
enum { BAD_ID = 5, LATE_ID = 7 };
static uint64_t tickets, late_fault;
static volatile char sink;

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static convoy_status list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count) {
  (void)options;
  require(capacity == CVY_WIRE_DEVICES, "a list of another length");
  out[0] = (cvy_facts){.max_work_group = 1};
  *count = 1;
  return CONVOY_OK;
}

static convoy_status open_device(int32_t index, const cvy_open_options *options, cvy_device **out) {
  static char device;
  (void)options;
  require(index >= 0 && index < CVY_WIRE_DEVICES, "an index beyond the list");
  *out = (cvy_device *)(void *)&device;
  return CONVOY_OK;
}

/* What the socket delivers for commands that map, in their order. */
enum { MESSAGES = 2 * CVY_WIRE_SLOTS };
static cvy_wire_frame messages[MESSAGES];
static uint64_t sent, received;
static bool is_own; /* the last one received is that of the command that is being carried out */

static bool receive_frame(void *bytes, size_t count) {
  const uint64_t number = atomic_load(&wire->taken) + 1;
  require(count == sizeof messages[0], "a message that is no block's is waited for");
  if (received == sent) return false;
  memcpy(bytes, &messages[received++ % MESSAGES], count);
  const cvy_wire_frame own =
      cvy_wire_memory_frame(&wire->slots[number % CVY_WIRE_SLOTS].command, number);
  is_own = memcmp(bytes, &own, count) == 0;
  return true;
}

static void host_offer(cvy_device *device, void *memory, int64_t bytes) {
  (void)device;
  (void)memory;
  (void)bytes;
  require(is_own, "memory was mapped that is not this command's");
}

static void host_withdraw(cvy_device *device, void *memory) {
  (void)device;
  require(memory != NULL, "a block that was never mapped is withdrawn");
}

static void close_device(cvy_device *device) {
  require(device != NULL, "a device that was never opened is closed");
}

static const cvy_facts *facts(const cvy_device *device) {
  static const cvy_facts known;
  (void)device;
  return &known;
}

static void require_bytes(int64_t bytes) {
  require(bytes >= 0 && bytes % (int64_t)sizeof(float) == 0, "too many elements");
}

static void require_possible(const cvy_command *command) {
  const cvy_job *job = command->job;
  const cvy_problem *problem = &job->problem;
  require(problem->operation >= 0 && problem->operation < cvy_operation_count, "no such operation");
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++)
    require_bytes(cvy_problem_input_bytes(problem, i));
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++)
    require_bytes(cvy_problem_output_bytes(problem, i));
  require(job->algorithm == 0, "a row beyond the table");
}

static void require_arrays(const cvy_command *command) {
  require_possible(command);
  for (int32_t i = 0; i < cvy_problem_inputs(&command->job->problem); i++)
    require(command->job->in[i].id != 0, "an input is missing");
}

static void require_some(const cvy_command *command) {
  require(command->allocate.bytes > 0, "an array without bytes");
}

static void require_part(int64_t at, int64_t bytes) {
  require(at >= 0 && bytes > 0 && at <= INT64_MAX - bytes, "a part that cannot be");
}

static void require_part_of(const cvy_command *command) {
  require_part(command->part_of.at, command->part_of.bytes);
}

/* Touches both ends: AddressSanitizer knows where the block ends. */
static void require_memory(const cvy_command *command) {
  char *memory = command->memory;
  int64_t bytes = command->transfer.bytes;
  require_part(command->transfer.at, bytes);
  if (command->kind == CVY_READ) memory[0] = memory[bytes - 1] = 1;
  sink = memory[0];
  sink = memory[bytes - 1];
}

static void require_copy(const cvy_command *command) {
  require(command->copy.bytes > 0, "a copy of nothing");
}

static void require_plan_copy(const cvy_command *command) {
  require(command->plan_copy.bytes > 0, "a plan's copy of nothing");
}

static void require_adopted(const cvy_command *command) {
  require(command->adopt.bytes > 0, "nothing is adopted");
}

static void require_bases(const cvy_command *command) {
  int32_t first = command->plan_bind.first, count = command->plan_bind.count;
  require(first >= 0 && count > 0 && count <= CVY_MAX_BASES - first, "bases that cannot be");
  for (int32_t i = 0; i < count; i++)
    require(command->bases[i].at % CVY_PLACE_ALIGN == 0, "a base that begins anywhere");
}

static void require_taps(const cvy_command *command) {
  require(command->plan_tap.step >= 0, "a step before the first");
  for (int32_t i = 0; i < command->plan_tap.count; i++)
    require(command->taps[i].bytes > 0 && command->taps[i].count > 0, "a tap of nothing");
}

typedef void demand(const cvy_command *command);
static demand *const demands[CVY_COMMANDS] = {
    [CVY_ALLOCATE] = require_some,       [CVY_ZERO] = require_some,
    [CVY_WRITE] = require_memory,        [CVY_READ] = require_memory,
    [CVY_COPY] = require_copy,           [CVY_RUN] = require_arrays,
    [CVY_BUILD] = require_possible,      [CVY_PREPARE] = require_possible,
    [CVY_RECORDING] = require_possible,  [CVY_PART_OF] = require_part_of,
    [CVY_ADOPT] = require_adopted,       [CVY_PLAN_JOB] = require_arrays,
    [CVY_PLAN_COPY] = require_plan_copy, [CVY_PLAN_BIND] = require_bases,
    [CVY_PLAN_TAP] = require_taps,
};

static convoy_status clear(void) {
  late_fault = 0;
  return CONVOY_OK;
}

/* All kinds but jobs begin with a number, which says how it ends. */
static convoy_status execute(cvy_device *device, const cvy_command *command, cvy_reply *reply,
                             uint64_t *ticket) {
  bool has_job = command->kind == CVY_RUN || command->kind == CVY_BUILD;
  uint64_t id = has_job ? command->job->out[0].id : command->release.array;
  require(device && command->kind < CVY_COMMANDS, "a command that is none");
  if (demands[command->kind]) demands[command->kind](command);
  if (command->kind == CVY_CLEAR) return clear();
  if (command->kind == CVY_PEAK) *reply = (cvy_reply){.gflops = 1, .gigabytes = 1};
  if (cvy_command_has_ticket(command->kind)) {
    *ticket = ++tickets;
    if (id % LATE_ID == 0 && !late_fault) late_fault = tickets;
  } else if (command->kind != CVY_BUILD) {
    return CONVOY_OK;
  }
  return id % BAD_ID == 0 ? cvy_fail(CONVOY_ERR_DEVICE, "id %llu", (unsigned long long)id)
                          : CONVOY_OK;
}

static convoy_status wait_for(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                              uint64_t *fault) {
  (void)device;
  (void)interrupt;
  if (!late_fault || late_fault > ticket) return CONVOY_OK;
  *fault = late_fault;
  return cvy_fail(CONVOY_ERR_DEVICE, "a late fault");
}

static void usage(const cvy_device *device, cvy_usage *out) {
  (void)device;
  *out = (cvy_usage){0};
}

static void set_observer(const cvy_engine_observer *observer) {
  (void)observer;
}

convoy_status cvy_module_load(const char *path, const cvy_module **out) {
  static const cvy_algorithm row = {.name = "ocl.none"};
  static const cvy_algorithm *const rows[] = {&row, NULL};
  static const cvy_backend engine = {.name = "ocl",
                                     .algorithms = rows,
                                     .list = list,
                                     .open = open_device,
                                     .close = close_device,
                                     .facts = facts,
                                     .execute = execute,
                                     .wait = wait_for,
                                     .host_offer = host_offer,
                                     .host_withdraw = host_withdraw,
                                     .usage = usage};
  static const cvy_module module = {.build_id = cvy_build_id,
                                    .engine = &engine,
                                    .last_error = cvy_last_error,
                                    .set_log = cvy_set_log,
                                    .set_observer = set_observer};
  (void)path;
  *out = &module;
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------- input */

/* Fields of a slot by number, from 1; then those of the wire that the library writes. Kinds share
 * the words of a command: each is there by one of its names. */
#define FIELD(type, field) \
  { offsetof(type, field), sizeof(((type *)NULL)->field) }
static const struct {
  size_t at, bytes;
} fields[] = {
    FIELD(cvy_wire_slot, command.kind),
    FIELD(cvy_wire_slot, command.transfer.array),
    FIELD(cvy_wire_slot, command.transfer.at),
    FIELD(cvy_wire_slot, command.transfer.bytes),
    FIELD(cvy_wire_slot, command.transfer.block),
    FIELD(cvy_wire_slot, command.transfer.block_at),
    FIELD(cvy_wire_slot, command.map.block),
    FIELD(cvy_wire_slot, command.plan_bind.first),
    FIELD(cvy_wire_slot, command.plan_bind.count),
    FIELD(cvy_wire_slot, command.plan_tap.step),
    FIELD(cvy_wire_slot, command.plan_tap.count),
    FIELD(cvy_wire_slot, command.payload), /* which nobody may follow */
    FIELD(cvy_wire_slot, with.job.algorithm),
    FIELD(cvy_wire_slot, with.job.in[0].id),
    FIELD(cvy_wire_slot, with.job.out[0].id),
    FIELD(cvy_wire_slot, with.job.problem.operation),
    FIELD(cvy_wire_slot, with.job.problem.conv.rank),
    FIELD(cvy_wire_slot, with.job.problem.accumulate),
    FIELD(cvy_wire_slot, with.job.problem.conv.has_bias),
    FIELD(cvy_wire_slot, with.job.problem.conv.activation),
    FIELD(cvy_wire_slot, with.job.problem.conv.n),
    FIELD(cvy_wire_slot, with.job.problem.conv.c),
    FIELD(cvy_wire_slot, with.job.problem.conv.k),
    FIELD(cvy_wire_slot, with.job.problem.conv.groups),
    FIELD(cvy_wire_slot, with.job.problem.conv.in[0]),
    FIELD(cvy_wire_slot, with.job.problem.conv.in[1]),
    FIELD(cvy_wire_slot, with.job.problem.conv.in[2]),
    FIELD(cvy_wire_slot, with.job.problem.conv.filter[0]),
    FIELD(cvy_wire_slot, with.job.problem.conv.filter[1]),
    FIELD(cvy_wire_slot, with.job.problem.conv.filter[2]),
    FIELD(cvy_wire_slot, with.job.problem.conv.out[0]),
    FIELD(cvy_wire_slot, with.job.problem.conv.out[1]),
    FIELD(cvy_wire_slot, with.job.problem.conv.out[2]),
    FIELD(cvy_wire_slot, with.job.problem.conv.stride[0]),
    FIELD(cvy_wire_slot, with.job.problem.conv.dilation[1]),
    FIELD(cvy_wire_slot, with.job.problem.conv.pad[2]),
    FIELD(cvy_wire_slot, with.bases[0].at),
    FIELD(cvy_wire_slot, with.taps[0].bytes),
    FIELD(cvy_wire_slot, with.taps[0].stride),
    FIELD(cvy_wire_slot, with.taps[0].count),
};
enum { FIELDS = (int)CVY_COUNT(fields), POST = 0, WANTED = FIELDS + 1, POSTED, MESSAGE, CODES };
enum { ASSIGNMENT = 9 };

/* A command that would be accepted as any kind but for its numbers, whose words they share: what
 * maps and transfers finds block 1, whatever else has a part of a byte. */
static cvy_wire_slot plain_command(uint32_t kind) {
  const int64_t one[3] = {1, 1, 1};
  cvy_wire_slot out = {.command = {kind, .transfer = {1, CVY_PLACE_ALIGN, 64, 1, 0}}};
  if (kind == CVY_PLAN_BIND) out.command.plan_bind.count = 1;
  if (kind == CVY_PLAN_TAP) out.command.plan_tap.count = 1;
  if (kind == CVY_PLAN_BIND || kind == CVY_PLAN_TAP) {
    out.with.taps[0] = (cvy_tap){.bytes = 64, .count = 1};
    return out;
  }
  cvy_problem *problem = &out.with.job.problem;
  *problem = (cvy_problem){.conv.rank = 2, .conv.n = 1, .conv.c = 1, .conv.k = 1, .conv.groups = 1};
  memcpy(problem->conv.in, one, sizeof one);
  memcpy(problem->conv.filter, one, sizeof one);
  memcpy(problem->conv.out, one, sizeof one);
  memcpy(problem->conv.stride, one, sizeof one);
  memcpy(problem->conv.dilation, one, sizeof one);
  out.with.job.in[0] = out.with.job.in[1] = cvy_place(0, 0);
  out.with.job.out[0] = cvy_place(1, 0);
  return out;
}

/* In the frames of messages: which byte to change, and how. */
static uint64_t change;

static void send_frame(const cvy_command *command, uint64_t number) {
  cvy_wire_frame *frame = &messages[sent++ % MESSAGES];
  *frame = cvy_wire_memory_frame(command, number);
  ((uint8_t *)frame)[change % sizeof *frame] ^= (uint8_t)(change >> 8);
}

static void post(cvy_wire_slot *slot, uint64_t next_kind) {
  const uint64_t number = atomic_load(&wire->posted) + 1;
  if (slot->command.kind == CVY_MAP) send_frame(&slot->command, number);
  wire->slots[number % CVY_WIRE_SLOTS] = *slot;
  atomic_store(&wire->posted, number);
  *slot = plain_command((uint32_t)next_kind);
}

static void read_input(const uint8_t *bytes, size_t count) {
  cvy_wire_slot slot = plain_command(CVY_OPEN);
  for (; count >= ASSIGNMENT; bytes += ASSIGNMENT, count -= ASSIGNMENT) {
    const int code = bytes[0] % CODES;
    uint64_t value;
    memcpy(&value, bytes + 1, sizeof value);
    if (code == POST)
      post(&slot, value);
    else if (code == WANTED)
      atomic_store(&wire->wanted, value);
    else if (code == POSTED)
      atomic_store(&wire->posted, value);
    else if (code == MESSAGE)
      change = value;
    else
      memcpy((char *)&slot + fields[code - 1].at, &value, fields[code - 1].bytes);
  }
  post(&slot, 0);
}

/* The ring has run dry. */
static void leave(void) {
  atomic_store(&wire->leave, 1);
}

/* A greeting, but for one byte that is changed. */
static const uint8_t *input;
static size_t input_bytes;

static bool receive_hello(void *bytes, size_t count) {
  cvy_wire_hello hello = {.frame = {CVY_WIRE_MAGIC, CVY_WIRE_HELLO, 0, sizeof(cvy_wire), 0},
                          .build_id = "fuzz",
                          .process = 1};
  require(count == sizeof hello, "a message that is no greeting is waited for");
  if (input_bytes > 2) ((uint8_t *)&hello)[(input[0] | input[1] << 8) % sizeof hello] ^= input[2];
  memcpy(bytes, &hello, count);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  cvy_shared ring;
  int client;
  fake_sleep = leave;
  fake_receive = receive_hello;
  input = bytes;
  input_bytes = count;
  tickets = late_fault = sent = received = change = 0;
  if (cvy_serve_greet(FAKE_FD, &ring, &client) == CONVOY_OK) cvy_shared_drop(&ring);
  fake_receive = receive_frame;
  if (cvy_shared_make(sizeof(cvy_wire), false, &ring)) return 0;
  wire = ring.memory;
  read_input(bytes, count);
  cvy_serve(FAKE_FD, &ring, "");
  fake_os_reset();
  return 0;
}
