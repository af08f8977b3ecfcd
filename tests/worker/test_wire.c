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

static cvy_command good_command(void) {
  cvy_command command = {.kind = CVY_WIRE_RUN, .id = 1, .to = 2, .bytes = 64};
  command.job = lane_job(1, 2, 3);
  return command;
}

static void bind_two(cvy_command *command) {
  command->index = 3;
  command->count = 2;
  command->bindings[0] = (cvy_base){.id = 1, .at = CVY_PLACE_ALIGN};
  command->bindings[1] = (cvy_base){.id = 0};
}

static void tap_one(cvy_command *command) {
  command->index = 3;
  command->count = 1;
  command->taps[0] =
      (cvy_tap){.from = cvy_place(1, 0), .bytes = 8, .stride = 64, .count = 5, .after = 1};
}

static void test_good_commands_pass(void **state) {
  (void)state;
  for (uint32_t kind = 0; kind < CVY_WIRE_KINDS; ++kind) {
    cvy_command command = good_command();
    command.kind = kind;
    if (kind == CVY_WIRE_PLAN_BIND) bind_two(&command);
    if (kind == CVY_WIRE_PLAN_TAP) tap_one(&command);
    assert_int_equal(cvy_wire_check_command(&command, 1), CONVOY_OK);
  }
}

static void test_bad_fields_are_refused(void **state) {
  const cvy_command good = good_command();
  cvy_command bad[41];
  size_t count = 0;
  (void)state;
#define BAD(kind_, field, value) \
  bad[count] = good, bad[count].kind = kind_, bad[count].field = value, ++count
  BAD(CVY_WIRE_KINDS, id, 1);
  BAD(0xffffffff, id, 1);
  BAD(CVY_WIRE_OPEN, index, -1);
  BAD(CVY_WIRE_OPEN, index, CVY_WIRE_DEVICES);
  BAD(CVY_WIRE_MAP, block, CVY_WIRE_BLOCKS);
  BAD(CVY_WIRE_MAP, bytes, 0);
  BAD(CVY_WIRE_UNMAP, block, 0xffffffff);
  BAD(CVY_WIRE_ALLOCATE, bytes, -1);
  BAD(CVY_WIRE_WRITE, offset, -1);
  BAD(CVY_WIRE_WRITE, offset, INT64_MAX);
  BAD(CVY_WIRE_READ, block_offset, INT64_MAX - 63);
  BAD(CVY_WIRE_READ, block_offset, -64);
  BAD(CVY_WIRE_COPY, bytes, 0);
  BAD(CVY_WIRE_ZERO, bytes, INT64_MIN);
  BAD(CVY_WIRE_RUN, job.algorithm, 1);
  BAD(CVY_WIRE_RUN, job.algorithm, -1);
  BAD(CVY_WIRE_RUN, job.in[0].id, 0);
  BAD(CVY_WIRE_RUN, job.in[1].id, 0);
  BAD(CVY_WIRE_RUN, job.out[0].id, 0);
  BAD(CVY_WIRE_RUN, job.problem.operation, cvy_operation_count);
  BAD(CVY_WIRE_RUN, job.problem.operation, -1);
  BAD(CVY_WIRE_RUN, job.problem.accumulate, 2);
  BAD(CVY_WIRE_RUN, job.problem.conv.has_bias, -1);
  BAD(CVY_WIRE_RUN, job.problem.conv.has_bias, 1); /* its array is missing */
  BAD(CVY_WIRE_RUN, job.problem.conv.activation, 3);
  BAD(CVY_WIRE_RUN, job.problem.conv.rank, 4);
  BAD(CVY_WIRE_RUN, job.problem.conv.n, -1);
  BAD(CVY_WIRE_RUN, job.problem.conv.n, INT64_MAX);
  BAD(CVY_WIRE_RUN, job.problem.conv.groups, 0);
  BAD(CVY_WIRE_RUN, job.problem.conv.groups, 2);
  BAD(CVY_WIRE_RUN, job.problem.conv.in[1], 0);
  BAD(CVY_WIRE_RUN, job.problem.conv.filter[2], INT64_MAX / 2);
  BAD(CVY_WIRE_RUN, job.problem.conv.stride[0], 0);
  BAD(CVY_WIRE_RUN, job.problem.conv.dilation[0], -3);
  BAD(CVY_WIRE_RUN, job.problem.conv.pad[2], -1);
  BAD(CVY_WIRE_PART, offset, -1);
  BAD(CVY_WIRE_PART, bytes, 0);
  BAD(CVY_WIRE_PART, offset, INT64_MAX);
  BAD(CVY_WIRE_PLAN_JOB, job.algorithm, 1);
  BAD(CVY_WIRE_PLAN_JOB, job.problem.conv.n, 0); /* there is nothing to do */
  BAD(CVY_WIRE_PLAN_COPY, bytes, 0);
#undef BAD
  assert_int_equal(count, CVY_COUNT(bad));
  for (size_t i = 0; i < count; ++i)
    if (!cvy_wire_check_command(&bad[i], 1)) fail_msg("bad command %zu passes", i);
}

