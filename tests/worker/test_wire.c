/* What comes out of shared memory is checked: random bytes never crash either side. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"
#include "worker/serve.h"
#include "worker/wire.h"

static uint64_t random_state;

static uint64_t random_next(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static void random_bytes(void *to, size_t count) {
  unsigned char *bytes = to;
  for (size_t i = 0; i < count; ++i) bytes[i] = (unsigned char)(random_next() >> 32);
}

/* A run of the test says what would repeat it; WIRE_SEED does. */
static uint64_t seed(void) {
  const char *text = getenv("WIRE_SEED");
  uint64_t value = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
  print_message("WIRE_SEED=%llu\n", (unsigned long long)value);
  random_state = value * 2 + 1;
  return value;
}

/* ------------------------------------------------------------------------- decoding */

/* As the loop does with what it finds in the ring. */
static convoy_status check(const cvy_wire_slot *slot, int32_t rows) {
  cvy_wire_slot own;
  cvy_wire_get_command(slot, &own);
  return cvy_wire_check_command(&own.command, rows);
}

static void make_places(cvy_job *job) {
  for (int32_t i = 0; i < 2; i++) job->in[i] = cvy_place(i, CVY_PLACE_ALIGN * i);
  job->out[0] = cvy_place(0, INT64_C(5) * CVY_PLACE_ALIGN);
}

static void bind_two(cvy_wire_slot *slot) {
  slot->command.plan_bind.first = 3;
  slot->command.plan_bind.count = 2;
  slot->with.bases[0] = (cvy_base){.id = 1, .at = CVY_PLACE_ALIGN};
  slot->with.bases[1] = (cvy_base){.id = 0};
}

static void tap_one(cvy_wire_slot *slot) {
  slot->command.plan_tap.step = 3;
  slot->command.plan_tap.count = 1;
  slot->with.taps[0] =
      (cvy_tap){.from = cvy_place(1, 0), .bytes = 8, .stride = 64, .count = 5, .after = 1};
}

/* Kinds share the words of a command: this is good for all. */
static cvy_wire_slot good_slot(uint32_t kind) {
  cvy_wire_slot slot = {.command = {kind, .transfer = {1, CVY_PLACE_ALIGN, 64, 1, 0}}};
  slot.with.job = lane_job(1, 2, 3);
  make_places(&slot.with.job);
  if (kind == CVY_PLAN_BIND) bind_two(&slot);
  if (kind == CVY_PLAN_TAP) tap_one(&slot);
  return slot;
}

static void test_good_commands_pass(void **state) {
  (void)state;
  for (uint32_t kind = 0; kind < CVY_COMMANDS; ++kind) {
    const cvy_wire_slot slot = good_slot(kind);
    assert_int_equal(check(&slot, 1), CONVOY_OK);
  }
}

