/* Checks what comes out of shared memory: nothing there can be trusted after a crash. */
#include "worker/wire.h"

#include <string.h>

/* ------------------------------------------------------------------------ commands */

/* What decides how much there is to copy is looked at where it cannot change any more. Of a problem
 * that is none, what is not copied is not looked at either. */
static void copy_job(void *out, const void *from, const cvy_command *command) {
  const size_t head = offsetof(cvy_job, problem) + CVY_PROBLEM_HEAD;
  cvy_job *to = out;
  (void)command;
  memcpy(to, from, head);
  if (to->problem.operation < 0 || to->problem.operation >= cvy_operation_count) return;
  memcpy((char *)to + head, (const char *)from + head, cvy_job_size(to) - head);
}

static void copy_bases(void *to, const void *from, const cvy_command *command) {
  int32_t count = command->plan_bind.count;
  if (count > 0 && count <= CVY_WIRE_BASES) memcpy(to, from, (size_t)count * sizeof(cvy_base));
}

static void copy_taps(void *to, const void *from, const cvy_command *command) {
  int32_t count = command->plan_tap.count;
  if (count > 0 && count <= CVY_MAX_TAPS) memcpy(to, from, (size_t)count * sizeof(cvy_tap));
}

static void copy_options(void *to, const void *from, const cvy_command *command) {
  (void)command;
  memcpy(to, from, sizeof(cvy_open_options));
}

static void copy_allocator(void *to, const void *from, const cvy_command *command) {
  (void)command;
  memcpy(to, from, sizeof(cvy_allocator));
}

static convoy_status check_build(const cvy_command *command, int32_t rows) {
  const cvy_job *job = command->job;
  if (!cvy_problem_legal(&job->problem))
    return cvy_fail(CONVOY_ERR_DEVICE, "job with an impossible problem");
  if (job->algorithm < 0 || job->algorithm >= rows)
    return cvy_fail(CONVOY_ERR_DEVICE, "job for algorithm %d of %d", job->algorithm, rows);
  return CONVOY_OK;
}

static convoy_status check_run(const cvy_command *command, int32_t rows) {
  const cvy_job *job = command->job;
  const convoy_status status = check_build(command, rows);
  if (status) return status;
  const int32_t inputs = cvy_problem_inputs(&job->problem);
  const int32_t outputs = cvy_problem_outputs(&job->problem);
  for (int32_t i = 0; i < inputs; i++)
    if (job->in[i].id == 0 && cvy_problem_input_bytes(&job->problem, i) > 0)
      return cvy_fail(CONVOY_ERR_DEVICE, "job without input %d", (int)i);
  for (int32_t i = 0; i < outputs; i++)
    if (job->out[i].id == 0) return cvy_fail(CONVOY_ERR_DEVICE, "job without output %d", (int)i);
  return CONVOY_OK;
}

/* Kernels read and write vectors where these can be by what the problem says. */
static convoy_status check_place(const cvy_problem *problem, const cvy_array *array,
                                 cvy_operand place) {
  int64_t at = cvy_place_at(place), align = cvy_place_align(problem, array);
  if (place.id == 0 || at % align == 0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "an operand of a plan at byte %lld, no multiple of %lld",
                  (long long)at, (long long)align);
}

static convoy_status check_plan_job(const cvy_command *command, int32_t rows) {
  const cvy_job *job = command->job;
  convoy_status status = check_run(command, rows);
  if (status) return status;
  if (cvy_problem_empty(&job->problem))
    return cvy_fail(CONVOY_ERR_DEVICE, "a plan's step without images");
  const int32_t inputs = cvy_problem_inputs(&job->problem);
  const int32_t outputs = cvy_problem_outputs(&job->problem);
  for (int32_t i = 0; i < inputs && !status; i++) {
    const cvy_array array = cvy_problem_input(&job->problem, i);
    status = check_place(&job->problem, &array, job->in[i]);
  }
  for (int32_t i = 0; i < outputs && !status; i++) {
    const cvy_array array = cvy_problem_output(&job->problem, i);
    status = check_place(&job->problem, &array, job->out[i]);
  }
  return status;
}

static convoy_status check_plan_bind(const cvy_command *command, int32_t rows) {
  (void)rows;
  int32_t first = command->plan_bind.first, count = command->plan_bind.count;
  bool fits = count > 0 && count <= CVY_WIRE_BASES && first >= 0 && first <= CVY_MAX_BASES - count;
  if (!fits)
    return cvy_fail(CONVOY_ERR_DEVICE, "%d bindings from base %d on", (int)count, (int)first);
  for (int32_t i = 0; i < count; i++) {
    int64_t at = command->bases[i].at;
    if (at < 0 || at % CVY_PLACE_ALIGN)
      return cvy_fail(CONVOY_ERR_DEVICE, "a base at byte %lld", (long long)at);
  }
  return CONVOY_OK;
}

