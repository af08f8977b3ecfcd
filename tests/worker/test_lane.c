/* The lane as a backend: the same promises with a worker process and with a thread. */
#include <stdlib.h>

#include "os/os.h"
#include "worker/lane.h"

static void test_list(void **state) {
  cvy_open_options options = lane_options(lane_isolation(state));
  cvy_facts facts[3] = {0};
  int32_t count = 0;
  assert_int_equal(LANE->list(&options, facts, 3, &count), CONVOY_OK);
  assert_int_equal(count, 2);
  assert_string_equal(facts[1].info.name, "Fake device 1");
  assert_int_equal(facts[0].workspace_limit, 1 << 20);
  assert_int_equal(facts[2].max_work_group, 0);
  facts[1].info.name[0] = '?';
  assert_int_equal(LANE->list(&options, facts, 1, &count), CONVOY_OK);
  assert_int_equal(count, 2);
  assert_int_equal(facts[1].info.name[0], '?');
}

static void test_open(void **state) {
  cvy_open_options options = lane_options(lane_isolation(state));
  cvy_device *device = NULL;
  assert_int_equal(LANE->open(5, &options, &device), CONVOY_ERR_NOT_FOUND);
  assert_sentence_has("no fake device 5");
  device = lane_open(options.isolation, NULL);
  assert_string_equal(LANE->facts(device)->info.id, "ocl:0");
  assert_int_equal(LANE->facts(device)->info.type, CONVOY_DEVICE_CPU);
  LANE->close(device);
}

static void test_sizes(void **state) {
  static const int64_t sizes[] = {1,
                                  3,
                                  63,
                                  64,
                                  65,
                                  4097,
                                  (1 << 20) + 1,
                                  (8 << 20) - 1,
                                  8 << 20,
                                  (8 << 20) + 1,
                                  13 << 20,
                                  (72 << 20) + 5};
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  for (size_t i = 0; i < CVY_COUNT(sizes); ++i) lane_put(device, i + 1, sizes[i], i);
  for (size_t i = 0; i < CVY_COUNT(sizes); ++i) lane_expect(device, i + 1, sizes[i], i);
  LANE->close(device);
}

/* A random program on four arrays, against a model of it in ordinary memory. */
static void test_order(void **state) {
  enum { ARRAYS = 4, FLOATS = 33, STEPS = 4000 };
  static float model[ARRAYS][FLOATS];
  const int64_t bytes = sizeof model[0];
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  memset(model, 0, sizeof model);
  for (uint64_t id = 1; id <= ARRAYS; ++id) {
    command_allocate(LANE, device, id, bytes, NULL);
    command_zero(LANE, device, id, bytes, NULL);
  }
  srand(11);
  for (int step = 0; step < STEPS; ++step) {
    int a = rand() % ARRAYS, b = rand() % ARRAYS, out = rand() % ARRAYS;
    uint64_t ticket = 0;
    cvy_job job = lane_job((uint64_t)a + 1, (uint64_t)b + 1, (uint64_t)out + 1);
    switch (rand() % 4) {
      case 0:
        for (int i = 0; i < FLOATS; ++i) model[a][i] = (float)(rand() % 100);
        assert_int_equal(LANE->write(device, job.in[0].id, model[a], bytes, &ticket), CONVOY_OK);
        break;
      case 1:
        memmove(model[b], model[a], sizeof model[0]);
        assert_int_equal(command_copy(LANE, device, job.in[0].id, job.in[1].id, bytes, &ticket),
                         CONVOY_OK);
        break;
      case 2:
        for (int i = 0; i < FLOATS; ++i) model[out][i] = 2 * model[a][i] + model[b][i];
        assert_int_equal(command_run(LANE, device, &job, &ticket), CONVOY_OK);
        break;
      default: {
        float got[FLOATS];
        assert_int_equal(LANE->read(device, job.out[0].id, got, bytes), CONVOY_OK);
        assert_memory_equal(got, model[out], sizeof got);
        memset(model[out], 0, sizeof model[0]); /* keeps the numbers finite */
        assert_int_equal(command_zero(LANE, device, job.out[0].id, bytes, &ticket), CONVOY_OK);
      }
    }
  }
  LANE->close(device);
}

static void test_ring_wraps(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  uint64_t ticket = 0, before = 0, fault = 0;
  lane_put(device, 1, 100, 1);
  command_allocate(LANE, device, 2, 100, NULL);
  for (int i = 0; i < 20000; ++i) {
    assert_int_equal(command_copy(LANE, device, 1, 2, 100, &ticket), CONVOY_OK);
    assert_true(ticket > before);
    before = ticket;
  }
  assert_int_equal(LANE->wait(device, ticket, NULL, &fault), CONVOY_OK);
  assert_int_equal(LANE->wait(device, ticket - 9000, NULL, &fault), CONVOY_OK);
  assert_int_equal(fault, 0);
  lane_expect(device, 2, 100, 1);
  LANE->close(device);
}

