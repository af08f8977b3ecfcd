#include "worker/lane.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/os.h"

volatile int lane_interrupt;

cvy_open_options lane_options(int32_t isolation) {
  return (cvy_open_options){
      .isolation = isolation, .workspace_limit = 1 << 20, .interrupt = &lane_interrupt};
}

cvy_device *lane_open(int32_t isolation, const char *script) {
  cvy_open_options options = lane_options(isolation);
  cvy_device *device = NULL;
  setenv("FAKE_ENGINE", script ? script : "", 1);
  convoy_status status = LANE->open(0, &options, &device);
  if (status) fail_msg("open: %s", cvy_last_error());
  return device;
}

cvy_device *lane_open_impatient(const char *deadlines, const char *script) {
  setenv("CONVOY_DEADLINE", deadlines, 1);
  return lane_open(CONVOY_ISOLATION_PROCESS, script);
}

int lane_worker(const cvy_device *device) {
  cvy_usage usage;
  LANE->usage(device, &usage);
  return (int)usage.process;
}

convoy_status lane_use(cvy_device *device, double *seconds) {
  uint64_t ticket = 0, fault = 0;
  const double start = cvy_clock();
  convoy_status status = command_allocate(LANE, device, 1, 8, &ticket);
  if (!status) status = LANE->wait(device, ticket, NULL, &fault);
  *seconds = cvy_clock() - start;
  return status;
}

cvy_job lane_job(uint64_t a, uint64_t b, uint64_t out) {
  cvy_job job = {.problem = {.conv.rank = 2,
                             .conv.n = 1,
                             .conv.c = 1,
                             .conv.k = 1,
                             .conv.groups = 1,
                             .conv.in = {1, 1, 1},
                             .conv.filter = {1, 1, 1},
                             .conv.out = {1, 1, 1},
                             .conv.stride = {1, 1, 1},
                             .conv.dilation = {1, 1, 1}}};
  job.in[0].id = a;
  job.in[1].id = b;
  job.out[0].id = out;
  return job;
}

void lane_fill(unsigned char *bytes, int64_t count, uint64_t seed) {
  uint64_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = (unsigned char)(state >> 56);
  }
}

void lane_put(cvy_device *device, uint64_t id, int64_t bytes, uint64_t seed) {
  unsigned char *values = malloc((size_t)bytes);
  uint64_t ticket = 0;
  lane_fill(values, bytes, seed);
  assert_int_equal(command_allocate(LANE, device, id, bytes, &ticket), CONVOY_OK);
  assert_int_equal(LANE->write(device, id, values, bytes, &ticket), CONVOY_OK);
  memset(values, 0, (size_t)bytes); /* write has copied it */
  free(values);
}

void lane_expect(cvy_device *device, uint64_t id, int64_t bytes, uint64_t seed) {
  unsigned char *want = malloc((size_t)bytes), *got = malloc((size_t)bytes + 1);
  lane_fill(want, bytes, seed);
  got[bytes] = 0x5a;
  if (LANE->read(device, id, got, bytes)) fail_msg("read: %s", cvy_last_error());
  assert_memory_equal(want, got, (size_t)bytes);
  assert_int_equal(got[bytes], 0x5a);
  free(want);
  free(got);
}

int lane_count_files(int process) {
  char path[64];
  int count = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", process);
  DIR *folder = opendir(path);
  assert_non_null(folder);
  while (readdir(folder)) count++;
  closedir(folder);
  return count - 2; /* . and .. */
}

convoy_status lane_clear(cvy_device *device) {
  bool emptied = false;
  return command_clear(LANE, device, &emptied);
}

void assert_sentence_has(const char *part) {
  if (!strstr(cvy_last_error(), part))
    fail_msg("\"%s\" does not say \"%s\"", cvy_last_error(), part);
}

static int32_t current;

int32_t lane_isolation(void **state) {
  (void)state;
  return current;
}

int lane_run_all(const struct CMUnitTest *tests, size_t count) {
  static const struct {
    int32_t isolation;
    const char *name;
  } all[] = {{CONVOY_ISOLATION_PROCESS, "isolation=process"},
             {CONVOY_ISOLATION_NONE, "isolation=none"},
             {CONVOY_ISOLATION_CALLER, "isolation=caller"}};
  int failed = 0;
  for (size_t i = 0; i < CVY_COUNT(all); ++i) {
    current = all[i].isolation;
    failed += _cmocka_run_group_tests(all[i].name, tests, count, NULL, NULL);
  }
  return failed;
}