/* All sums of these numbers fit. */
static bool is_tap(const cvy_tap *tap) {
  const int64_t most = INT64_C(1) << 48;
  return tap->offset >= 0 && tap->offset < most && tap->bytes > 0 && tap->bytes < most &&
         tap->stride >= 0 && tap->stride < most && tap->to >= 0 && tap->to < most &&
         tap->count > 0 && tap->count < 1 << 14;
}

static convoy_status check_plan_tap(const cvy_command *command, int32_t rows) {
  (void)rows;
  int32_t step = command->plan_tap.step, count = command->plan_tap.count;
  if (count <= 0 || count > CVY_MAX_TAPS || step < 0)
    return cvy_fail(CONVOY_ERR_DEVICE, "%d taps of step %d", (int)count, (int)step);
  for (int32_t i = 0; i < count; i++)
    if (!is_tap(&command->taps[i])) return cvy_fail(CONVOY_ERR_DEVICE, "tap %d is none", (int)i);
  return CONVOY_OK;
}

static convoy_status check_open(const cvy_command *command, int32_t rows) {
  (void)rows;
  int32_t device = command->open.device;
  if (device >= 0 && device < CVY_WIRE_DEVICES) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "device index %d", (int)device);
}

static convoy_status check_transfer(const cvy_command *command, int32_t rows) {
  int64_t end, bytes = command->transfer.bytes, at = command->transfer.block_at;
  (void)rows;
  if (at >= 0 && !__builtin_add_overflow(at, bytes, &end)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "a transfer of %lld bytes at %lld of a block",
                  (long long)bytes, (long long)at);
}

/* ---------------------------------------------------------------------------- kinds */

#define AT(field) offsetof(cvy_command, field)

enum {
  REPLIES = CVY_WIRE_REPLIES,
  ALWAYS = CVY_WIRE_WHILE_FAULT,
  BEFORE_OPEN = CVY_WIRE_WHILE_FAULT | CVY_WIRE_NO_DEVICE,
  MOVES = CVY_PHASE_TRANSFERRING,
  RUNS = CVY_PHASE_RUNNING
};

const cvy_wire_row cvy_wire_rows[CVY_COMMANDS] = {
    [CVY_LIST] = {.phase = CVY_PHASE_PROBING, .flags = REPLIES | BEFORE_OPEN, .copy = copy_options},
    [CVY_OPEN] = {.phase = CVY_PHASE_OPENING,
                  .flags = REPLIES | BEFORE_OPEN,
                  .copy = copy_options,
                  .check = check_open},
    [CVY_CLEAR] = {.phase = RUNS, .flags = REPLIES | ALWAYS},
    [CVY_PEAK] = {.phase = RUNS, .flags = REPLIES},
    [CVY_MAP] = {.phase = MOVES,
                 .flags = REPLIES | BEFORE_OPEN,
                 .bytes = AT(map.bytes),
                 .block = AT(map.block)},
    [CVY_UNMAP] = {.phase = MOVES, .flags = BEFORE_OPEN, .block = AT(unmap.block)},
    [CVY_ALLOCATE] = {.phase = MOVES, .bytes = AT(allocate.bytes)},
    [CVY_RELEASE] = {.phase = MOVES, .flags = ALWAYS},
    [CVY_WRITE] = {.phase = MOVES,
                   .bytes = AT(transfer.bytes),
                   .part = AT(transfer.at),
                   .block = AT(transfer.block),
                   .check = check_transfer},
    [CVY_READ] = {.phase = MOVES,
                  .bytes = AT(transfer.bytes),
                  .part = AT(transfer.at),
                  .block = AT(transfer.block),
                  .check = check_transfer},
    [CVY_COPY] = {.phase = MOVES, .bytes = AT(copy.bytes)},
    [CVY_ZERO] = {.phase = MOVES, .bytes = AT(zero.bytes)},
    [CVY_RUN] = {.phase = RUNS, .copy = copy_job, .check = check_run},
    [CVY_BUILD] = {.phase = CVY_PHASE_COMPILING,
                   .flags = REPLIES,
                   .copy = copy_job,
                   .check = check_build},
    [CVY_PREPARE] = {.phase = RUNS, .flags = ALWAYS, .copy = copy_job, .check = check_build},
    [CVY_ADOPT] = {.phase = MOVES, .bytes = AT(adopt.bytes)},
    [CVY_USE_STREAM] = {.phase = RUNS, .flags = REPLIES},
    [CVY_USE_ALLOCATOR] = {.phase = RUNS, .flags = REPLIES, .copy = copy_allocator},
    [CVY_LEND] = {.phase = RUNS, .flags = REPLIES | ALWAYS},
    [CVY_RECORDING] = {.phase = RUNS, .flags = REPLIES, .copy = copy_job, .check = check_build},
    [CVY_PART_OF] = {.phase = MOVES, .bytes = AT(part_of.bytes), .part = AT(part_of.at)},
    [CVY_PLAN_JOB] = {.phase = RUNS, .copy = copy_job, .check = check_plan_job},
    [CVY_PLAN_COPY] = {.phase = RUNS, .bytes = AT(plan_copy.bytes)},
    [CVY_PLAN_BIND] = {.phase = RUNS, .copy = copy_bases, .check = check_plan_bind},
    [CVY_PLAN_TAP] = {.phase = RUNS, .copy = copy_taps, .check = check_plan_tap},
    [CVY_PLAN_RUN] = {.phase = RUNS},
    [CVY_PLAN_DROP] = {.phase = RUNS, .flags = ALWAYS},
};