static void test_bad_fields_are_refused(void **state) {
  cvy_wire_slot bad[42];
  size_t count = 0;
  (void)state;
#define BAD(kind, field, value) bad[count] = good_slot(kind), bad[count].field = value, ++count
  BAD(CVY_COMMANDS, command.release.array, 1);
  BAD(0xffffffff, command.release.array, 1);
  BAD(CVY_OPEN, command.open.device, -1);
  BAD(CVY_OPEN, command.open.device, CVY_WIRE_DEVICES);
  BAD(CVY_MAP, command.map.block, CVY_WIRE_BLOCKS);
  BAD(CVY_MAP, command.map.bytes, 0);
  BAD(CVY_UNMAP, command.unmap.block, 0xffffffff);
  BAD(CVY_ALLOCATE, command.allocate.bytes, -1);
  BAD(CVY_ADOPT, command.adopt.bytes, 0);
  BAD(CVY_WRITE, command.transfer.at, -1);
  BAD(CVY_WRITE, command.transfer.at, INT64_MAX);
  BAD(CVY_READ, command.transfer.block_at, INT64_MAX - 63);
  BAD(CVY_READ, command.transfer.block_at, -64);
  BAD(CVY_COPY, command.copy.bytes, 0);
  BAD(CVY_ZERO, command.zero.bytes, INT64_MIN);
  BAD(CVY_RUN, with.job.algorithm, 1);
  BAD(CVY_RUN, with.job.algorithm, -1);
  BAD(CVY_RUN, with.job.in[0].id, 0);
  BAD(CVY_RUN, with.job.in[1].id, 0);
  BAD(CVY_RUN, with.job.out[0].id, 0);
  BAD(CVY_RUN, with.job.problem.operation, cvy_operation_count);
  BAD(CVY_RUN, with.job.problem.operation, -1);
  BAD(CVY_RUN, with.job.problem.accumulate, 2);
  BAD(CVY_RUN, with.job.problem.conv.has_bias, -1);
  BAD(CVY_RUN, with.job.problem.conv.has_bias, 1); /* its array is missing */
  BAD(CVY_RUN, with.job.problem.conv.activation, 3);
  BAD(CVY_RUN, with.job.problem.conv.rank, 4);
  BAD(CVY_RUN, with.job.problem.conv.n, -1);
  BAD(CVY_RUN, with.job.problem.conv.n, INT64_MAX);
  BAD(CVY_RUN, with.job.problem.conv.groups, 0);
  BAD(CVY_RUN, with.job.problem.conv.groups, 2);
  BAD(CVY_RUN, with.job.problem.conv.in[1], 0);
  BAD(CVY_RUN, with.job.problem.conv.filter[2], INT64_MAX / 2);
  BAD(CVY_RUN, with.job.problem.conv.stride[0], 0);
  BAD(CVY_RUN, with.job.problem.conv.dilation[0], -3);
  BAD(CVY_RUN, with.job.problem.conv.pad[2], -1);
  BAD(CVY_PART_OF, command.part_of.at, -1);
  BAD(CVY_PART_OF, command.part_of.bytes, 0);
  BAD(CVY_PART_OF, command.part_of.at, INT64_MAX);
  BAD(CVY_PLAN_JOB, with.job.algorithm, 1);
  BAD(CVY_PLAN_JOB, with.job.problem.conv.n, 0); /* there is nothing to do */
  BAD(CVY_PLAN_COPY, command.plan_copy.bytes, 0);
#undef BAD
  assert_int_equal(count, CVY_COUNT(bad));
  for (size_t i = 0; i < count; ++i)
    if (!check(&bad[i], 1)) fail_msg("bad command %zu passes", i);
}

/* What goes with a command is what lies behind it, copied, whatever the ring says. */
static void test_pointers_in_the_ring_mean_nothing(void **state) {
  (void)state;
  for (uint32_t kind = 0; kind <= CVY_COMMANDS; ++kind) {
    cvy_wire_slot slot = good_slot(kind), own;
    slot.command.payload = &slot;
    cvy_wire_get_command(&slot, &own);
    assert_true(!own.command.payload || own.command.payload == &own.with);
  }
}

/* Arrays of their own begin where any vector may, parts of larger tensors where they say. */
static void test_misaligned_operands_of_plans_are_refused(void **state) {
  static const int64_t pitches[] = {0, 1 << 20, 1 << 20, 1 << 20};
  static const int64_t classes[] = {0, 0, 1, 2};
  static const int64_t bytes[] = {CVY_PLACE_ALIGN, 4, 8, 16};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(bytes); i++) {
    cvy_wire_slot slot = good_slot(CVY_PLAN_JOB);
    slot.with.job.problem.conv.x = slot.with.job.problem.conv.y =
        (cvy_array_view){pitches[i], classes[i]};
    slot.with.job.in[0] = slot.with.job.out[0] = cvy_place(7, 3 * bytes[i]);
    assert_int_equal(check(&slot, 1), CONVOY_OK);
    slot.with.job.in[0] = cvy_place(7, 3 * bytes[i] + bytes[i] / 2);
    assert_int_equal(check(&slot, 1), CONVOY_ERR_DEVICE);
    slot.with.job.in[0] = cvy_place(7, 0);
    slot.with.job.out[0] = cvy_place(7, bytes[i] / 2);
    assert_int_equal(check(&slot, 1), CONVOY_ERR_DEVICE);
  }
}