static void test_bad_bindings_are_refused(void **state) {
  static const int32_t ranges[][2] = {
      {-1, 2}, {0, 0}, {0, -5}, {0, CVY_WIRE_BINDINGS + 1}, {CVY_MAX_BASES - 1, 2}, {INT32_MAX, 1}};
  static const int64_t begins[] = {-CVY_PLACE_ALIGN, 1, CVY_PLACE_ALIGN - 4, INT64_MIN};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(ranges); i++) {
    cvy_command bad = {.kind = CVY_WIRE_PLAN_BIND};
    bind_two(&bad);
    bad.index = ranges[i][0];
    bad.count = ranges[i][1];
    assert_int_equal(cvy_wire_check_command(&bad, 1), CONVOY_ERR_DEVICE);
  }
  for (size_t i = 0; i < CVY_COUNT(begins); i++) {
    cvy_command bad = {.kind = CVY_WIRE_PLAN_BIND};
    bind_two(&bad);
    bad.bindings[1].at = begins[i];
    assert_int_equal(cvy_wire_check_command(&bad, 1), CONVOY_ERR_DEVICE);
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
    cvy_command command = {.kind = CVY_WIRE_PLAN_TAP};
    tap_one(&command);
    command.taps[0] = bad[i];
    assert_int_equal(cvy_wire_check_command(&command, 1), CONVOY_ERR_DEVICE);
  }
}

/* What the checks let through must be safe to use: here, the sums the loop computes. */
static void test_random_commands(void **state) {
  cvy_command command;
  int64_t end;
  (void)state;
  for (int i = 0; i < 200000; ++i) {
    random_bytes(&command, sizeof command);
    command.kind = (uint32_t)(random_next() % (CVY_WIRE_KINDS + 1));
    if (i % 2) command.block %= 2 * CVY_WIRE_BLOCKS;
    if (cvy_wire_check_command(&command, 3)) continue;
    assert_true(command.kind < CVY_WIRE_KINDS);
    if (command.kind != CVY_WIRE_WRITE && command.kind != CVY_WIRE_READ) continue;
    assert_true(command.block < CVY_WIRE_BLOCKS);
    assert_false(__builtin_add_overflow(command.block_offset, command.bytes, &end));
    assert_false(__builtin_add_overflow(command.offset, command.bytes, &end));
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
    assert_in_range(reply.count, 0, CVY_WIRE_DEVICES);
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

static void rig_post(cvy_wire *wire, const cvy_command *command) {
  uint64_t number = atomic_load(&wire->posted) + 1;
  wire->slots[number % CVY_WIRE_SLOTS] = *command;
  atomic_store(&wire->posted, number);
  cvy_doorbell_ring(&wire->work);
  double start = cvy_clock();
  while (atomic_load(&wire->taken) < number) {
    assert_true(cvy_clock() - start < 10.0);
    usleep(50);
  }
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
  cvy_command command = {.kind = CVY_WIRE_OPEN, .options = lane_options(CONVOY_ISOLATION_NONE)};
  rig_post(wire, &command);
  assert_int_equal(wire->reply.status, CONVOY_OK);
}

static cvy_command random_command(void) {
  cvy_command command;
  random_bytes(&command, sizeof command);
  command.kind = (uint32_t)(random_next() % (CVY_WIRE_KINDS + 1));
  if (command.kind == CVY_WIRE_MAP) command.kind = CVY_WIRE_CLEAR; /* waits for its memory */
  command.id %= 5;
  command.to %= 5;
  command.block %= 3;
  if (random_next() % 4) { /* near the truth, so that the deeper checks are reached too */
    command.bytes %= 5000;
    command.offset %= 300;
    command.block_offset %= 5000;
    command.index %= 3;
    command.job = lane_job(command.id, command.to, random_next() % 5);
  }
  return command;
}

static void test_loop_survives_random_commands(void **state) {
  rig own;
  cvy_wire *wire = rig_start(&own);
  cvy_command command = {.kind = CVY_WIRE_MAP, .bytes = 4096};
  cvy_shared block;
  (void)state;
  seed();
  assert_int_equal(cvy_shared_make(4096, false, &block), CONVOY_OK);
  rig_send(&own, &command, block.fd);
  rig_post(wire, &command);
  assert_int_equal(wire->reply.status, CONVOY_OK);
  open_device(wire);
  for (int i = 0; i < 20000; ++i) {
    command = random_command();
    if (i % 3 == 0) command.kind = CVY_WIRE_CLEAR;
    rig_post(wire, &command);
  }
  command = (cvy_command){.kind = CVY_WIRE_CLEAR};
  rig_post(wire, &command);
  assert_int_equal(atomic_load(&wire->fault), 0);
  cvy_shared_drop(&block);
  assert_true(rig_end(&own, wire));
}

static void test_loop_refuses_before_open(void **state) {
  rig own;
  cvy_wire *wire = rig_start(&own);
  cvy_command command = {.kind = CVY_WIRE_ZERO, .id = 1, .bytes = 4};
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
  cvy_command command = {.kind = CVY_WIRE_MAP, .bytes = 1 << 20};
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
  const cvy_command command = {.kind = CVY_WIRE_MAP, .block = 5, .bytes = 4096};
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
    const cvy_command other = {
        .kind = CVY_WIRE_MAP, .block = wrong[i].block, .bytes = wrong[i].bytes};
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