void cvy_wire_put_command(cvy_wire_slot *to, const cvy_command *command) {
  const cvy_wire_row *row = &cvy_wire_rows[command->kind];
  to->command = *command;
  if (row->copy) row->copy(&to->with, command->payload, command);
}

void cvy_wire_get_command(const cvy_wire_slot *from, cvy_wire_slot *out) {
  cvy_command *command = &out->command;
  *command = from->command;
  command->payload = NULL;
  const cvy_wire_row *row = command->kind < CVY_COMMANDS ? &cvy_wire_rows[command->kind] : NULL;
  if (!row || !row->copy) return;
  row->copy(&out->with, &from->with, command);
  command->payload = &out->with;
}

static const void *at(const cvy_command *command, size_t place) {
  return (const char *)command + place;
}

static convoy_status check_range(const cvy_command *command, const cvy_wire_row *row) {
  int64_t end, bytes = row->bytes ? *(const int64_t *)at(command, row->bytes) : 1;
  int64_t begin = row->part ? *(const int64_t *)at(command, row->part) : 0;
  uint32_t block = row->block ? *(const uint32_t *)at(command, row->block) : 0;
  if (block >= CVY_WIRE_BLOCKS)
    return cvy_fail(CONVOY_ERR_DEVICE, "block %u of %d", block, CVY_WIRE_BLOCKS);
  if (bytes <= 0) return cvy_fail(CONVOY_ERR_DEVICE, "command for %lld bytes", (long long)bytes);
  if (begin >= 0 && !__builtin_add_overflow(begin, bytes, &end)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "a part of %lld bytes at %lld", (long long)bytes,
                  (long long)begin);
}

convoy_status cvy_wire_check_command(const cvy_command *command, int32_t rows) {
  if (command->kind >= CVY_COMMANDS)
    return cvy_fail(CONVOY_ERR_DEVICE, "command of unknown kind %u", command->kind);
  const cvy_wire_row *row = &cvy_wire_rows[command->kind];
  convoy_status status = row->bytes || row->block ? check_range(command, row) : CONVOY_OK;
  return status || !row->check ? status : row->check(command, rows);
}

/* ------------------------------------------------------------------------- answers */

#define END(text) ((text)[sizeof(text) - 1] = 0)

/* Only failures travel with a sentence; an unknown number is one too. */
static convoy_status known_status(int32_t status) {
  return status >= CONVOY_OK && status <= CONVOY_ERR_WRONG ? (convoy_status)status
                                                           : CONVOY_ERR_DEVICE;
}

static int64_t at_least(int64_t value, int64_t least) {
  return value < least ? least : value;
}

void cvy_wire_get_facts(const cvy_wire *wire, int32_t index, cvy_facts *facts) {
  convoy_device_info *info = &facts->info;
  *facts = wire->facts[index];
  END(info->id);
  END(info->name);
  END(info->platform);
  END(info->driver);
  END(facts->bus);
  if (facts->runtime < 0 || facts->runtime >= CVY_RUNTIMES) facts->runtime = CVY_RUNTIME_OPENCL;
  info->struct_size = sizeof *info;
  if (info->type < CONVOY_DEVICE_GPU || info->type > CONVOY_DEVICE_ACCELERATOR)
    info->type = CONVOY_DEVICE_ACCELERATOR;
  if (info->compute_units < 1) info->compute_units = 1; /* plans divide by it */
  facts->local_memory_bytes = at_least(facts->local_memory_bytes, 0);
  facts->max_allocation_bytes = at_least(facts->max_allocation_bytes, 0);
  facts->workspace_limit = at_least(facts->workspace_limit, 0);
  facts->memory_limit = at_least(facts->memory_limit, 0);
  facts->max_work_group = at_least(facts->max_work_group, 1);
  facts->preferred_multiple = at_least(facts->preferred_multiple, 1);
}