/* A program's kernels are made for where its arrays begin. */
static void test_operands_of_programs_begin_anywhere(void **state) {
  (void)state;
  cvy_wire_slot slot = {.command.kind = CVY_PLAN_JOB};
  assert_true(cvy_problem_read("y0 = max(x0, 0) on n2c8h5w5 y0:strides=275,25,0,5,1",
                               &slot.with.job.problem));
  slot.with.job.in[0] = cvy_place(0, 4);
  slot.with.job.out[0] = cvy_place(0, INT64_C(75) * 4);
  assert_int_equal(check(&slot, 1), CONVOY_OK);
  slot.with.job.in[0] = cvy_place(0, 6);
  assert_int_equal(check(&slot, 1), CONVOY_ERR_DEVICE);
}

static void test_bad_bindings_are_refused(void **state) {
  static const int32_t ranges[][2] = {
      {-1, 2}, {0, 0}, {0, -5}, {0, CVY_WIRE_BASES + 1}, {CVY_MAX_BASES - 1, 2}, {INT32_MAX, 1}};
  static const int64_t begins[] = {-CVY_PLACE_ALIGN, 1, CVY_PLACE_ALIGN - 4, INT64_MIN};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(ranges); i++) {
    cvy_wire_slot bad = good_slot(CVY_PLAN_BIND);
    bad.command.plan_bind.first = ranges[i][0];
    bad.command.plan_bind.count = ranges[i][1];
    assert_int_equal(check(&bad, 1), CONVOY_ERR_DEVICE);
  }
  for (size_t i = 0; i < CVY_COUNT(begins); i++) {
    cvy_wire_slot bad = good_slot(CVY_PLAN_BIND);
    bad.with.bases[1].at = begins[i];
    assert_int_equal(check(&bad, 1), CONVOY_ERR_DEVICE);
  }
}

static void test_bad_taps_are_refused(void **state) {
  (void)state;
  const cvy_tap good = {.from = cvy_place(1, 0), .bytes = 8, .stride = 64, .count = 5};
  cvy_tap bad[] = {good, good, good, good, good, good, good};
  bad[0].offset = -1;
  bad[1].bytes = 0;
  bad[2].bytes = INT64_MAX;
  bad[3].stride = -64;
  bad[4].count = 0;
  bad[5].count = INT32_MAX;
  bad[6].to = INT64_MIN;
  for (size_t i = 0; i < CVY_COUNT(bad); i++) {
    cvy_wire_slot slot = good_slot(CVY_PLAN_TAP);
    slot.with.taps[0] = bad[i];
    assert_int_equal(check(&slot, 1), CONVOY_ERR_DEVICE);
  }
}

/* What the checks let through must be safe to use: here, the sums the loop computes. */
static void test_random_commands(void **state) {
  cvy_wire_slot slot;
  const cvy_command *command = &slot.command;
  int64_t end;
  (void)state;
  for (int i = 0; i < 200000; ++i) {
    random_bytes(&slot, sizeof slot);
    slot.command.kind = (uint32_t)(random_next() % (CVY_COMMANDS + 1));
    if (i % 2) slot.command.transfer.block %= 2 * CVY_WIRE_BLOCKS;
    if (check(&slot, 3)) continue;
    assert_true(command->kind < CVY_COMMANDS);
    if (command->kind != CVY_WRITE && command->kind != CVY_READ) continue;
    assert_true(command->transfer.block < CVY_WIRE_BLOCKS);
    int64_t bytes = command->transfer.bytes;
    assert_false(__builtin_add_overflow(command->transfer.block_at, bytes, &end));
    assert_false(__builtin_add_overflow(command->transfer.at, bytes, &end));
  }
}

