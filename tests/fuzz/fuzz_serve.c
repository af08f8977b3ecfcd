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

static convoy_status take(uint64_t id, uint64_t *ticket) {
  *ticket = ++tickets;
  if (id % LATE_ID == 0 && !late_fault) late_fault = tickets;
  return id % BAD_ID == 0 ? cvy_fail(CONVOY_ERR_DEVICE, "id %llu", (unsigned long long)id)
                          : CONVOY_OK;
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
  const cvy_wire_frame own = cvy_wire_memory_frame(&wire->slots[number % CVY_WIRE_SLOTS], number);
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

static convoy_status allocate(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  (void)device;
  require(bytes > 0, "an array without bytes");
  return take(id, ticket);
}

static convoy_status release(cvy_device *device, uint64_t id) {
  (void)device;
  (void)id;
  return CONVOY_OK;
}

/* Touches both ends: AddressSanitizer knows where the block ends. */
static convoy_status write_part(cvy_device *device, uint64_t id, int64_t offset, const void *from,
                                int64_t bytes, uint64_t *ticket) {
  (void)device;
  require(offset >= 0 && bytes > 0 && offset <= INT64_MAX - bytes, "a part that cannot be");
  sink = ((const char *)from)[0];
  sink = ((const char *)from)[bytes - 1];
  return take(id, ticket);
}

static convoy_status read_part(cvy_device *device, uint64_t id, int64_t offset, void *to,
                               int64_t bytes, uint64_t *ticket) {
  (void)device;
  require(offset >= 0 && bytes > 0 && offset <= INT64_MAX - bytes, "a part that cannot be");
  ((char *)to)[0] = ((char *)to)[bytes - 1] = 1;
  return take(id, ticket);
}

static convoy_status copy(cvy_device *device, uint64_t from, uint64_t to, int64_t bytes,
                          uint64_t *ticket) {
  (void)device;
  (void)to;
  require(bytes > 0, "a copy of nothing");
  return take(from, ticket);
}

static convoy_status zero(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  (void)device;
  require(bytes > 0, "zeros for nothing");
  return take(id, ticket);
}

static void require_bytes(int64_t bytes) {
  require(bytes >= 0 && bytes % (int64_t)sizeof(float) == 0, "too many elements");
}

static void require_possible(const cvy_job *job, bool has_arrays) {
  const cvy_problem *problem = &job->problem;
  require(problem->operation >= 0 && problem->operation < cvy_operation_count, "no such operation");
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++)
    require_bytes(cvy_problem_input_bytes(problem, i));
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++)
    require_bytes(cvy_problem_output_bytes(problem, i));
  for (int32_t i = 0; has_arrays && i < cvy_problem_inputs(problem); i++)
    require(job->in[i].id != 0, "an input is missing");
  require(job->algorithm == 0, "a row beyond the table");
}

static convoy_status run(cvy_device *device, const cvy_job *job, uint64_t *ticket) {
  (void)device;
  require_possible(job, true);
  return take(job->out[0].id, ticket);
}