/* Commands: 1 allocate, 2 write, then copies; the fifth fails. */
static void check_fault(int32_t isolation, const char *script, convoy_status status,
                        const char *sentence) {
  cvy_device *device = lane_open(isolation, script);
  uint64_t tickets[8], fault = 0;
  cvy_usage usage;
  lane_put(device, 1, 64, 1);
  command_allocate(LANE, device, 2, 64, NULL);
  for (int i = 0; i < 8; ++i)
    assert_int_equal(command_copy(LANE, device, 1, 2, 64, &tickets[i]), CONVOY_OK);
  assert_int_equal(LANE->wait(device, tickets[7], NULL, &fault), status);
  assert_sentence_has(sentence);
  assert_int_equal(fault, tickets[1]);
  fault = 0;
  assert_int_equal(LANE->wait(device, tickets[0], NULL, &fault), CONVOY_OK);
  assert_int_equal(LANE->read(device, 2, (char[64]){0}, 64), status);
  assert_int_equal(command_release(LANE, device, 2), CONVOY_OK);
  assert_int_equal(lane_clear(device), CONVOY_OK);
  LANE->usage(device, &usage);
  assert_int_equal(usage.bytes, 64); /* released although faulted */
  lane_expect(device, 1, 64, 1);
  lane_put(device, 3, 1000, 3);
  lane_expect(device, 3, 1000, 3);
  assert_int_equal(LANE->wait(device, tickets[7], NULL, &fault), CONVOY_OK);
  assert_int_equal(LANE->wait(device, UINT64_MAX, NULL, &fault), CONVOY_OK);
  LANE->close(device);
}

static void test_late_fault(void **state) {
  check_fault(lane_isolation(state), "fail:5", CONVOY_ERR_DEVICE, "fake fault of command 5");
}

static void test_refusal(void **state) {
  check_fault(lane_isolation(state), "refuse:5", CONVOY_ERR_MEMORY, "fake refusal of command 5");
}

/* What the engine does not know about is still a fault: a transfer beyond the array. */
static void test_bad_transfer(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  char bytes[200] = {0};
  uint64_t ticket = 0, fault = 0;
  lane_put(device, 1, 100, 1);
  assert_int_equal(LANE->write(device, 1, bytes, 200, &ticket), CONVOY_OK);
  assert_int_equal(LANE->wait(device, ticket, NULL, &fault), CONVOY_ERR_DEVICE);
  assert_int_equal(fault, ticket);
  assert_int_equal(lane_clear(device), CONVOY_OK);
  lane_expect(device, 1, 100, 1);
  assert_int_equal(LANE->write(device, 1, bytes, -5, &ticket), CONVOY_OK);
  assert_int_equal(command_zero(LANE, device, 1, 0, &ticket), CONVOY_OK);
  assert_int_equal(LANE->wait(device, ticket, NULL, &fault), CONVOY_ERR_DEVICE);
  assert_sentence_has("0 bytes");
  LANE->close(device);
}

/* Many parts of an array by one command. */
static void test_packed(void **state) {
  enum { PARTS = 600, EVERY = 12000, BYTES = 11000 };
  const int64_t whole = (int64_t)PARTS * EVERY;
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  unsigned char *values = malloc((size_t)whole), *got = malloc((size_t)whole);
  cvy_packed parts[PARTS];
  uint64_t ticket = 0;
  assert_true(values && got);
  lane_fill(values, whole, 3);
  for (int32_t i = 0; i < PARTS; i++)
    parts[i] = (cvy_packed){(int64_t)i * EVERY, BYTES - i, values + (int64_t)i * EVERY};
  command_allocate(LANE, device, 1, whole, NULL);
  assert_int_equal(LANE->pack(device, 1, PARTS, parts, whole, &ticket), CONVOY_OK);
  assert_true(ticket > 0);
  assert_int_equal(LANE->read(device, 1, got, whole), CONVOY_OK);
  for (int32_t i = 0; i < PARTS; i++)
    assert_memory_equal(got + parts[i].at, values + parts[i].at, (size_t)parts[i].bytes);
  lane_put(device, 2, 100, 1);
  parts[0].bytes = 200; /* beyond the array */
  assert_int_equal(LANE->pack(device, 2, 1, parts, 200, &ticket), CONVOY_OK);
  assert_int_equal(LANE->wait(device, ticket, NULL, NULL), CONVOY_ERR_DEVICE);
  assert_int_equal(lane_clear(device), CONVOY_OK);
  free(values);
  free(got);
  LANE->close(device);
}