void cvy_wire_get_reply(const cvy_wire *wire, cvy_wire_reply *out) {
  *out = wire->reply;
  END(out->sentence);
  out->status = known_status(out->status);
  if (out->devices < 0) out->devices = 0;
  if (out->devices > CVY_WIRE_DEVICES) out->devices = CVY_WIRE_DEVICES;
  uint32_t recording = (uint32_t)out->answer.recording;
  if (recording >= CVY_RECORDINGS) out->answer.recording = CVY_RECORDING_BROKEN;
}

convoy_status cvy_wire_get_fault(const cvy_wire *wire, char *sentence, size_t size) {
  char copy[sizeof wire->fault_sentence];
  memcpy(copy, wire->fault_sentence, sizeof copy);
  END(copy);
  cvy_text_copy(sentence, size, copy);
  convoy_status status = known_status(wire->fault_status);
  return status ? status : CONVOY_ERR_DEVICE;
}

cvy_phase cvy_wire_get_phase(const cvy_wire *wire) {
  uint32_t phase = atomic_load(&wire->phase);
  return phase < CVY_PHASES ? (cvy_phase)phase : CVY_PHASE_IDLE;
}

/* ---------------------------------------------------------------------------- usage */

static void usage_fields(cvy_usage *usage, int64_t *fields[CVY_WIRE_USAGE]) {
  fields[0] = &usage->bytes;
  fields[1] = &usage->bytes_peak;
  fields[2] = &usage->bytes_held;
  fields[3] = &usage->programs_compiled;
  fields[4] = &usage->programs_cached;
  fields[5] = &usage->host_bytes;
}

void cvy_wire_get_usage(const cvy_wire *wire, cvy_usage *out) {
  int64_t *fields[CVY_WIRE_USAGE];
  usage_fields(out, fields);
  for (int i = 0; i < CVY_WIRE_USAGE; i++)
    *fields[i] = atomic_load_explicit(&wire->usage[i], memory_order_relaxed);
}

void cvy_wire_put_usage(cvy_wire *wire, const cvy_usage *usage) {
  cvy_usage copy = *usage;
  int64_t *fields[CVY_WIRE_USAGE];
  usage_fields(&copy, fields);
  for (int i = 0; i < CVY_WIRE_USAGE; i++)
    atomic_store_explicit(&wire->usage[i], *fields[i], memory_order_relaxed);
}

/* --------------------------------------------------------------------------- socket */

cvy_wire_frame cvy_wire_memory_frame(const cvy_command *command, uint64_t number) {
  return (cvy_wire_frame){CVY_WIRE_MAGIC, CVY_WIRE_MEMORY, command->map.block, command->map.bytes,
                          number};
}

convoy_status cvy_wire_check_frame(const cvy_wire_frame *frame, const cvy_wire_frame *expected) {
  if (frame->magic != expected->magic)
    return cvy_fail(CONVOY_ERR_IO, "what came over the socket is not from Convoy: %016llx",
                    (unsigned long long)frame->magic);
  if (frame->message != expected->message)
    return cvy_fail(CONVOY_ERR_IO, "message of kind %u where %u was expected", frame->message,
                    expected->message);
  if (frame->block == expected->block && frame->bytes == expected->bytes &&
      frame->number == expected->number)
    return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO,
                  "message for block %u, %lld bytes, command %llu where block %u, %lld bytes, "
                  "command %llu was expected",
                  frame->block, (long long)frame->bytes, (unsigned long long)frame->number,
                  expected->block, (long long)expected->bytes,
                  (unsigned long long)expected->number);
}

convoy_status cvy_wire_check_hello(cvy_wire_hello *hello, cvy_wire_message message) {
  const cvy_wire_frame expected = {CVY_WIRE_MAGIC, message, 0, hello->frame.bytes, 0};
  END(hello->build_id);
  END(hello->sentence);
  hello->status = known_status(hello->status);
  return cvy_wire_check_frame(&hello->frame, &expected);
}
