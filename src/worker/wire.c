/* Checks what comes out of shared memory: nothing there can be trusted after a crash. */
#include "worker/wire.h"

#include <string.h>

/* ------------------------------------------------------------------------ commands */

/* What decides how much there is to copy is looked at where it cannot change any more. Of a problem
 * that is none, what is not copied is not looked at either. */
static void copy_job(cvy_job *to, const cvy_job *from) {
  const size_t head = offsetof(cvy_job, problem) + CVY_PROBLEM_HEAD;
  memcpy(to, from, head);
  if (to->problem.operation < 0 || to->problem.operation >= cvy_operation_count) return;
  memcpy((char *)to + head, (const char *)from + head, cvy_job_size(to) - head);
}

static bool has_job(uint32_t kind) {
  return kind == CVY_WIRE_RUN || kind == CVY_WIRE_BUILD || kind == CVY_WIRE_PREPARE ||
         kind == CVY_WIRE_RECORDING || kind == CVY_WIRE_PLAN_JOB;
}

void cvy_wire_copy_command(cvy_command *to, const cvy_command *from) {
  memcpy(to, from, offsetof(cvy_command, job));
  if (to->kind == CVY_WIRE_LIST || to->kind == CVY_WIRE_OPEN) to->options = from->options;
  if (to->kind == CVY_WIRE_USE_ALLOCATOR) to->allocator = from->allocator;
  if (has_job(to->kind)) copy_job(&to->job, &from->job);
  bool binds = to->kind == CVY_WIRE_PLAN_BIND && to->count > 0 && to->count <= CVY_WIRE_BINDINGS;
  if (binds) memcpy(to->bindings, from->bindings, (size_t)to->count * sizeof *to->bindings);
  bool taps = to->kind == CVY_WIRE_PLAN_TAP && to->count > 0 && to->count <= CVY_MAX_TAPS;
  if (taps) memcpy(to->taps, from->taps, (size_t)to->count * sizeof *to->taps);
}

static convoy_status check_build(const cvy_command *command, int32_t rows) {
  const cvy_job *job = &command->job;
  if (!cvy_problem_legal(&job->problem))
    return cvy_fail(CONVOY_ERR_DEVICE, "job with an impossible problem");
  if (job->algorithm < 0 || job->algorithm >= rows)
    return cvy_fail(CONVOY_ERR_DEVICE, "job for algorithm %d of %d", job->algorithm, rows);
  return CONVOY_OK;
}

static convoy_status check_run(const cvy_command *command, int32_t rows) {
  const cvy_job *job = &command->job;
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
  const cvy_job *job = &command->job;
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
  int32_t first = command->index, count = command->count;
  bool fits =
      count > 0 && count <= CVY_WIRE_BINDINGS && first >= 0 && first <= CVY_MAX_BASES - count;
  if (!fits)
    return cvy_fail(CONVOY_ERR_DEVICE, "%d bindings from base %d on", (int)count, (int)first);
  for (int32_t i = 0; i < count; i++) {
    int64_t at = command->bindings[i].at;
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
  int32_t count = command->count;
  if (count <= 0 || count > CVY_MAX_TAPS || command->index < 0)
    return cvy_fail(CONVOY_ERR_DEVICE, "%d taps of step %d", (int)count, (int)command->index);
  for (int32_t i = 0; i < count; i++)
    if (!is_tap(&command->taps[i])) return cvy_fail(CONVOY_ERR_DEVICE, "tap %d is none", (int)i);
  return CONVOY_OK;
}

static convoy_status check_index(const cvy_command *command, int32_t rows) {
  (void)rows;
  if (command->index >= 0 && command->index < CVY_WIRE_DEVICES) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "device index %d", (int)command->index);
}

static convoy_status check_block(const cvy_command *command, int32_t rows) {
  (void)rows;
  if (command->block < CVY_WIRE_BLOCKS) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "block %u of %d", command->block, CVY_WIRE_BLOCKS);
}

static convoy_status check_bytes(const cvy_command *command, int32_t rows) {
  (void)rows;
  if (command->bytes > 0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "command for %lld bytes", (long long)command->bytes);
}

static convoy_status check_part(const cvy_command *command, int32_t rows) {
  int64_t end;
  convoy_status status = check_bytes(command, rows);
  if (status) return status;
  if (command->offset >= 0 && !__builtin_add_overflow(command->offset, command->bytes, &end))
    return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "a part of %lld bytes at %lld", (long long)command->bytes,
                  (long long)command->offset);
}

static convoy_status check_map(const cvy_command *command, int32_t rows) {
  convoy_status status = check_block(command, rows);
  return status ? status : check_bytes(command, rows);
}

static convoy_status check_transfer(const cvy_command *command, int32_t rows) {
  int64_t end;
  convoy_status status = check_map(command, rows);
  if (status) return status;
  if (command->offset >= 0 && command->block_offset >= 0 &&
      !__builtin_add_overflow(command->offset, command->bytes, &end) &&
      !__builtin_add_overflow(command->block_offset, command->bytes, &end))
    return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "transfer of %lld bytes at %lld from %lld",
                  (long long)command->bytes, (long long)command->offset,
                  (long long)command->block_offset);
}

typedef convoy_status check_fn(const cvy_command *command, int32_t rows);
static check_fn *const checks[CVY_WIRE_KINDS] = {
    [CVY_WIRE_OPEN] = check_index,        [CVY_WIRE_MAP] = check_map,
    [CVY_WIRE_UNMAP] = check_block,       [CVY_WIRE_ALLOCATE] = check_bytes,
    [CVY_WIRE_WRITE] = check_transfer,    [CVY_WIRE_READ] = check_transfer,
    [CVY_WIRE_COPY] = check_bytes,        [CVY_WIRE_ZERO] = check_bytes,
    [CVY_WIRE_RUN] = check_run,           [CVY_WIRE_BUILD] = check_build,
    [CVY_WIRE_ADOPT] = check_bytes,       [CVY_WIRE_RECORDING] = check_build,
    [CVY_WIRE_PART] = check_part,         [CVY_WIRE_PLAN_JOB] = check_plan_job,
    [CVY_WIRE_PLAN_COPY] = check_bytes,   [CVY_WIRE_PLAN_BIND] = check_plan_bind,
    [CVY_WIRE_PLAN_TAP] = check_plan_tap, [CVY_WIRE_PREPARE] = check_build,
};

convoy_status cvy_wire_check_command(const cvy_command *command, int32_t rows) {
  if (command->kind >= CVY_WIRE_KINDS)
    return cvy_fail(CONVOY_ERR_DEVICE, "command of unknown kind %u", command->kind);
  check_fn *check = checks[command->kind];
  return check ? check(command, rows) : CONVOY_OK;
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
  if (out->count < 0) out->count = 0;
  if (out->count > CVY_WIRE_DEVICES) out->count = CVY_WIRE_DEVICES;
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
  return (cvy_wire_frame){CVY_WIRE_MAGIC, CVY_WIRE_MEMORY, command->block, command->bytes, number};
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
