/* The sensors of graphics cards, as files of a folder that the test makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cmocka.h"
#include "core/faults/sensors.h"
#include "os/os.h"

static char folder[] = "/tmp/convoy-sensors-XXXXXX";

static void write_sensor(const char *card, const char *file, const char *text) {
  char path[300];
  snprintf(path, sizeof(path), "%s/drm/%s/device/%s", folder, card, file);
  assert_int_equal(cvy_file_write(path, text, strlen(text)), CONVOY_OK);
}

static void test_sensors(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  char root[100], text[300], fifo[300];
  snprintf(root, sizeof(root), "%s/drm", folder);
  cvy_sensors(root, text, sizeof(text));
  assert_string_equal(text, "");
  write_sensor("card0", "hwmon/hwmon3/temp1_input", "54000\n");
  write_sensor("card0", "gpu_busy_percent", "99\n");
  write_sensor("card1", "hwmon/hwmon4/freq1_input", "1750000000\n");
  write_sensor("card1", "gpu_busy_percent", "nonsense\n");
  cvy_sensors(root, text, sizeof(text));
  assert_string_equal(text, "card0 temperature 54 C, card0 load 99 %, card1 clock 1750 MHz");

  /* A file nobody ever answers for: a bounded time, and what came before it. */
  snprintf(fifo, sizeof(fifo), "%s/drm/card1/device/hwmon/hwmon4/power1_average", folder);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  double start = cvy_clock();
  cvy_sensors(root, text, sizeof(text));
  assert_true(cvy_clock() - start < 2);
  assert_string_equal(text, "card0 temperature 54 C, card0 load 99 %, card1 clock 1750 MHz");
  snprintf(text, sizeof(text), "rm -rf %s", folder);
  assert_int_equal(system(text), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sensors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