static void assert_ends(const char *text, size_t size) {
  assert_non_null(memchr(text, 0, size));
}

static void test_random_answers(void **state) {
  cvy_wire *wire = malloc(sizeof *wire);
  cvy_wire_reply reply;
  cvy_wire_hello hello;
  cvy_usage usage;
  char sentence[64];
  (void)state;
  for (int i = 0; i < 200; ++i) {
    random_bytes(wire, sizeof *wire);
    cvy_wire_get_reply(wire, &reply);
    assert_in_range(reply.devices, 0, CVY_WIRE_DEVICES);
    assert_in_range(reply.answer.recording, 0, CVY_RECORDINGS - 1);
    assert_in_range(reply.status, CONVOY_OK, CONVOY_ERR_INTERRUPTED);
    assert_ends(reply.sentence, sizeof reply.sentence);
    for (int j = 0; j < CVY_WIRE_DEVICES; ++j) {
      cvy_facts facts;
      cvy_wire_get_facts(wire, j, &facts);
      assert_ends(facts.info.name, sizeof facts.info.name);
      assert_in_range(facts.info.type, CONVOY_DEVICE_GPU, CONVOY_DEVICE_ACCELERATOR);
      assert_true(facts.max_work_group >= 1);
      assert_true(facts.info.compute_units >= 1);
    }
    assert_in_range(cvy_wire_get_fault(wire, sentence, sizeof sentence), CONVOY_ERR_ARGUMENT,
                    CONVOY_ERR_INTERRUPTED);
    assert_ends(sentence, sizeof sentence);
    cvy_wire_get_usage(wire, &usage);
    random_bytes(&hello, sizeof hello);
    assert_int_equal(cvy_wire_check_hello(&hello, CVY_WIRE_ANSWER), CONVOY_ERR_IO);
    assert_ends(hello.build_id, sizeof hello.build_id);
  }
  free(wire);
}

/* ----------------------------------------------------------------------------- loop */

typedef struct loop {
  int socket;
  cvy_shared ring;
  bool result;
  char module[4096];
} loop;

static void *run_loop(void *argument) {
  loop *self = argument;
  self->result = cvy_serve(self->socket, &self->ring, self->module);
  return NULL;
}

/* A command loop on a ring that the test writes to as it likes. */
typedef struct rig {
  loop loop;
  int socket;
  cvy_shared ring;
  pthread_t thread;
} rig;

static cvy_wire *rig_start(rig *self) {
  int pair[2];
  memset(self, 0, sizeof *self);
  unsetenv("FAKE_ENGINE");
  assert_int_equal(cvy_pass_pair(pair), CONVOY_OK);
  assert_int_equal(cvy_shared_make(sizeof(cvy_wire), false, &self->ring), CONVOY_OK);
  int fd = dup(self->ring.fd);
  assert_int_equal(cvy_shared_map(fd, sizeof(cvy_wire), &self->loop.ring), CONVOY_OK);
  self->socket = pair[0];
  self->loop.socket = pair[1];
  snprintf(self->loop.module, sizeof self->loop.module, "%s/convoy-ocl.so",
           getenv("CONVOY_LIBEXEC"));
  assert_int_equal(pthread_create(&self->thread, NULL, run_loop, &self->loop), 0);
  return self->ring.memory;
}

static void rig_post_slot(cvy_wire *wire, const cvy_wire_slot *slot) {
  uint64_t number = atomic_load(&wire->posted) + 1;
  wire->slots[number % CVY_WIRE_SLOTS] = *slot;
  atomic_store(&wire->posted, number);
  cvy_doorbell_ring(&wire->work);
  double start = cvy_clock();
  while (atomic_load(&wire->taken) < number) {
    assert_true(cvy_clock() - start < 10.0);
    usleep(50);
  }
}