static void test_bad_job(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  uint64_t ticket = 0, fault = 0;
  cvy_job job = lane_job(1, 1, 2);
  lane_put(device, 1, 40, 1);
  command_allocate(LANE, device, 2, 40, NULL);
  job.algorithm = 1; /* the fake engine has one row */
  assert_int_equal(command_run(LANE, device, &job, &ticket), CONVOY_OK);
  assert_int_equal(LANE->wait(device, ticket, NULL, &fault), CONVOY_ERR_DEVICE);
  assert_sentence_has("algorithm 1 of 1");
  LANE->close(device);
}

static void test_host_memory(void **state) {
  const size_t size = (5 << 20) + 100;
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  unsigned char *memory = LANE->host_alloc(device, size);
  uint64_t ticket = 0;
  assert_int_equal((uintptr_t)memory % 4096, 0);
  for (size_t i = 0; i < size; ++i) assert_int_equal(memory[i], 0);
  lane_fill(memory, (int64_t)size, 7);
  command_allocate(LANE, device, 1, (int64_t)size, NULL);
  assert_int_equal(LANE->write(device, 1, memory, (int64_t)size, &ticket), CONVOY_OK);
  memset(memory, 1, size);
  lane_expect(device, 1, (int64_t)size, 7);
  command_allocate(LANE, device, 2, 1000, NULL);
  lane_fill(memory + 300, 1000, 8);
  assert_int_equal(LANE->write(device, 2, memory + 300, 1000, &ticket), CONVOY_OK);
  memset(memory, 1, size);
  assert_int_equal(LANE->read(device, 2, memory + 17, 1000), CONVOY_OK);
  assert_int_equal(memory[16], 1);
  assert_int_equal(memory[1017], 1);
  memmove(memory, memory + 17, 1000);
  lane_fill(memory + 2000, 1000, 8);
  assert_memory_equal(memory, memory + 2000, 1000);
  LANE->host_free(device, memory);
  LANE->close(device);
}

/* Whole pages come straight, what shares a page with something else by staging: nothing beside it
 * changes, wherever it begins and ends. */
static void read_to(cvy_device *device, unsigned char *memory, size_t begin, size_t bytes) {
  const size_t size = 9 << 20;
  unsigned char *want = malloc(bytes);
  uint64_t ticket = 0;
  lane_fill(want, (int64_t)bytes, begin + bytes);
  memset(memory, 1, size);
  command_allocate(LANE, device, 1, (int64_t)bytes, NULL);
  assert_int_equal(LANE->write(device, 1, want, (int64_t)bytes, &ticket), CONVOY_OK);
  assert_int_equal(LANE->read(device, 1, memory + begin, (int64_t)bytes), CONVOY_OK);
  for (size_t i = 0; i < size; ++i) {
    const bool inside = i >= begin && i < begin + bytes;
    if (memory[i] != (inside ? want[i - begin] : 1)) fail_msg("%zu+%zu: %zu", begin, bytes, i);
  }
  command_release(LANE, device, 1);
  free(want);
}

static void test_read_into_host_memory(void **state) {
  const size_t pages = 8 << 20,
               places[][2] = {{0, pages}, {0, 4096},         {0, 4095},    {4096, pages - 4096},
                              {1, 4096},  {1, 8191},         {4095, 4097}, {17, 100},
                              {5, pages}, {8191, pages - 5}, {4000, 200},  {100, 12288}};
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  unsigned char *memory = LANE->host_alloc(device, 9 << 20);
  for (size_t i = 0; i < CVY_COUNT(places); ++i)
    read_to(device, memory, places[i][0], places[i][1]);
  LANE->host_free(device, memory);
  LANE->close(device);
}

static void test_host_memory_is_reused_and_outlives(void **state) {
  const size_t size = 3 << 20;
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  cvy_usage before, after;
  unsigned char *memory = LANE->host_alloc(device, size);
  memory[size - 1] = 9;
  LANE->usage(device, &before);
  for (int i = 0; i < 50; ++i) {
    LANE->host_free(device, memory);
    memory = LANE->host_alloc(device, size - 4096);
    assert_non_null(memory);
    assert_int_equal(memory[size - 4097], 0);
    memory[size - 4097] = 9;
  }
  LANE->usage(device, &after);
  assert_int_equal(before.host_bytes, after.host_bytes);
  unsigned char *small = LANE->host_alloc(device, 100);
  assert_int_equal(small[99], 0);
  LANE->close(device);
  memset(memory, 3, size - 4096);
  LANE->host_free(NULL, memory);
  LANE->host_free(NULL, small);
  LANE->host_free(NULL, NULL);
}

