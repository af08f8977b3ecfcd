/* Which devices a report is about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/devices.h"

static void add(device_survey *to, const char *id, int32_t type, int32_t simulator) {
  convoy_device_info *one = &to->item[to->count++];
  strcpy(one->id, id);
  one->type = type;
  one->simulator = simulator;
}

static void pocl_is_left_out_beside_a_gpu(void **state) {
  (void)state;
  device_survey found = {0};
  words ids = {0};
  add(&found, "cpu", CONVOY_DEVICE_CPU_ENGINE, 0);
  add(&found, "ocl:0", CONVOY_DEVICE_CPU, 0);
  add(&found, "ocl:1", CONVOY_DEVICE_GPU, 1);
  devices_beside_gpu(&found, &ids);
  assert_int_equal(ids.count, 0); /* all */
  add(&found, "ocl:2", CONVOY_DEVICE_GPU, 0);
  devices_beside_gpu(&found, &ids);
  assert_int_equal(ids.count, 2);
  assert_string_equal(ids.item[0], "cpu");
  assert_string_equal(ids.item[1], "ocl:2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pocl_is_left_out_beside_a_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