static void rig_post(cvy_wire *wire, const cvy_command *command) {
  cvy_wire_slot slot;
  cvy_wire_put_command(&slot, command);
  rig_post_slot(wire, &slot);
}

/* Sends what goes with a command that is posted next: `fd` -1 for none. */
static void rig_send(rig *self, const cvy_command *command, int fd) {
  const cvy_wire *wire = self->ring.memory;
  const cvy_wire_frame frame = cvy_wire_memory_frame(command, atomic_load(&wire->posted) + 1);
  assert_int_equal(cvy_pass_send(self->socket, &frame, sizeof frame, fd), CONVOY_OK);
}

static bool rig_end(rig *self, cvy_wire *wire) {
  atomic_store(&wire->leave, 1);
  cvy_doorbell_ring(&wire->work);
  pthread_join(self->thread, NULL);
  assert_int_equal(atomic_load(&wire->ended), 1);
  cvy_shared_drop(&self->ring);
  close(self->socket);
  close(self->loop.socket);
  return self->loop.result;
}

static void open_device(cvy_wire *wire) {
  const cvy_open_options options = lane_options(CONVOY_ISOLATION_NONE);
  const cvy_command command = {CVY_OPEN, .options = &options};
  rig_post(wire, &command);
  assert_int_equal(wire->reply.status, CONVOY_OK);
}

static cvy_wire_slot random_slot(void) {
  cvy_wire_slot slot;
  cvy_command *command = &slot.command;
  random_bytes(&slot, sizeof slot);
  command->kind = (uint32_t)(random_next() % (CVY_COMMANDS + 1));
  if (command->kind == CVY_MAP) command->kind = CVY_CLEAR; /* waits for its memory */
  command->transfer.array %= 5;
  command->transfer.block %= 3;
  if (random_next() % 4) { /* near the truth, so that the deeper checks are reached too */
    command->transfer.at %= 300;
    command->transfer.bytes %= 5000;
    command->transfer.block_at %= 5000;
    slot.with.job = lane_job(command->transfer.array, random_next() % 5, random_next() % 5);
  }
  return slot;
}

static void test_loop_survives_random_commands(void **state) {
  rig own;
  cvy_wire *wire = rig_start(&own);
  cvy_command command = {CVY_MAP, .map = {0, 4096}};
  cvy_shared block;
  (void)state;
  seed();
  assert_int_equal(cvy_shared_make(4096, false, &block), CONVOY_OK);
  rig_send(&own, &command, block.fd);
  rig_post(wire, &command);
  assert_int_equal(wire->reply.status, CONVOY_OK);
  open_device(wire);
  for (int i = 0; i < 20000; ++i) {
    cvy_wire_slot slot = random_slot();
    if (i % 3 == 0) slot.command.kind = CVY_CLEAR;
    rig_post_slot(wire, &slot);
  }
  command = (cvy_command){.kind = CVY_CLEAR};
  rig_post(wire, &command);
  assert_int_equal(atomic_load(&wire->fault), 0);
  cvy_shared_drop(&block);
  assert_true(rig_end(&own, wire));
}

static void test_loop_refuses_before_open(void **state) {
  rig own;
  cvy_wire *wire = rig_start(&own);
  const cvy_command command = {CVY_ZERO, .zero = {1, 4}};
  (void)state;
  rig_post(wire, &command);
  assert_int_equal(atomic_load(&wire->fault), 1);
  assert_non_null(strstr(wire->fault_sentence, "no device open"));
  assert_true(rig_end(&own, wire));
}

static void test_loop_ends_on_impossible_counts(void **state) {
  static const uint64_t counts[] = {CVY_WIRE_SLOTS + 5, UINT64_MAX, 1ull << 40};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(counts); ++i) {
    rig own;
    cvy_wire *wire = rig_start(&own);
    atomic_store(&wire->posted, counts[i]);
    cvy_doorbell_ring(&wire->work);
    pthread_join(own.thread, NULL);
    assert_false(own.loop.result);
    assert_int_equal(atomic_load(&wire->ended), 1);
    cvy_shared_drop(&own.ring);
    close(own.socket);
    close(own.loop.socket);
  }
}

