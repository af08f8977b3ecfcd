/* Copies past the caches are checked alone, from and to any place, and where cpu.depthwise makes
 * them, against cpu.direct, which never does. */
#include "cpu/shared/stream.h"

#include <string.h>

#include "common/cmocka.h"
#include "cpu/work.h"

#define ROOM 200

static void copies_are_equal(void **state) {
  (void)state;
  float from[ROOM], to[ROOM], expected[ROOM];
  test_random random = {3};
  test_fill_integers(&random, from, ROOM);
  for (int64_t first = 0; first < 17; first++) {
    for (int64_t floats = 0; floats < 100; floats++) {
      memset(to, 0, sizeof to);
      memset(expected, 0, sizeof expected);
      memcpy(expected + first, from + 3, (size_t)floats * sizeof *to);
      cvy_stream(to + first, from + 3, floats);
      cvy_stream_end();
      assert_memory_equal(to, expected, sizeof to);
    }
  }
}

static cpu_work run_named(cvy_device *device, const char *name, const char *shape, int direction) {
  cpu_work work = cpu_work_new(shape, direction, 0, test_fill_integers);
  if (direction == CONVOY_FORWARD) work.job.problem.conv.activation = CONVOY_RELU;
  assert_true(cpu_choose_named(device, &work, name));
  assert_int_equal(cpu_run(device, &work), CONVOY_OK);
  return work;
}

static void check_depthwise(const char *shape, int direction) {
  cvy_device *device = cpu_open(2, WORKSPACE);
  cpu_work streamed = run_named(device, "cpu.depthwise", shape, direction);
  cpu_work direct = run_named(device, "cpu.direct", shape, direction);
  size_t bytes = (size_t)direct.out.count * sizeof(float);
#if defined(__SSE2__)
  assert_true(cvy_stream_pays((int64_t)bytes, 1));
#endif
  assert_memory_equal(streamed.out.values, direct.out.values, bytes);
  cpu_work_free(&streamed);
  cpu_work_free(&direct);
  cvy_backend_cpu.close(device);
}

static void streamed_results_are_equal(void **state) {
  (void)state;
  check_depthwise("n4c40h160w183 k80r2s3 pad0,1:2 groups40", CONVOY_FORWARD);
  check_depthwise("n2c73h240w243 k73r3s3 stride2 pad1 groups73", CONVOY_BACKWARD_DATA);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_are_equal),
      cmocka_unit_test(streamed_results_are_equal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