/* Blocks that are freed and not asked for again are given back once there are many. */
static void test_host_memory_is_bounded(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  cvy_usage usage;
  for (int64_t i = 1; i <= 40; ++i) { /* 820 MiB in all, never touched */
    void *memory = LANE->host_alloc(device, (size_t)i << 20);
    assert_non_null(memory);
    LANE->host_free(device, memory);
  }
  LANE->usage(device, &usage);
  assert_true(usage.host_bytes < (int64_t)340 << 20);
  LANE->close(device);
}

static void test_interrupt(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), "slow:1");
  volatile int interrupt = 1;
  uint64_t ticket = 0, fault = 0;
  double start = cvy_clock();
  lane_put(device, 1, 10, 1);
  command_zero(LANE, device, 1, 10, &ticket);
  assert_int_equal(LANE->wait(device, ticket, &interrupt, &fault), CONVOY_ERR_INTERRUPTED);
  assert_true(cvy_clock() - start < 0.5);
  interrupt = 0;
  assert_int_equal(LANE->wait(device, ticket, &interrupt, &fault), CONVOY_OK);
  assert_true(cvy_clock() - start >= 0.6);
  LANE->close(device);
}

static void test_usage_and_peak(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  bool process = lane_isolation(state) == CONVOY_ISOLATION_PROCESS;
  cvy_reply reply;
  uint64_t ticket, fault;
  cvy_usage usage;
  command_allocate(LANE, device, 1, 1000, &ticket);
  command_allocate(LANE, device, 2, 500, &ticket);
  command_release(LANE, device, 1);
  command_zero(LANE, device, 2, 500, &ticket);
  LANE->wait(device, ticket, NULL, &fault);
  LANE->usage(device, &usage);
  assert_int_equal(usage.bytes, 500);
  assert_int_equal(usage.bytes_peak, 1500);
  assert_int_equal(usage.programs_compiled, 3);
  assert_int_equal(usage.programs_cached, 4);
  assert_int_equal(usage.process != 0, process);
  assert_int_not_equal(usage.process, cvy_process_id());
  assert_int_equal(command_peak(LANE, device, &reply), CONVOY_OK);
  assert_true(reply.gflops == 123.5 && reply.gigabytes == 45.25);
  LANE->close(device);
}

/* Closing does not wait for what was enqueued. */
static void test_close_drops(void **state) {
  cvy_device *device = lane_open(lane_isolation(state), NULL);
  lane_put(device, 1, 8 << 20, 1);
  for (int i = 0; i < 400; ++i) command_zero(LANE, device, 1, 8 << 20, NULL);
  double start = cvy_clock();
  LANE->close(device);
  assert_true(cvy_clock() - start < 1.0);
}

static void test_missing_parts(void **state) {
  cvy_open_options options = lane_options(lane_isolation(state));
  char *libexec = strdup(getenv("CONVOY_LIBEXEC"));
  int32_t count = 7;
  setenv("CONVOY_LIBEXEC", "/nonexistent/folder", 1);
  assert_int_not_equal(LANE->list(&options, NULL, 0, &count), CONVOY_OK);
  assert_sentence_has("/nonexistent/folder/convoy-ocl.so");
  assert_int_equal(count, 0);
  setenv("CONVOY_LIBEXEC", libexec, 1);
  free(libexec);
}

static void test_module_of_another_build(void **state) {
  cvy_open_options options = lane_options(lane_isolation(state));
  int32_t count = 7;
  setenv("FAKE_BUILD_ID", "feedfacecafebeef", 1);
  assert_int_equal(LANE->list(&options, NULL, 0, &count), CONVOY_ERR_DEVICE);
  assert_sentence_has("is of build feedfacecafebeef, not of build ");
  assert_int_equal(count, 0);
  unsetenv("FAKE_BUILD_ID");
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_open),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_ring_wraps),
      cmocka_unit_test(test_late_fault),
      cmocka_unit_test(test_refusal),
      cmocka_unit_test(test_bad_transfer),
      cmocka_unit_test(test_packed),
      cmocka_unit_test(test_bad_job),
      cmocka_unit_test(test_host_memory),
      cmocka_unit_test(test_read_into_host_memory),
      cmocka_unit_test(test_host_memory_is_reused_and_outlives),
      cmocka_unit_test(test_host_memory_is_bounded),
      cmocka_unit_test(test_interrupt),
      cmocka_unit_test(test_usage_and_peak),
      cmocka_unit_test(test_close_drops),
      cmocka_unit_test(test_missing_parts),
      cmocka_unit_test(test_module_of_another_build),
  };
  return lane_run_all(tests, CVY_COUNT(tests));
}