static convoy_status build(cvy_device *device, const cvy_job *job, const volatile int *interrupt) {
  (void)device;
  (void)interrupt;
  require_possible(job, false);
  return job->out[0].id % BAD_ID == 0 ? cvy_fail(CONVOY_ERR_DEVICE, "it does not compile")
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

static convoy_status clear(cvy_device *device, bool *emptied) {
  (void)device;
  *emptied = false;
  late_fault = 0;
  return CONVOY_OK;
}

static void usage(const cvy_device *device, cvy_usage *out) {
  (void)device;
  *out = (cvy_usage){0};
}

static convoy_status peak(cvy_device *device, double *gflops, double *gigabytes) {
  (void)device;
  *gflops = *gigabytes = 1;
  return CONVOY_OK;
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
                                     .allocate = allocate,
                                     .release = release,
                                     .write_part = write_part,
                                     .read_part = read_part,
                                     .copy = copy,
                                     .zero = zero,
                                     .run = run,
                                     .build = build,
                                     .wait = wait_for,
                                     .clear = clear,
                                     .host_offer = host_offer,
                                     .host_withdraw = host_withdraw,
                                     .usage = usage,
                                     .peak = peak};
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

/* Fields of a command by number, from 1; then those of the wire that the library writes. */
#define FIELD(type, field) \
  { offsetof(type, field), sizeof(((type *)NULL)->field) }
static const struct {
  size_t at, bytes;
} fields[] = {
    FIELD(cvy_command, kind),
    FIELD(cvy_command, block),
    FIELD(cvy_command, id),
    FIELD(cvy_command, to),
    FIELD(cvy_command, bytes),
    FIELD(cvy_command, offset),
    FIELD(cvy_command, block_offset),
    FIELD(cvy_command, index),
    FIELD(cvy_command, job.algorithm),
    FIELD(cvy_command, job.in[0].id),
    FIELD(cvy_command, job.out[0].id),
    FIELD(cvy_command, job.problem.operation),
    FIELD(cvy_command, job.problem.conv.rank),
    FIELD(cvy_command, job.problem.accumulate),
    FIELD(cvy_command, job.problem.conv.has_bias),
    FIELD(cvy_command, job.problem.conv.activation),
    FIELD(cvy_command, job.problem.conv.n),
    FIELD(cvy_command, job.problem.conv.c),
    FIELD(cvy_command, job.problem.conv.k),
    FIELD(cvy_command, job.problem.conv.groups),
    FIELD(cvy_command, job.problem.conv.in[0]),
    FIELD(cvy_command, job.problem.conv.in[1]),
    FIELD(cvy_command, job.problem.conv.in[2]),
    FIELD(cvy_command, job.problem.conv.filter[0]),
    FIELD(cvy_command, job.problem.conv.filter[1]),
    FIELD(cvy_command, job.problem.conv.filter[2]),
    FIELD(cvy_command, job.problem.conv.out[0]),
    FIELD(cvy_command, job.problem.conv.out[1]),
    FIELD(cvy_command, job.problem.conv.out[2]),
    FIELD(cvy_command, job.problem.conv.stride[0]),
    FIELD(cvy_command, job.problem.conv.dilation[1]),
    FIELD(cvy_command, job.problem.conv.pad[2]),
};
enum { FIELDS = (int)CVY_COUNT(fields), POST = 0, WANTED = FIELDS + 1, POSTED, MESSAGE, CODES };
enum { ASSIGNMENT = 9 };

/* A command that would be accepted as any kind but for its numbers. */
static cvy_command plain_command(uint32_t kind) {
  const int64_t one[3] = {1, 1, 1};
  cvy_command out = {.kind = kind, .id = 1, .to = 2, .bytes = 64};
  cvy_problem *problem = &out.job.problem;
  *problem = (cvy_problem){.conv.rank = 2, .conv.n = 1, .conv.c = 1, .conv.k = 1, .conv.groups = 1};
  memcpy(problem->conv.in, one, sizeof one);
  memcpy(problem->conv.filter, one, sizeof one);
  memcpy(problem->conv.out, one, sizeof one);
  memcpy(problem->conv.stride, one, sizeof one);
  memcpy(problem->conv.dilation, one, sizeof one);
  out.job.in[0].id = out.job.in[1].id = 1;
  out.job.out[0].id = 2;
  return out;
}

/* In the frames of messages: which byte to change, and how. */
static uint64_t change;

static void send_frame(const cvy_command *command, uint64_t number) {
  cvy_wire_frame *frame = &messages[sent++ % MESSAGES];
  *frame = cvy_wire_memory_frame(command, number);
  ((uint8_t *)frame)[change % sizeof *frame] ^= (uint8_t)(change >> 8);
}

static void post(cvy_command *command, uint64_t next_kind) {
  const uint64_t number = atomic_load(&wire->posted) + 1;
  if (command->kind == CVY_WIRE_MAP) send_frame(command, number);
  wire->slots[number % CVY_WIRE_SLOTS] = *command;
  atomic_store(&wire->posted, number);
  *command = plain_command((uint32_t)next_kind);
}

static void read_input(const uint8_t *bytes, size_t count) {
  cvy_command command = plain_command(CVY_WIRE_OPEN);
  for (; count >= ASSIGNMENT; bytes += ASSIGNMENT, count -= ASSIGNMENT) {
    const int code = bytes[0] % CODES;
    uint64_t value;
    memcpy(&value, bytes + 1, sizeof value);
    if (code == POST)
      post(&command, value);
    else if (code == WANTED)
      atomic_store(&wire->wanted, value);
    else if (code == POSTED)
      atomic_store(&wire->posted, value);
    else if (code == MESSAGE)
      change = value;
    else
      memcpy((char *)&command + fields[code - 1].at, &value, fields[code - 1].bytes);
  }
  post(&command, 0);
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