static void test_block_without_memory(void **state) {
  rig own;
  cvy_wire *wire = rig_start(&own);
  const cvy_command command = {CVY_MAP, .map = {0, 1 << 20}};
  cvy_shared small;
  (void)state;
  rig_send(&own, &command, -1);
  rig_post(wire, &command);
  assert_int_equal(wire->reply.status, CONVOY_ERR_IO);
  assert_int_equal(cvy_shared_make(4096, false, &small), CONVOY_OK);
  rig_send(&own, &command, small.fd);
  rig_post(wire, &command);
  assert_int_equal(wire->reply.status, CONVOY_ERR_DEVICE);
  assert_non_null(strstr(wire->reply.sentence, "is not 1048576 bytes large"));
  assert_int_equal(atomic_load(&wire->fault), 0);
  cvy_shared_drop(&small);
  assert_true(rig_end(&own, wire));
}

/* Maps after another message than the command's own has been sent; returns the worker's answer. */
static const char *map_after(rig *own, const void *message, size_t bytes, int fd) {
  cvy_wire *wire = own->ring.memory;
  const cvy_command command = {CVY_MAP, .map = {5, 4096}};
  assert_int_equal(cvy_pass_send(own->socket, message, bytes, fd), CONVOY_OK);
  rig_post(wire, &command);
  assert_int_equal(wire->reply.status, CONVOY_ERR_IO);
  return wire->reply.sentence;
}

/* Nothing is mapped for a command but what was sent for it. */
static void test_block_of_another_command(void **state) {
  static const char printed[] = "loss 0.25\n";
  static const struct {
    uint32_t block;
    int64_t bytes;
    int ahead;
  } wrong[] = {{4, 4096, 1}, {5, 8192, 1}, {5, 4096, 0}, {5, 4096, 2}};
  rig own;
  cvy_wire *wire = rig_start(&own);
  cvy_shared block;
  (void)state;
  assert_int_equal(cvy_shared_make(8192, false, &block), CONVOY_OK);
  for (size_t i = 0; i < CVY_COUNT(wrong); ++i) {
    const cvy_command other = {CVY_MAP, .map = {wrong[i].block, wrong[i].bytes}};
    const uint64_t number = atomic_load(&wire->posted) + (uint64_t)wrong[i].ahead;
    const cvy_wire_frame frame = cvy_wire_memory_frame(&other, number);
    const char *answer = map_after(&own, &frame, sizeof frame, block.fd);
    assert_non_null(strstr(answer, "where block 5, 4096 bytes"));
  }
  assert_non_null(strstr(map_after(&own, printed, sizeof printed, -1), "message of 11 bytes"));
  char padded[sizeof(cvy_wire_frame)] = "a line as long as a frame is, 32";
  assert_non_null(strstr(map_after(&own, padded, sizeof padded, block.fd), "not from Convoy"));
  cvy_shared_drop(&block);
  assert_true(rig_end(&own, wire));
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good_commands_pass),
      cmocka_unit_test(test_bad_fields_are_refused),
      cmocka_unit_test(test_pointers_in_the_ring_mean_nothing),
      cmocka_unit_test(test_misaligned_operands_of_plans_are_refused),
      cmocka_unit_test(test_operands_of_programs_begin_anywhere),
      cmocka_unit_test(test_bad_bindings_are_refused),
      cmocka_unit_test(test_bad_taps_are_refused),
      cmocka_unit_test(test_random_commands),
      cmocka_unit_test(test_random_answers),
      cmocka_unit_test(test_loop_survives_random_commands),
      cmocka_unit_test(test_loop_refuses_before_open),
      cmocka_unit_test(test_loop_ends_on_impossible_counts),
      cmocka_unit_test(test_block_without_memory),
      cmocka_unit_test(test_block_of_another_command),
  };
  random_state = 12345;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
